"""A real server's /healthz and /readyz while its database or Redis hangs."""

import os
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest

from tests.console.serving import DEADLINE, new_database
from tests.patience import at_most

DATABASE = os.environ.get("TEST_DATABASE_URL", "")


class Cable:
    """A way to another server that can be cut off without a word, as a dead network is."""

    def __init__(self, host, port):
        self.there = (host, port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.passes = threading.Event()
        self.passes.set()
        self.ends = [self.listener]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            there = socket.create_connection(self.there)
            self.ends += [here, there]
            threading.Thread(target=self.carry, args=(here, there), daemon=True).start()

    def carry(self, here, there):
        other = {here: there, there: here}
        try:
            while True:
                for end in select.select([here, there], [], [])[0]:
                    self.passes.wait()
                    if not (said := end.recv(65536)):
                        return
                    other[end].sendall(said)
        except (OSError, ValueError):
            return
        finally:
            here.close()
            there.close()

    def close(self):
        self.passes.set()
        for end in self.ends:
            end.close()


@pytest.fixture
def redis():
    """A Redis of our own, which may be stopped."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
        stdout=subprocess.DEVNULL,
    )
    process.url = f"redis://127.0.0.1:{port}/0"
    yield process
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()


def ready(server):
    """(status, what is away, seconds it took)"""
    began = time.monotonic()
    answer = httpx.get(f"{server.address}/readyz", timeout=DEADLINE)
    return answer.status_code, answer.json().get("away", []), time.monotonic() - began


def until(server, away):
    end = time.monotonic() + DEADLINE
    while (found := ready(server)[1]) != away:
        assert time.monotonic() < end, found


def test_a_redis_that_hangs_is_named_within_two_seconds(start, redis):
    server = start(REDIS_URL=redis.url)
    assert ready(server)[:2] == (200, [])
    redis.send_signal(signal.SIGSTOP)
    status, away, seconds = ready(server)
    assert (status, away) == (503, ["live updates"])
    assert seconds < at_most(2.5)
    assert httpx.get(f"{server.address}/healthz").status_code == 200
    redis.send_signal(signal.SIGCONT)
    until(server, [])


@pytest.mark.skipif(not DATABASE, reason="TEST_DATABASE_URL is not set")
def test_a_database_that_hangs_is_named_within_two_seconds_and_the_process_lives(start):
    with new_database(DATABASE) as url:
        parts = urlsplit(url)
        cable = Cable(parts.hostname, parts.port or 5432)
        try:
            user = f"{parts.username}:{parts.password}@" if parts.username else ""
            here = parts._replace(netloc=f"{user}127.0.0.1:{cable.port}")
            server = start(DATABASE_URL=urlunsplit(here))
            assert ready(server)[:2] == (200, [])
            cable.passes.clear()
            for _ in range(3):  # each waits for the one check that hangs
                status, away, seconds = ready(server)
                assert (status, away) == (503, ["database"])
                assert seconds < at_most(2.5)
            assert httpx.get(f"{server.address}/healthz", timeout=at_most(1)).status_code == 200
            cable.passes.set()
            until(server, [])
        finally:
            cable.close()


def test_a_probe_needs_no_name_of_the_servers_and_no_tls(start):
    server = start(
        PLANSIDE_ALLOWED_HOSTS="planside.example",
        PLANSIDE_METRICS_TOKEN="open-sesame",
    )
    stranger = {"Host": "10.0.0.7:8000"}
    for path in ("/healthz", "/readyz"):
        assert httpx.get(server.address + path, headers=stranger).status_code == 200
    assert httpx.get(f"{server.address}/metrics", headers=stranger).status_code == 400
    key = {**stranger, "Authorization": "Bearer open-sesame"}
    assert "planside_" in httpx.get(f"{server.address}/metrics", headers=key).text
    wrong = {**stranger, "Authorization": "Bearer wrong"}
    assert httpx.get(f"{server.address}/metrics", headers=wrong).status_code == 401
