"""The database of the tests: migrated once for all processes and runs, and emptied after each test."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from hashlib import sha256
from pathlib import Path

from django.core.management.color import no_style
from django.db import connection

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".pytest_cache" / "migrated"
A_DAY = 86_400  # seconds
KEPT_ROWS = {"django_content_type", "auth_permission"}


def empty_tables():
    """Delete all rows but those that migrating makes; the numbers of new ones go on.

    Django's `flush` would make those anew, which is twenty times the work.
    """
    connection.ops.execute_sql_flush(deletions(connection.vendor))


@cache
def deletions(vendor):
    tables = set(connection.introspection.django_table_names(only_existing=True))
    return connection.ops.sql_flush(no_style(), sorted(tables - KEPT_ROWS))


@cache
def migrated():
    """The path of one that may be copied: migrating takes as long as starting a server does.

    The first of several processes makes it, the others wait for that; anew when a line of the product
    has changed.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{fingerprint()}.sqlite3"
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            for old in FOLDER.glob("*.sqlite3"):  # which another run may still be copying
                if time.time() - old.stat().st_mtime > A_DAY:
                    old.unlink()
            make(path)
    return path


def make(path):
    with tempfile.TemporaryDirectory(prefix="planside-migrated-") as home:
        environment = {"PATH": os.environ["PATH"], "PLANSIDE_HOME": home}
        command = [sys.executable, str(ROOT / "manage.py"), "user", "list"]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        new = path.with_suffix(".new")
        shutil.copyfile(f"{home}/planside.sqlite3", new)
        new.replace(path)


def fingerprint():
    """Of all that a migration may come from."""
    digest = sha256()
    for app in ("agents", "console", "plans"):
        for source in sorted((ROOT / app).rglob("*.py")):
            digest.update(str(source).encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:12]
