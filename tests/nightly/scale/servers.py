"""A PostgreSQL and a Redis of the tests' own, which they may stop and start again."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import redis

from tests.console.serving import free_port

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin")) or [Path("/usr/bin")]


class OwnRedis:
    def __init__(self):
        if not shutil.which("redis-server"):
            pytest.skip("redis-server is not installed")
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self):
        quiet = ["--save", "", "--appendonly", "no", "--logfile", os.devnull]
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), *quiet])
        with redis.Redis.from_url(self.url, retry=redis.retry.Retry(constant(), 100)) as client:
            client.ping()

    def stop(self):
        self.process.terminate()
        self.process.wait()


def constant():
    return redis.backoff.ConstantBackoff(0.1)


class OwnPostgres:
    """A cluster in a folder that is thrown away; as root it belongs to the user postgres."""

    def __init__(self):
        self.bin = BINARIES[-1]
        if not (self.bin / "initdb").exists():
            pytest.skip(f"initdb is not in {self.bin}: install PostgreSQL's server")
        self.folder = Path(tempfile.mkdtemp(prefix="planside-pg-"))
        self.port = free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync")
        self.start()

    @property
    def data(self):
        return str(self.folder / "data")

    def run(self, name, *arguments):
        who = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        as_whom = who if os.geteuid() == 0 else []
        command = [*as_whom, str(self.bin / name), *arguments]
        subprocess.run(command, check=True, cwd=self.folder, stdout=subprocess.DEVNULL)

    def start(self):
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        log = str(self.folder / "log")
        self.run("pg_ctl", "start", "-D", self.data, "-w", "-l", log, "-o", options)

    def stop(self):
        self.run("pg_ctl", "stop", "-D", self.data, "-w", "-m", "fast")

    def remove(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop()
        shutil.rmtree(self.folder)
