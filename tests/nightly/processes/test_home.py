"""What the home looks like at a start, and what a start does with one that is not whole."""

import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing

import pytest

from tests.console.serving import (
    ROOT,
    Started,
    command,
    prepare,
    refused,
    run,
    surroundings,
)
from tests.console.test_home import contents, folder, garbage, half, head_alone, words


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """A home that has been in use, as its files; never changed."""
    home = tmp_path_factory.mktemp("used") / "home"
    prepare(home)
    run(home, "user", "list")
    return {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.fixture
def home(used, tmp_path):
    home = tmp_path / "home"
    for name, content in used.items():
        (home / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    home.chmod(0o700)
    return home


def test_nothing_that_is_made_can_be_read_by_others(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)  # it was there before, as with: mkdir ~/.planside
    assert command(home, "user", "list").returncode == 0
    made = [path for path in home.rglob("*") if not path.is_symlink()]
    open_to_others = [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert len(made) > 5 and open_to_others == []


@pytest.mark.parametrize("mode", [0o701])
def test_a_home_that_others_can_look_into_is_said_once_with_what_to_do(home, mode):
    home.chmod(mode)
    server = Started(home)
    _, _, _, err = server.end()
    assert err == (
        f"Others on this machine can look into {home} (mode {mode:o}). Run: chmod -R go= {home}\n"
    )
    assert stat.S_IMODE(home.stat().st_mode) == mode  # it is the person's to change


@pytest.mark.parametrize("empty", [False, True])
def test_a_lost_database_is_never_begun_anew_without_a_word(home, empty):
    path = home / "planside.sqlite3"
    path.unlink()
    if empty:
        path.touch()
    for sentence in (refused(home) if empty else command(home, "plan", "list").stderr,):
        assert sentence.startswith(f"The database {path} is gone or empty")
        assert "manage.py serve --new-database" in sentence
    assert path.exists() == empty and not (empty and path.stat().st_size)
    if empty:
        Started(home, arguments=["--new-database"]).end()
        assert path.stat().st_size and command(home, "plan", "list").returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        *(("user", "list"), ("token", "create", "t"), ("plan", "list"), ("tools", "list")),
        *(("chain", "list"), ("signin-link",), ("worker",)),
    ],
    ids=" ".join,
)
def test_no_command_makes_a_new_database_though_somebody_has_looked_for_the_old(home, words):
    path = home / "planside.sqlite3"
    path.unlink()
    with closing(sqlite3.connect(path)) as looked:
        looked.execute("PRAGMA journal_mode = WAL")  # a page, and no table
    done = command(home, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"The database {path} is gone or empty"), done.stderr
    assert done.stderr.count("\n") == 1


def test_the_doctor_reports_a_lost_database_and_makes_none(home):
    path = home / "planside.sqlite3"
    path.unlink()
    done = command(home, "doctor")
    assert f"FIX   Database: The database {path} is gone or empty" in done.stdout
    assert "manage.py serve --new-database" in done.stdout
    assert (done.returncode, done.stderr) == (1, "1 of 2 need fixing.\n")
    assert not path.exists()


def test_a_lost_key_is_said_and_made_anew(home):
    (home / "secret.key").unlink()
    server = Started(home)
    _, _, _, err = server.end()
    assert err.count("\n") == 1 and "signs in again" in err


def test_agents_that_somebody_brought_are_no_loss(home):
    (home / "secret.key").unlink()
    (home / "planside.sqlite3").unlink()
    _, _, _, err = Started(home).end()
    assert err.count("\n") == 1 and "begin with a new one" in err


@pytest.mark.parametrize("harm", [garbage, words, half, head_alone, folder])
def test_a_damaged_database_is_one_sentence_and_stays_as_it_is(home, harm):
    path = home / "planside.sqlite3"
    harm(path)
    before = contents(home)
    for verb in (["serve"], ["plan", "list"]) if harm is garbage else (["plan", "list"],):
        answer = command(home, *verb)
        assert answer.returncode == 1 and answer.stdout == ""
        assert answer.stderr.count("\n") == 1 and str(path) in answer.stderr
    assert contents(home) == before


@pytest.mark.parametrize("key", [b"", b"short", b"\xff\xfe" * 40, None])
def test_a_damaged_key_is_one_sentence_and_stays_as_it_is(home, key):
    path = home / "secret.key"
    folder(path) if key is None else path.write_bytes(key)
    before = contents(home)
    answer = command(home, "serve" if key == b"" else "doctor")
    assert answer.returncode == 1 and answer.stdout == ""
    assert answer.stderr.count("\n") == 1 and str(path) in answer.stderr
    assert contents(home) == before


def test_an_agent_whose_file_cannot_be_read_stops_nothing(home):
    for number, content in enumerate((b"\xff\xfe", b"", b"[" * 100_000, b"{}", None)):
        agent = home / "workspaces" / f"broken-{number}"
        agent.mkdir()
        if content is None:
            (agent / "agent.json").mkdir()
        else:
            (agent / "agent.json").write_bytes(content)
    assert command(home, "plan", "list").returncode == 0
    told = command(home, "doctor").stdout
    assert all(f"Agent broken-{number}: " in told for number in range(5))
    assert (home / "workspaces/broken-0/agent.json").read_bytes() == b"\xff\xfe"


def test_a_home_whose_parts_are_something_else_is_one_sentence(home):
    shutil.rmtree(home / "chains", ignore_errors=True)
    (home / "chains").write_text("")
    answer = command(home, "serve")
    assert answer.returncode == 1 and answer.stderr.count("\n") == 1
    assert "Traceback" not in answer.stderr


def test_a_database_that_was_torn_while_in_use_is_still_one_sentence(home):
    """The first pages are whole, so that it opens; a table's are not."""
    with sqlite3.connect(home / "planside.sqlite3") as file:
        pages = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'auth_user'")
        page, size = pages.fetchone()[0], file.execute("PRAGMA page_size").fetchone()[0]
    with (home / "planside.sqlite3").open("r+b") as torn:
        torn.seek((page - 1) * size)
        torn.write(b"\xff" * size)
    answer = command(home, "plan", "list")
    assert answer.returncode == 1 and "is damaged" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_what_an_agent_writes_in_a_persons_folder_has_the_persons_mode(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", WRITING, str(tmp_path)],
        cwd=ROOT, env=surroundings(tmp_path / "home"), umask=0o027, check=True,
    )  # fmt: skip
    assert told.returncode == 0
    modes = {
        name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "new/a.md", "b")
    }
    assert modes == {"new": 0o750, "new/a.md": 0o640, "b": 0o640}


WRITING = """
import asyncio, os, sys
from pathlib import Path
os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
from agents.umask import keep_private
keep_private()
import django
django.setup()
from agents.tools.files import file_tools
from agents.tools.shell import shell_tools
root = Path(sys.argv[1])
async def act():
    tools = {tool.name: tool for tool in [*file_tools(root), *shell_tools(root)]}
    await tools["write_file"].run({"path": "new/a.md", "content": "x"})
    await tools["shell"].run({"command": "touch b"})
asyncio.run(act())
"""
