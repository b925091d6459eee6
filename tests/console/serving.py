"""Starting the real commands, beside servers of others, and talking to them from outside."""

import hashlib
import os
import re
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg

from tests.database import migrated

ROOT = Path(__file__).parents[2]
READY = re.compile(r"^Planside is ready: (http://127\.0\.0\.1:(\d+))(/signin/\?token=\S+)$")
DEADLINE = 60  # seconds until a start counts as failed
ADD_TOKEN = """
    INSERT INTO agents_apitoken (name, digest, created_at, user_id)
    SELECT 'script', {}, CURRENT_TIMESTAMP, id FROM auth_user WHERE username = 'owner'
"""


class Started:
    """A running server: where it is, and the link it printed."""

    def __init__(self, home, arguments=(), is_first=False, **environment):
        if not is_first and "DATABASE_URL" not in environment:
            prepare(home)
        self.process = launch(home, *arguments, **environment)
        late = threading.Timer(DEADLINE, self.process.kill)
        late.start()
        self.line = self.process.stdout.readline().strip()
        late.cancel()
        said, _, self.link = self.line.partition(": ")
        assert said == "Planside is ready", self.line or self.process.stderr.read()
        self.address = (Path(home) / ".address").read_text()
        self.heard = ""  # of what it has printed since

    def wait_to_hear(self, words):
        """Until its log has them."""
        late = threading.Timer(DEADLINE, self.process.kill)
        late.start()
        while words not in self.heard:
            piece = os.read(self.process.stderr.fileno(), 65_536)
            assert piece, self.heard
            self.heard += piece.decode()
        late.cancel()

    def end(self, how=signal.SIGTERM):
        """Seconds it took, exit code, and what else it printed."""
        began = time.monotonic()
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=DEADLINE)
        return time.monotonic() - began, self.process.returncode, out, self.heard + err


def prepare(home):
    """A home that is new gets its database ready: migrating takes as long as all the rest."""
    home = Path(home)
    if home.exists() and any(home.iterdir()):
        return
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in (
        ("planside.sqlite3", migrated().read_bytes()),
        ("secret.key", secrets.token_hex(32).encode()),
    ):
        (home / name).write_bytes(content)
        (home / name).chmod(0o600)


def surroundings(home):
    """What a person's shell would say; nothing of the settings the tests themselves run with."""
    names = ("PATH", "LANG", "HOME")
    known = {name: os.environ[name] for name in names if name in os.environ}
    return known | {"PLANSIDE_HOME": str(home), "PLANSIDE_PORT": "0"}


def launch(home, *arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "manage.py", "serve", *arguments],
        cwd=ROOT,
        env=surroundings(home) | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def refused(home, **environment):
    """The one sentence of a start that is refused."""
    process = launch(home, **environment)
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out) == (1, "")
    assert "Traceback" not in err
    assert err.count("\n") == 1, err
    return err.strip()


def first_page(browser, server):
    """Where one lands who opens the address."""
    landed = browser.get(server.address, follow_redirects=True)
    assert landed.status_code == 200
    return landed.url.path


class Script:
    """A script with a token of the owner's."""

    def __init__(self, home, **environment):
        self.headers = {"Authorization": f"Bearer {token_for(home, **environment)}"}

    def get(self, server, path):
        return httpx.get(
            f"{server.address}/api{path}", headers=self.headers, timeout=DEADLINE
        ).json()

    def post(self, server, path, body):
        answer = httpx.post(
            f"{server.address}/api{path}", json=body, headers=self.headers, timeout=DEADLINE
        )
        assert answer.is_success, answer.text
        return answer.json()

    def patch(self, server, path, body):
        answer = httpx.patch(
            f"{server.address}/api{path}", json=body, headers=self.headers, timeout=DEADLINE
        )
        assert answer.is_success, answer.text
        return answer.json()

    def delete(self, server, path):
        address = f"{server.address}/api{path}"
        assert httpx.delete(address, headers=self.headers, timeout=DEADLINE).is_success

    def talk(self, server, text):
        """A conversation with this message; where its messages are."""
        c = self.post(server, "/conversations", {"agent": "docs-writer"})["id"]
        self.post(server, f"/conversations/{c}/messages", {"text": text})
        return f"/conversations/{c}/messages"

    def wait_until(self, server, path, is_so):
        until = time.monotonic() + DEADLINE
        while not is_so(found := self.get(server, path)):
            assert time.monotonic() < until, found
            time.sleep(0.05)
        return found


def token_for(home, **environment):
    """A new token of the owner's.

    Its row is written here, as the command writes it: starting that takes as long as a server.
    """
    secret = f"planside_{secrets.token_urlsafe(32)}"
    file, url = Path(home, "planside.sqlite3"), environment.get("DATABASE_URL")
    opened = psycopg.connect(url) if url else sqlite3.connect(file, timeout=DEADLINE)
    with closing(opened) as database:
        digest = hashlib.sha256(secret.encode()).hexdigest()
        written = database.execute(ADD_TOKEN.format("%s" if url else "?"), (digest,))
        assert written.rowcount == 1, "the home has no owner yet: start a server on it first"
        database.commit()
    return secret


def run(home, *words, **environment):
    """What a command prints."""
    ended = command(home, *words, **environment)
    ended.check_returncode()
    return ended.stdout.strip()


def manage(home, *words, cwd=ROOT, **environment):
    """(exit code, stdout, stderr) of a command on this home."""
    prepare(home)
    environment = {"PLANSIDE_DEMO_PACE": "0", "PYTHONPATH": str(ROOT)} | environment
    done = command(home, *words, cwd=cwd, **environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def command(home, *words, cwd=ROOT, umask=0o022, **environment):
    """A command on this home that has ended: with returncode, stdout and stderr."""
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *words],
        cwd=cwd,
        env=surroundings(home) | environment,
        capture_output=True,
        text=True,
        umask=umask,
        timeout=2 * DEADLINE,
    )


def is_done(plan):
    return plan["state"] == "done"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@contextmanager
def new_database(server_url):
    """The URL of an empty database that is gone afterwards."""
    name = f"planside_test_{secrets.token_hex(4)}"
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(server_url, autocommit=True) as server:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def worker(home, **environment):
    process = subprocess.Popen(
        [sys.executable, "manage.py", "worker"],
        cwd=ROOT,
        env=surroundings(home) | environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE)
