import asyncio
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.agents.programs import running
from tests.inner import SHELL_MOST_CHARACTERS as MOST_CHARACTERS
from tests.inner import Output, Supervised, ToolFailed, environment, run_command, shell_tools
from tests.waiting import later

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture
def root(tmp_path):
    return tmp_path / "workspace" / "files"


@pytest.fixture
def nap():
    """A command that nobody else runs, and that takes too long."""
    return f"sleep 300.{uuid4().int % 10**12:012}"


@pytest.fixture
def _ended_by_force_soon(monkeypatch):
    """After a tenth of a second: a limit, not behaviour."""
    supervisor = sys.modules[run_command.__module__].supervisor
    monkeypatch.setattr(supervisor, "PROGRAM", (*supervisor.PROGRAM, "--lifeline", "0", "0.1"))


async def call(root, command, **arguments):
    (tool,) = shell_tools(root)
    return (await tool.run({"command": command, **arguments})).text


async def refusal(root, command, **arguments):
    with pytest.raises(ToolFailed) as failed:
        await call(root, command, **arguments)
    return str(failed.value)


async def when_its_time_is_over(root, command):
    """What is said then; its limit passes as soon as the command has made the file `ready`."""
    (root / "ready").unlink(missing_ok=True)
    doing = asyncio.create_task(refusal(root, command, timeout_s=60))
    assert await until((root / "ready").exists)
    later(60)
    return await doing


async def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    return condition()


def zombies():
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state == "Z" and int(parent) == os.getpid():
                found.append(int(entry.name))
    return found


# What it is


def test_a_shell_call_is_never_repeated_by_itself_and_never_counts_as_reading(root):
    (tool,) = shell_tools(root)
    assert (tool.name, tool.read_only, tool.idempotent) == ("shell", False, False)
    assert tool.parameters["properties"]["timeout_s"]["default"] == 120
    assert tool.parameters["required"] == ["command"]


async def test_a_command_runs_in_the_workspace_which_is_made_if_it_is_not_there(root):
    assert await call(root, "pwd") == str(root)
    await call(root, "echo hello > 'a; b $(c).txt'")
    assert (root / "a; b $(c).txt").read_text() == "hello\n"


async def test_output_and_errors_come_together_in_their_order(root):
    assert await call(root, "echo one; echo two >&2; echo three") == "one\ntwo\nthree"


async def test_a_command_that_says_nothing_is_told_from_one_that_was_not_run(root):
    assert await call(root, "true") == "[no output]"


async def test_a_failing_command_is_an_ordinary_result_with_its_exit_code(root):
    assert await call(root, "echo no; exit 3") == "no\n[exit code 3]"
    assert await call(root, "kill -9 $$") == "[exit code 137]"
    assert (await call(root, "-x")).endswith("[exit code 127]")


async def test_a_pipe_that_closes_early_ends_its_writer_as_in_any_shell(root):
    assert await call(root, "set -o pipefail; yes | head -1") == "y\n[exit code 141]"


async def test_there_is_no_input_to_wait_for(root):
    assert await call(root, "cat; read line || echo nothing to read", timeout_s=10) == (
        "nothing to read"
    )


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("echo a\0b", "NUL"),
        ("echo \ud800", "half a character"),
        (" \n", "empty"),
        (": " * 60_000, "too long"),
    ],
)
async def test_what_no_shell_takes_is_refused_in_one_sentence(root, command, word):
    sentence = await refusal(root, command)
    assert word in sentence and "\n" not in sentence and sentence.endswith(".")


@pytest.mark.parametrize("seconds", [0, -1, 601, 1e9])
async def test_a_time_limit_out_of_bounds_is_refused(root, seconds):
    assert "timeout_s" in await refusal(root, "true", timeout_s=seconds)


async def test_a_workspace_that_is_no_folder_is_said_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        sentence = await refusal(root, "true")
        assert "could not be started" in sentence and "Errno" not in sentence


# What it inherits


