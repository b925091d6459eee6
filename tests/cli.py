"""Management commands in this process: `cli("plan", "run")` gives exit code, stdout and stderr.

It is the product's own `main()`, on the database, the home and the settings of the test: what stands
in for the network (`agents.http.use`) does so for the command too. Commands that end their process
themselves (`serve`, `worker`) need a real one: `tests/smoke`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import Context
from io import StringIO
from pathlib import Path
from typing import NamedTuple, TextIO

import django
import pytest
from asgiref.sync import SyncToAsync
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections

from tests.inner import env, main, umask

SIGNALLED = 128
Streams = tuple[TextIO, TextIO, StringIO]


class Ended(NamedTuple):
    """A command that has ended, as a shell sees it."""

    code: int
    out: str
    err: str


def run_command(
    *words: object, stdin: str = "", cwd: Path | None = None, stdout: TextIO | None = None
) -> Ended:
    """Run it here; on a thread where a loop runs already, as after a browser test."""
    argv = ["manage.py", *map(str, words)]
    streams = (StringIO(stdin), stdout or StringIO(), StringIO())
    if not has_running_loop():
        return run(argv, streams, cwd or Path.cwd())
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run, argv, streams, cwd or Path.cwd()).result()


def run(argv: list[str], streams: Streams, folder: Path) -> Ended:
    with surroundings(argv, streams, folder):
        code = exit_code()
    if code > SIGNALLED:
        gc.collect()  # what its stack still holds, as the lock of the home, ends with a process
    _, out, err = streams
    assert "Traceback" not in err.getvalue(), err.getvalue()
    return Ended(code, out.getvalue() if isinstance(out, StringIO) else "", err.getvalue())


@contextmanager
def surroundings(argv: list[str], streams: Streams, folder: Path) -> Iterator[None]:
    """What a process has of its own: words, streams, folder, umask, log, database thread."""
    with ExitStack() as undo:
        patch = undo.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(sys, "argv", argv)
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        patch.chdir(folder)
        patch.setattr(env, "made_key", False)
        # Once is enough; a second time would take away the handlers by which pytest sees the log.
        patch.setattr(django, "setup", lambda: None)
        undo.enter_context(log_on(streams[2]))
        undo.enter_context(umask_of_person(0o022))
        undo.callback(end_database_thread)
        yield


def exit_code() -> int:
    """As Python makes it of SystemExit. What else is raised is the test's to see."""
    try:
        Context().run(start)  # a process knows nothing of what its caller had activated
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # noqa: T201
            return 1
        return end.code or 0
    return 0


def start() -> None:
    """As a process does it: first the settings, with the key of the home, then the command."""
    os.umask(umask.persons())
    try:
        env.secret_key(Path(settings.PLANSIDE_HOME))
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    main()


@contextmanager
def umask_of_person(mask: int) -> Iterator[None]:
    """As in a process that such a person has started."""
    before = os.umask(mask)
    umask.keep_private()
    try:
        yield
    finally:
        os.umask(0o022)
        umask.keep_private()
        os.umask(before)


@contextmanager
def log_on(stream: TextIO) -> Iterator[None]:
    """The handler of the settings, which has the stderr of the process's start."""
    handlers = [each for each in logging.getLogger().handlers if each.name == "stderr"]
    before = [handler.setStream(stream) for handler in handlers]  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for handler, earlier in zip(handlers, before, strict=True):
            handler.setStream(earlier)  # type: ignore[attr-defined]


def end_database_thread() -> None:
    """Its connection ends with the process; here the thread lives on."""
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


@contextmanager
def database_in(home: Path) -> Iterator[Path]:
    """The home's own file, as in production: a copy of the empty one of the tests (SQLite)."""
    path, used = home / "planside.sqlite3", connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(path)])
    connection.close()
    connection.settings_dict["NAME"] = path  # every thread's connection shares these
    try:
        yield path
    finally:
        connection.close()
        connection.settings_dict["NAME"] = used


def has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
