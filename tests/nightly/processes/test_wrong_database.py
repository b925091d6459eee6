"""A PostgreSQL that is not there, or lets nobody in: one sentence says where, what and why."""

import os
import socket
import threading

import psycopg
import pytest

from tests.console.serving import command

URL = os.environ.get("TEST_DATABASE_URL", "")
pytestmark = pytest.mark.skipif(not URL, reason="no PostgreSQL")
SERVER = URL.rpartition("/")[0]
ELSEWHERE = SERVER.rpartition("@")[2]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


WRONG = {
    f"postgres://postgres@127.0.0.1:{free_port()}/x": "Connection refused",
    f"{SERVER}/not-there": 'database "not-there" does not exist',
    f"postgres://nobody:x@{ELSEWHERE}/postgres": 'role "nobody" does not exist',
    "postgres://postgres@nowhere.invalid/x": "nowhere.invalid",
    f"{SERVER}/postgres?sslmode=require": "server does not support SSL, but SSL was required",
    f"{SERVER}/postgres?sslmode=bogus": 'invalid sslmode value: "bogus"',
    f"{SERVER}/postgres?nonsense=1": 'invalid connection option "nonsense"',
    "postgres://postgres@127.0.0.1:port/x": "DATABASE_URL must look like",
    "postgres://alice:a/b@127.0.0.1/x": "with %2F for a / in the password",
    "mysql://127.0.0.1/x": "DATABASE_URL must look like",
}


@pytest.mark.parametrize("url", WRONG, ids=WRONG.get)
@pytest.mark.parametrize(
    "words", [("user", "list"), ("worker",), ("serve",), ("migrate",)], ids=" ".join
)
def test_a_start_without_its_database_is_one_sentence(tmp_path, words, url):
    ended = command(tmp_path / "home", *words, DATABASE_URL=url)
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert WRONG[url] in ended.stderr


def test_doctor_names_it_too(tmp_path):
    ended = command(tmp_path / "home", "doctor", DATABASE_URL=f"{SERVER}/not-there")
    assert 'database "not-there" does not exist' in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


def test_where_tls_is_required_nothing_is_sent_in_the_clear(tmp_path):
    """To a listener without it goes the question for TLS, of eight bytes, and no more."""
    sent = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    sent.append(client.recv(4096))
                    client.sendall(b"N")
                    sent.append(client.recv(4096))

        threading.Thread(target=answer, daemon=True).start()
        port = listener.getsockname()[1]
        url = f"postgres://alice:secret@127.0.0.1:{port}/x?sslmode=require"
        ended = command(tmp_path / "home", "user", "list", DATABASE_URL=url)
    assert "server does not support SSL" in ended.stderr
    assert set(sent) == {bytes.fromhex("0000000804d2162f"), b""}


def test_who_migrates_is_waited_for_only_where_there_is_something_to_do(tmp_path):
    name = f"planside_locked_{os.getpid()}"
    with psycopg.connect(f"{SERVER}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            url = f"{SERVER}/{name}"
            first = command(tmp_path / "home", "user", "list", DATABASE_URL=url)
            assert first.returncode == 0, first.stderr
            with psycopg.connect(url) as other:
                other.execute("SELECT pg_advisory_xact_lock(7526743)")
                ended = command(tmp_path / "home", "user", "list", DATABASE_URL=url)
            assert ended.returncode == 0, ended.stderr
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
