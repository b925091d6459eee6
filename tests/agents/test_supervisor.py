"""What a command tries in order to outlive its call, and that none of it helps."""

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from tests.inner import run_command
from tests.inner import supervisor as watcher

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
    pytest.mark.usefixtures("way"),
]
HAS_SCOPES = (
    sys.platform == "linux"
    and watcher.system_call(watcher.CREATE_RULESET, None, 0, 1) >= watcher.HAS_SCOPES
)
NO_NEW_PRIVS = "import ctypes; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)\n"
THEN = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"

# Before each: the one who watches over a command, the one who watches over that one, the server.
NUMBERS = """
parent() { sed 's/.*) . //' "/proc/$1/stat" | cut -d ' ' -f 1; }
inner=$PPID; outer=$(parent $inner); server=$(parent $outer)
"""
AWAY = "env -i setsid sh -c 'exec {nap}' &"
STARTED = "until pgrep -fx '{nap}' > /dev/null; do sleep 0.01; done"
PYTHON = 'python3 -c \'\nimport ctypes, os, resource, signal, sys, time\nNAP = "{nap}".split()\n'
FORKED_TWICE = (
    PYTHON + "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "os.closerange(0, 3)\n"
    'os.execve("/bin/sleep", NAP, dict())\' &'
)
DEAF = (
    PYTHON + "for each in range(1, 65):\n"
    "    if each not in (9, 19, 32, 33): signal.signal(each, signal.SIG_IGN)\n"
    "os.setsid()\n"
    'os.execve("/bin/sleep", NAP, dict())\' &'
)
RUNNER = (  # a new process each time, for a minute
    PYTHON + "end = time.time() + 60\n"
    "os.setsid()\n"
    "while time.time() < end:\n"
    "    if os.fork(): os._exit(0)\n"
    '    open("beat", "w").close()\' {nap} > /dev/null 2>&1 &\n'
    "until [ -e beat ]; do sleep 0.01; done"
)
ADOPTS = (  # what the guards do themselves
    PYTHON + "ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
    "if not os.fork():\n"
    "    os.setsid()\n"
    "    if os.fork(): os._exit(0)\n"
    '    os.execve("/bin/sleep", NAP, dict())\n'
    "time.sleep(300)' > /dev/null 2>&1 &"
)
BLIND = (  # they may open no file any more
    PYTHON + "for each in sys.argv[1:]:\n"
    "    try: resource.prlimit(int(each), resource.RLIMIT_NOFILE, (0, 0))\n"
    "    except OSError: pass' $inner $outer"
)
TRACED = (
    PYTHON + "libc = ctypes.CDLL(None)\n"
    "for each in sys.argv[1:]: libc.ptrace(16, int(each), 0, 0)\n"
    'os.execve("/bin/sleep", NAP, dict())\' $inner $outer > /dev/null 2>&1 &'
)

