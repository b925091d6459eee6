"""Programs that are not ours: real peers for our clients. Installed once into a cache."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

NODE = Path(__file__).parent / "node"
UV = shutil.which("uv") or Path(__file__).parents[1] / ".tools" / "bin" / "uv"


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


def python_programs(requirements):
    """The folder of the programs of a virtual environment with these packages.

    `requirements` is a file that names them with their versions. Skips, with the reason, where
    they cannot be installed.
    """
    # uv reads none of pip's variables, and this one may name wheels that no registry has.
    found = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS") or ""
    environment = {**os.environ, "UV_FIND_LINKS": found}

    def run(*command):
        done = subprocess.run(
            [UV, *command, "--quiet"], env=environment, capture_output=True, text=True, timeout=900
        )
        if done.returncode:
            words = " ".join(re.sub(r"[×╰─▶│]", "", done.stderr).split()) or "uv failed"
            pytest.skip(f"{requirements.stem} cannot be installed: {words[:400]}")

    def install(folder):
        run("venv", "--clear", "--python", sys.executable, folder / "venv")
        python = folder / "venv" / "bin" / "python"
        run("pip", "install", "--python", python, "-r", requirements)

    return cached(requirements.read_bytes(), install) / "venv" / "bin"


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


@contextmanager
def serving(command, url, seconds=60, **environment):
    """The program as a server: it runs once something answers at this address, and ends after.

    Of our own surroundings it knows nothing: DATABASE_URL, say, would mean something to it.
    """
    known = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, env=known | environment, stdout=said, stderr=said)
        try:
            until = time.monotonic() + seconds
            while not answers(url):
                if process.poll() is not None or time.monotonic() > until:
                    said.seek(0)
                    raise AssertionError(f"{command[0]}: {said.read()[-2000:].decode()}")
                time.sleep(0.1)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def answers(url):
    try:
        return httpx.get(url, timeout=5).status_code < 500
    except httpx.TransportError:
        return False
