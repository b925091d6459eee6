"""What the home looks like at a start, and what a start does with one that is not whole."""

import asyncio
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli import database_in, umask_of_person
from tests.inner import env, file_tools, prepare_home, shell_tools, warnings


@pytest.fixture
def database(home, cli):
    """The file of a home that has been in use."""
    env.secret_key(home)
    prepare_home()
    with database_in(home) as path:
        yield path


def contents(home):
    files = [home / "planside.sqlite3", home / "secret.key", *home.glob("workspaces/*/agent.json")]
    return {path: path.read_bytes() for path in files if path.is_file()}


def said_at_start(home, monkeypatch):
    """What a server or worker says before it changes anything."""
    monkeypatch.setattr(env, "made_key", False)
    env.secret_key(home)
    return list(warnings())


def sentence(ended):
    """Why a command refused; it has printed nothing else."""
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    return ended.err


@pytest.mark.parametrize("mode", [0o701])
def test_a_home_that_others_can_look_into_is_said_once_with_what_to_do(
    database, home, monkeypatch, mode
):
    home.chmod(mode)
    assert said_at_start(home, monkeypatch) == [
        f"Others on this machine can look into {home} (mode {mode:o}). Run: chmod -R go= {home}"
    ]
    assert stat.S_IMODE(home.stat().st_mode) == mode  # it is the person's to change


@pytest.mark.parametrize("empty", [False, True])
def test_a_lost_database_is_never_begun_anew_without_a_word(database, cli, empty):
    database.unlink()
    if empty:
        database.touch()
    told = sentence(cli("plan", "list"))
    assert told.startswith(f"The database {database} is gone or empty")
    assert "manage.py serve --new-database" in told
    assert database.exists() == empty and not (empty and database.stat().st_size)


@pytest.mark.parametrize(
    "words",
    [
        *(("user", "list"), ("token", "create", "t"), ("plan", "list"), ("tools", "list")),
        *(("chain", "list"), ("signin-link",)),
    ],
    ids=" ".join,
)
def test_no_command_makes_a_new_database_though_somebody_has_looked_for_the_old(
    database, cli, words
):
    database.unlink()
    with closing(sqlite3.connect(database)) as looked:
        looked.execute("PRAGMA journal_mode = WAL")  # a page, and no table
    assert sentence(cli(*words)).startswith(f"The database {database} is gone or empty")


def test_the_doctor_reports_a_lost_database_and_makes_none(database, cli):
    database.unlink()
    code, out, err = cli("doctor")
    assert f"FIX   Database: The database {database} is gone or empty" in out
    assert "manage.py serve --new-database" in out
    assert (code, err) == (1, "1 of 2 need fixing.\n")
    assert not database.exists()


def test_a_lost_key_is_said_and_made_anew(database, home, monkeypatch):
    (home / "secret.key").unlink()
    [told] = said_at_start(home, monkeypatch)
    assert "signs in again" in told
    assert (home / "secret.key").exists()


def test_agents_that_somebody_brought_are_no_loss(database, home, monkeypatch):
    (home / "secret.key").unlink()
    database.unlink()
    [told] = said_at_start(home, monkeypatch)
    assert "begin with a new one" in told


def garbage(path):
    path.write_bytes(os.urandom(20_000))


def words(path):
    path.write_text("this is no database\n" * 500)


def half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def head_alone(path):
    path.write_bytes(path.read_bytes()[:100] + os.urandom(30_000))


def folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [garbage, words, half, head_alone, folder])
def test_a_damaged_database_is_one_sentence_and_stays_as_it_is(database, home, cli, harm):
    harm(database)
    before = contents(home)
    assert str(database) in sentence(cli("plan", "list"))
    assert contents(home) == before


@pytest.mark.parametrize("key", [b"", b"short", b"\xff\xfe" * 40, None])
def test_a_damaged_key_is_one_sentence_and_stays_as_it_is(database, home, cli, key):
    path = home / "secret.key"
    folder(path) if key is None else path.write_bytes(key)
    before = contents(home)
    assert str(path) in sentence(cli("doctor"))
    assert contents(home) == before


def test_an_agent_whose_file_cannot_be_read_stops_nothing(database, home, cli):
    for number, content in enumerate((b"\xff\xfe", b"", b"[" * 100_000, b"{}", None)):
        agent = home / "workspaces" / f"broken-{number}"
        agent.mkdir()
        if content is None:
            (agent / "agent.json").mkdir()
        else:
            (agent / "agent.json").write_bytes(content)
    assert cli("plan", "list").code == 0
    told = cli("doctor").out
    assert all(f"Agent broken-{number}: " in told for number in range(5))
    assert (home / "workspaces/broken-0/agent.json").read_bytes() == b"\xff\xfe"


def test_a_home_whose_parts_are_something_else_is_one_sentence(database, home, cli):
    shutil.rmtree(home / "chains", ignore_errors=True)
    (home / "chains").write_text("")
    assert str(home / "chains") in sentence(cli("plan", "list"))


def test_a_database_that_was_torn_while_in_use_is_still_one_sentence(database, cli):
    """The first pages are whole, so that it opens; a table's are not."""
    with closing(sqlite3.connect(database)) as file:
        pages = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'auth_user'")
        page, size = pages.fetchone()[0], file.execute("PRAGMA page_size").fetchone()[0]
    with database.open("r+b") as torn:
        torn.seek((page - 1) * size)
        torn.write(b"\xff" * size)
    assert "is damaged" in sentence(cli("plan", "list"))


def test_what_an_agent_writes_in_a_persons_folder_has_the_persons_mode(tmp_path):
    tools = {tool.name: tool for tool in [*file_tools(tmp_path), *shell_tools(tmp_path)]}

    async def act():
        await tools["write_file"].run({"path": "new/a.md", "content": "x"})
        await tools["shell"].run({"command": "touch b"})

    with umask_of_person(0o027):
        asyncio.run(act())
    names = ("new", "new/a.md", "b")
    modes = {name: stat.S_IMODE(Path(tmp_path, name).stat().st_mode) for name in names}
    assert modes == {"new": 0o750, "new/a.md": 0o640, "b": 0o640}
