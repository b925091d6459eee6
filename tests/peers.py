"""Programs that are not ours: real peers for our clients. Installed once into a cache."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

NODE = Path(__file__).parent / "node"


def programs(node=NODE):
    """The folder of the installed programs; skips, with the reason, where there can be none.

    `node` holds the package.json that names them.
    """
    for program in ("node", "npm"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")

    def install(folder):
        for name in ("package.json", "package-lock.json"):
            shutil.copy(node / name, folder)
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["npm ci failed"]
            pytest.skip(f"the programs cannot be installed: {lines[-1]}")

    return cached((node / "package-lock.json").read_bytes(), install) / "node_modules" / ".bin"


def cached(what, install):
    """A folder that is filled once for all tests and runs: as long as `what` says the same."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "planside-tests"
    folder = cache / hashlib.sha256(what).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not (folder / ".installed").exists():
            install(folder)
            (folder / ".installed").touch()
    return folder