async def test_no_variable_of_the_server_reaches_a_command(root, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("BASH_ENV", "/etc/passwd")
    names = {line.partition("=")[0] for line in (await call(root, "env")).splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"HOME", "LANG", "PATH", "TERM", "TMPDIR"}


@needs_proc
async def test_no_variable_is_found_in_the_processes_above_either(root, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "sk-secret" not in await call(root, "tr '\\0' '\\n' < /proc/$PPID/environ")


@needs_proc
async def test_no_open_file_of_the_server_reaches_a_command(root, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    with (tmp_path / "secret.txt").open() as secret:
        os.set_inheritable(secret.fileno(), True)
        assert "secret.txt" not in await call(root, "ls -l /proc/self/fd /proc/$PPID/fd")


def test_programs_of_the_servers_own_environment_are_not_on_the_path(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin:.:/usr/bin")
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    assert environment(tmp_path)["PATH"] == "/usr/bin"


async def test_the_folder_for_temporary_files_is_private_and_goes_with_the_call(root):
    told = await call(
        root, "stat -c %a $TMPDIR; mkdir $HOME/a; touch $HOME/a/b; chmod 0 $HOME/a; echo $TMPDIR"
    )
    mode, folder = told.splitlines()
    assert mode == "700"
    assert not await asyncio.to_thread(Path(folder).exists)


# What it says


async def test_of_a_long_output_the_beginning_the_end_and_the_gap_are_told(root):
    text = await call(root, "seq 1000000; exit 2")
    assert text.startswith("1\n2\n3\n") and text.endswith("999999\n1000000\n[exit code 2]")
    assert "bytes are left out here" in text
    assert len(text) < 60_000


async def test_binary_output_is_named_instead_of_shown(root):
    assert await call(root, "head -c 5000 /dev/urandom") == "[binary output, 5,000 bytes]"
    assert await call(root, "printf 'a\\0b'; exit 1") == "[binary output, 3 bytes]\n[exit code 1]"


async def test_text_that_is_not_all_utf_8_is_still_text(root):
    assert await call(root, "printf 'caf\\351 au lait, please\\n'") == "caf� au lait, please"


@settings(deadline=None)
@given(st.lists(st.binary(max_size=5_000), max_size=6), st.integers(1, 200))
@example([b"line\n" * 1000], 200)
def test_whatever_is_printed_takes_little_room_and_can_be_written_down(chunks, times):
    output = printed(chunks * times)
    assert len(output.head) + len(output.tail) < 300_000
    assert len(output.text().encode().decode()) < 60_000


@settings(deadline=None)
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\n"), min_size=1, max_size=200),
    st.integers(1, 3000),
)
def test_an_output_is_cut_only_if_it_is_long_and_what_is_missing_is_counted(line, times):
    text = line * times
    raw = text.encode()
    kept = printed(raw[start : start + 4096] for start in range(0, len(raw), 4096)).text()
    if len(text) <= MOST_CHARACTERS:
        assert kept == text
        return
    head, note, tail = kept.split("\n")
    missing = int(
        note.removeprefix("[… ").removesuffix(" bytes are left out here …]").replace(",", "")
    )
    assert text.startswith(head) and text.endswith(tail)
    assert len(head.encode()) + missing + len(tail.encode()) == len(raw)
    assert len(head) + len(tail) == MOST_CHARACTERS


def printed(chunks):
    output = Output()
    for chunk in chunks:
        output.add(chunk)
    return output


# How it ends


@needs_proc
async def test_a_command_over_its_time_is_ended_and_what_it_said_so_far_is_told(root, nap):
    sentence = await when_its_time_is_over(root, f"echo begun; touch ready; {nap}")
    assert sentence == (
        "The command was ended after 60 s, its time limit. Its output so far:\nbegun"
    )
    assert not running(nap)
    silent = await when_its_time_is_over(root, f"touch ready; {nap}")
    assert silent.endswith("It had printed nothing.")


FLIGHTS = {
    "in the background": "{nap} &",
    "in a session of its own": "setsid {nap} &",
    "as a grandchild": "(setsid sh -c '{nap} & {nap}' &)",
    "deaf to hints": "trap '' TERM HUP INT; setsid {nap} & {nap} &",
    "forked twice": (
        "python3 -c 'import os, sys\n"
        "if os.fork(): sys.exit()\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "os.closerange(0, 3)\n"
        'os.execvp("sleep", "{nap}".split())\' &'
    ),
    "under another name": "env -i setsid sh -c 'exec {nap}' > /dev/null 2>&1 &",
    "halted": "setsid {nap} & until grep -qa ^sleep /proc/$!/cmdline; do :; done; kill -STOP $!",
}


@needs_proc
@pytest.mark.parametrize("flight", FLIGHTS.values(), ids=FLIGHTS)
@pytest.mark.parametrize("end", ["exit", "time", "stop"])
@pytest.mark.sampled(7)
@pytest.mark.usefixtures("_ended_by_force_soon")
async def test_nothing_that_forks_away_outlives_the_call(root, nap, flight, end):
    before = zombies()  # of another test's processes
    started = f"{flight.format(nap=nap)}\nuntil [ -e ready ]; do sleep 0.02; done; echo so far"
    command = started if end == "exit" else f"{started}; touch said; sleep 100"
    doing = asyncio.create_task(call(root, command, timeout_s=60))
    assert await until(lambda: running(nap))
    (root / "ready").touch()
    if end == "exit":
        assert await doing == "so far"
    elif end == "time":
        assert await until((root / "said").exists)
        later(60)
        with pytest.raises(ToolFailed, match="so far"):
            await doing
    else:
        doing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await doing
    assert not running(nap)
    assert zombies() == before


@needs_proc
async def test_one_that_forks_and_exits_for_ever_is_caught(root):
    runner = (
        "import os, time\n"
        "end = time.time() + 60\n"
        "while time.time() < end:\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.setsid()\n"
        "    open('beat', 'w').close()\n"
    )
    await asyncio.to_thread(root.mkdir, parents=True)
    (root / "run.py").write_text(runner)
    await call(root, "python3 run.py & until [ -e beat ]; do sleep 0.01; done", timeout_s=20)
    (root / "beat").unlink()
    assert not running("python3 run.py")
    assert not (root / "beat").exists()


@needs_proc
async def test_a_command_may_end_properly_before_it_is_killed(root):
    command = "trap 'echo goodbye; exit' TERM; echo hello; sleep 100 & touch ready; wait"
    assert "hello\ngoodbye" in await when_its_time_is_over(root, command)


@needs_proc
async def test_a_background_process_does_not_keep_a_call_waiting(root, nap):
    assert await call(root, f"{nap} & echo done") == "done"


async def test_a_command_that_signals_its_whole_group_reaches_nobody_else(root):
    assert await call(root, "kill -9 0") == "[exit code 137]"


@needs_proc
async def test_nothing_runs_on_when_the_loop_goes_down_in_the_middle(root, nap, tmp_path):
    """Closing the transport is all that is done then, and it kills the process that it knows."""
    root.mkdir(parents=True)
    command = ["/bin/sh", "-c", f"setsid {nap} & {nap}"]
    mine = await Supervised.start(command, root, environment(tmp_path))
    assert await until(lambda: len(running(nap)) == 2)
    mine.transport.close()
    assert await until(lambda: not running(nap))


@needs_proc
@pytest.mark.usefixtures("_ended_by_force_soon")
async def test_stopping_twice_only_ends_the_waiting(root, nap):
    doing = asyncio.create_task(call(root, f"trap '' TERM; {nap} & {nap}"))
    assert await until(lambda: running(nap))
    doing.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    doing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doing
    assert await until(lambda: not running(nap))
    await until(lambda: len(asyncio.all_tasks()) == 1)


@needs_proc
@pytest.mark.process
async def test_nothing_runs_on_when_the_server_is_killed(root, nap):
    server = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from agents.tools.shell import run_command\n"
        "asyncio.run(run_command(Path(sys.argv[1]), sys.argv[2], 100))\n"
    )
    command = [sys.executable, "-c", server, str(root), f"setsid {nap} & {nap}"]
    process = await asyncio.create_subprocess_exec(
        *command, cwd=Path(__file__).parents[2], env={**os.environ, "TMPDIR": str(root.parents[1])}
    )
    assert await until(lambda: len(running(nap)) == 2)
    process.kill()
    await process.wait()
    assert await until(lambda: not running(nap))


@needs_proc
async def test_calls_at_the_same_time_do_not_end_each_other(root, nap):
    waits = "until [ -e over ]; do sleep 0.02; done"
    long = asyncio.create_task(call(root, f"{nap} & {waits}; echo long"))
    assert await until(lambda: running(nap))
    assert await asyncio.gather(*(call(root, f"echo {n} &\nwait") for n in range(5))) == list(
        "01234"
    )
    assert running(nap)
    (root / "over").touch()
    assert await long == "long"
