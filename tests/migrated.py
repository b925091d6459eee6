"""A migrated database, made once for all processes and runs until a line of the product changes.

Migrating takes as long as starting a server does; copying this file takes a millisecond.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".pytest_cache" / "migrated"


@cache
def migrated():
    """Its path. The first of several processes makes it, the others wait for that."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{fingerprint()}.sqlite3"
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            for old in FOLDER.glob("*.sqlite3"):
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
