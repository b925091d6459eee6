"""Programs from npm that are not ours: real peers for our clients. Installed once into a cache."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

NODE = Path(__file__).parent / "node"


def programs():
    """The folder of the installed programs; skips, with the reason, where there can be none."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    lock = (NODE / "package-lock.json").read_bytes()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "planside-tests"
    folder = cache / hashlib.sha256(lock).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / ".installed").exists():
            install(folder)
    return folder / "node_modules" / ".bin"


def install(folder):
    for name in ("package.json", "package-lock.json"):
        shutil.copy(NODE / name, folder)
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["npm ci failed"]
        pytest.skip(f"the programs cannot be installed: {lines[-1]}")
    (folder / ".installed").touch()
