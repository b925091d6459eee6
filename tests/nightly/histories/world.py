"""A server of some checkout, its model, and what a script may do there: HTTP and files, no more.

So the same histories run on another commit, with another inside.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.console.serving import free_port, surroundings
from tests.fake_model import FakeModelServer, call, say

READY = re.compile(r"^Planside is ready: (\S+?)/signin/", re.MULTILINE)
START, PATIENCE = 120, 60  # seconds
TOKEN = re.compile(r"h\d+-\d+")

Stamps = dict[str, tuple[int, int]]  # by path, its inode and when the kernel noted a change of it

# A file by its path: its kind, whether it may be run, and its content or what it leads to.
Tree = dict[str, tuple[str, bool, bytes]]


def tree_of(folder: Path) -> Tree:
    """Folders are not recorded, so an empty one is no difference."""
    found: Tree = {}
    for base, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(base, name)
            if path.is_dir() and not path.is_symlink():
                continue
            key = str(path.relative_to(folder))
            try:
                mode = path.lstat().st_mode
                if stat.S_ISLNK(mode):
                    found[key] = ("link", False, bytes(path.readlink()))
                else:
                    found[key] = ("file", bool(mode & stat.S_IXUSR), path.read_bytes())
            except FileNotFoundError:  # gone since
                continue
    return found


def stamps_of(folder: Path) -> Stamps:
    found: Stamps = {}
    for base, folders, names in os.walk(folder):
        for path in (Path(base, name) for name in (*folders, *names)):
            try:
                status = path.lstat()
            except FileNotFoundError:  # gone since
                continue
            if not stat.S_ISDIR(status.st_mode):
                found[str(path.relative_to(folder))] = (status.st_ino, status.st_ctime_ns)
    return found


class World:
    """One server on a home of its own, and a model that asks the history of a token what to do."""

    def __init__(self, root: Path, home: Path, database: str = "") -> None:
        self.root, self.home, self.port = root, home, free_port()
        own = root / ".venv/bin/python"
        self.python = str(own) if own.exists() else sys.executable
        self.database = {"DATABASE_URL": database} if database else {}
        self.steps: dict[str, Callable[[int], Any]] = {}  # by token: the nth call of its turn
        self.model = FakeModelServer(self.answer)
        self.process: subprocess.Popen[bytes] | None = None
        self.undone = 0  # the highest number of an undo that was heard of

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        messages = request["messages"]
        last = max(n for n, each in enumerate(messages) if each["role"] == "user")
        found = TOKEN.search(str(messages[last]["content"]))
        if not found or found[0] not in self.steps:
            return say("Nothing to do.")
        made = sum(each["role"] == "tool" for each in messages[last + 1 :])
        reply: dict[str, Any] = {}

        async def decide() -> None:
            step = await asyncio.to_thread(self.steps[found[0]], made)
            reply.update(call(step[0], **step[1]) if step else say(f"{found[0]} is done."))

        return {"wait": decide, "then": reply}  # which is made while it waits

    def environment(self) -> dict[str, str]:
        return {
            **surroundings(self.home),
            **self.database,
            "OPENAI_BASE_URL": self.model.url,
            "OPENAI_API_KEY": "k",
            "PLANSIDE_MODEL": "openai/scripted",
            "PLANSIDE_PORT": str(self.port),
        }

    def command(self, *arguments: str) -> str:
        return subprocess.run(
            [self.python, "manage.py", *arguments],
            cwd=self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def start(self) -> None:
        log = self.home / "serve.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as to:
            begins = to.tell()
            self.process = subprocess.Popen(
                [self.python, "manage.py", "serve"],
                cwd=self.root,
                env=self.environment(),
                stdout=to,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until = time.monotonic() + START
        while not READY.search(said := log.read_bytes()[begins:].decode()):
            assert self.process.poll() is None and time.monotonic() < until, said
            time.sleep(0.05)

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def connect(self) -> None:
        secret = json.loads(self.command("token", "create", "histories", "--json"))["token"]
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}/api",
            headers={"Authorization": f"Bearer {secret}"},
            timeout=PATIENCE,
        )

    def ask(self, method: str, path: str, **how: Any) -> httpx.Response:
        """Whatever it answers, but for a fault of the server's own."""
        answer = self.http.request(method, path, **how)
        assert answer.status_code < 500, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def done(self, method: str, path: str, **how: Any) -> Any:
        answer = self.ask(method, path, **how)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()


@contextmanager
def running(root: Path, home: Path, database: str = "") -> Iterator[World]:
    world = World(root, home, database)
    with world.model:
        try:
            world.start()
            world.connect()
            yield world
        finally:
            if world.process and world.process.poll() is None:
                world.kill()
