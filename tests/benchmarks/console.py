"""The real server and the lean model, each a process of its own, and a person's access to them."""

import os
import re
import socket
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

import psycopg

from tests.benchmarks.wire import Http, Socket
from tests.console.serving import ROOT, Started, token_for

DATABASE = "postgres://postgres:postgres@127.0.0.1:5432/postgres"
REDIS = "redis://127.0.0.1:6379/8"
numbers = count(1)


class Model:
    """`python -m tests.benchmarks.model`, each token after `pause` seconds, `count` in all."""

    def __init__(self, pause=0.0, count=20):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.model", str(pause), str(count)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self.process.stdout.readline().strip()

    async def log(self):
        http = Http(self.url, {})
        _, said = await http.ask("GET", "/log")
        http.close()
        return said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Console:
    """A running Planside with an agent that has no tools."""

    def __init__(self, stack, model, **environment):
        self.home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="planside-bench-")))
        self.environment = environment
        self.server = Started(
            self.home,
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="bench",
            PLANSIDE_MODEL="openai/bench",
            **environment,
        )
        stack.callback(self.end)
        self.headers = script_headers(self.home, environment)
        self.http = Http(self.server.address, self.headers)
        self.cookie = ""

    def end(self):
        if self.server.process.poll() is None:
            self.server.end()

    async def sign_in(self):
        """The session cookie that the printed link gives."""
        http = Http(self.server.address, {})
        await http.send("GET", self.server.link.removeprefix(self.server.address))
        _, fields = await http.read_head()
        http.close()
        self.cookie = re.match(r"[^;]+", fields["set-cookie"])[0]
        return self

    async def ask(self, method, path, body=None):
        status, said = await self.http.ask(method, f"/api{path}", body)
        assert status < 300, (method, path, status, said)
        return said

    async def agent(self):
        await self.ask("POST", "/agents", {"id": "bench", "name": "Bench", "tools": {}})

    async def conversation(self):
        return (await self.ask("POST", "/conversations", {"agent": "bench"}))["id"]

    async def socket(self, conversation):
        if not self.cookie:
            await self.sign_in()
        path = f"/ws/conversations/{conversation}/"
        return await Socket(self.server.address, path, self.cookie).open()

    def memory(self):
        """Resident MB of the server process."""
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def cpu(self):
        """Seconds of processor time the server has used."""
        fields = (
            Path(f"/proc/{self.server.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def script_headers(home, environment):
    return {"Authorization": f"Bearer {token_for(home, **environment)}"}


def engines():
    """(name, environment) of what this machine has."""
    yield "SQLite", {}
    database = os.environ.get("TEST_DATABASE_URL", DATABASE if answers(5432) else "")
    redis = os.environ.get("TEST_REDIS_URL", REDIS if answers(6379) else "")
    if database and redis:
        yield "PostgreSQL+Redis", {"DATABASE_URL": database, "REDIS_URL": redis}


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def database_of_its_own(stack, environment):
    """On PostgreSQL a fresh database, which is dropped at the end."""
    if "DATABASE_URL" not in environment:
        return {}
    url, name = environment["DATABASE_URL"], f"planside_bench_{os.getpid()}_{next(numbers)}"

    def run(statement):
        with psycopg.connect(url.rpartition("/")[0] + "/postgres", autocommit=True) as connection:
            connection.execute(statement)

    run(f"CREATE DATABASE {name}")
    stack.callback(run, f"DROP DATABASE {name} WITH (FORCE)")
    return {"DATABASE_URL": f"{url.rpartition('/')[0]}/{name}"}
