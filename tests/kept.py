"""A world of rows and files that many tests begin with: made once a process, put back for each."""

from __future__ import annotations

import copy
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import connection

MADE: dict[str, Kept] = {}


def kept(name: str, make: Callable[[], Any], home: Path) -> Any:
    """What `make` gives, with its rows and the files of this home as they were when it had ended.

    Each test gets a copy of it. What a test changes in the rows of its process or in the home is gone
    for the next. The home has to be the same each time, since rows name folders in it.
    """
    if connection.vendor != "sqlite":
        return make()
    if name not in MADE:
        things = make()
        MADE[name] = Kept(things, home)
    else:
        MADE[name].put_back()
    return copy.deepcopy(MADE[name].things)


class Kept:
    """The copies, of rows in memory and of files beside the home."""

    def __init__(self, things: Any, home: Path) -> None:
        self.things, self.home = things, home
        self.rows = sqlite3.connect(":memory:", check_same_thread=False)
        database().backup(self.rows)
        self.files = home.with_name(f"{home.name}-kept")
        shutil.copytree(home, self.files, symlinks=True)

    def put_back(self) -> None:
        self.rows.backup(database())
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.files, self.home, symlinks=True)


def database() -> sqlite3.Connection:
    connection.ensure_connection()
    return connection.connection  # type: ignore[no-any-return]