ESCAPES = {
    "in a session of its own, without variables": f"{AWAY} {STARTED}",
    "forked twice, with every file closed": f"{FORKED_TWICE}\n{STARTED}",
    "deaf to every signal": f"{DEAF}\n{STARTED}",
    "holds the output open": f"setsid {{nap}} &\n{STARTED}",
    "halts itself": f"{AWAY}\n{STARTED}; kill -STOP $(pgrep -fx '{{nap}}')",
    "kills the inner one": f"{AWAY}\n{STARTED}; kill -9 $inner && {{nap}}",
    "kills the outer one": f"{AWAY}\n{STARTED}; kill -9 $outer && {{nap}}",
    "ends the inner one": f"{AWAY}\n{STARTED}; kill -TERM $inner && {{nap}}",
    "kills both": f"{AWAY}\n{STARTED}; kill -9 $inner $outer && {{nap}}",
    "kills both before it starts": (
        'env -i setsid sh -c "kill -9 $outer $inner; exec {nap}" > /dev/null 2>&1 & sleep 300'
    ),
    "kills the group of both": f"{AWAY}\n{STARTED}; kill -9 -- -$outer && {{nap}}",
    "halts the inner one": f"{AWAY}\n{STARTED}; kill -STOP $inner && {{nap}}",
    "halts both": f"{AWAY}\n{STARTED}; kill -STOP $inner $outer && {{nap}}",
    "forks and exits for ever": RUNNER,
    "and kills both": f"{RUNNER}; kill -9 $inner $outer && {{nap}}",
    "adopts its own": f"{ADOPTS}\n{STARTED}; kill -9 $inner $outer && {{nap}}",
    "blinds both": f"{AWAY}\n{STARTED}; {BLIND}",
    "traces both": f"{TRACED}\n{STARTED}",
    "looks like one of them": (
        f"{AWAY}\nenv -i setsid $(tr '\\0' '\\n' < /proc/$inner/cmdline | head -4 | tr '\\n' ' ') "
        f"/bin/{{nap}} > /dev/null 2>&1 &\n{STARTED}; kill -9 $inner $outer && {{nap}}"
    ),
}


@pytest.fixture
def root(tmp_path):
    return tmp_path / "workspace"


@pytest.fixture
def nap():
    """A command that nobody else runs, and that takes too long."""
    return f"sleep 300.{uuid4().int % 10**12:012}"


@pytest.fixture(params=["adopted", "confined"])
def way(request, monkeypatch):
    """How a command is held: by whose child it is alone, or kept from signalling others too."""
    if request.param == "confined":
        if not HAS_SCOPES:
            pytest.skip("this kernel does not keep signals in")
        start = (sys.executable, "-I", "-S", "-c", NO_NEW_PRIVS + THEN)
        monkeypatch.setattr(watcher, "PROGRAM", (*start, *watcher.PROGRAM))
    return request.param


def left_of(nap):
    """Every process that has its number among its words, those who watch over it included."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if nap.split()[1].encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


async def within_two_seconds(condition):
    deadline = time.monotonic() + 2
    while not (found := condition()) and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    return found


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
@pytest.mark.sampled(12)
async def test_nothing_of_a_command_outlives_its_call(root, nap, escape):
    doing = asyncio.create_task(run_command(root, NUMBERS + escape.format(nap=nap), 4))
    await asyncio.wait([doing])
    doing.exception()
    try:
        assert await within_two_seconds(lambda: not left_of(nap))
        (root / "beat").unlink(missing_ok=True)
        for _ in range(5):
            await asyncio.sleep(0.02)
        assert not (root / "beat").exists()
    finally:
        for pid in left_of(nap):
            os.kill(pid, signal.SIGKILL)


async def test_a_confined_command_signals_its_own_and_nobody_else(root, way):
    said = (await run_command(root, "sleep 300 & kill $! && kill -0 $PPID", 60)).text
    assert ("not permitted" in said) == (way == "confined")


@pytest.mark.process
@pytest.mark.parametrize("victims", ["$server", "$server $outer $inner"])
async def test_nothing_runs_on_when_a_command_kills_the_server(root, nap, way, victims):
    """Only one that is not confined, and kills all three at once, gets away (SECURITY.md)."""
    if way == "adopted" and victims != "$server":
        pytest.skip("the service manager ends it, or the container")
    server = NO_NEW_PRIVS * (way == "confined") + (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from agents.tools.shell import run_command\n"
        "print(asyncio.run(run_command(Path(sys.argv[1]), sys.argv[2], 60)).text)\n"
    )
    command = NUMBERS + f"{AWAY}\n{STARTED}; kill -9 {victims} && {{nap}}".format(nap=nap)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", server, str(root), command),
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TMPDIR": str(root.parent)},
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()
    assert (b"not permitted" in said) == (way == "confined")
    assert (process.returncode == 0) == (way == "confined")
    assert await within_two_seconds(lambda: not left_of(nap))
