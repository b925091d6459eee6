"""Whose a change is, in scenes in which it is known who wrote what."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from agents.db import in_db
from agents.models import Observation, Recording, Turn
from tests.agents.recordings.test_turns import CLOCK, WITH_SHELL, linked, origins, shell
from tests.fake_model import call, say
from tests.inner import (
    Store,
    Workspace,
    handle_message,
    noted,
    recordings,
    retention,
    retry_reply,
)
from tests.patience import until_files_are_older
from tests.world import agent, drive, eventually, happening, scripted, tell

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]
LARGE = [1, 10_000]  # with more files only times and what people did through Planside are known


@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("linked")


def apart(*replies):
    """One call after the other, with some time in between; those of each message anew."""

    def model(request):
        until_files_are_older(CLOCK)
        results = 0
        for message in request["messages"]:
            is_asked = message["role"] == "user" and message["content"] == "write"
            results = 0 if is_asked else results + (message["role"] == "tool")
        reply = [*replies, say("ok")][results]
        return reply() if callable(reply) else reply

    return model


def after(act, reply):
    """Somebody acts between two calls."""

    def now():
        act()
        until_files_are_older(CLOCK)
        return reply

    return now


def run(c, *replies):
    scripted(apart(*replies))
    tell(c, "write")
    return origins(Recording.objects.latest("began_at"))


def put(folder, path, text):
    """A person, through Planside."""

    def save():
        with noted(Workspace(folder), path):
            (folder / path).write_text(text)

    with ThreadPoolExecutor() as pool:
        pool.submit(save).result()


def meanwhile(c, folder, command, act):
    """A person acts where the command says WAIT."""
    go, went = folder.parent / "go", folder.parent / "went"
    wait = f"touch {go}; until [ -e {went} ]; do sleep 0.02; done"
    scripted(apart(shell(command.replace("WAIT", wait))))

    async def story(worker):
        await in_db(handle_message, c, "write", "alice", None)
        await eventually(go.exists)
        await in_db(act)
        went.touch()
        await eventually(lambda: Turn.objects.get().state == "done")

    happening(story)
    go.unlink()
    went.unlink()
    return origins(Recording.objects.get())


def several(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"{name} of before\n")


@pytest.fixture
def late(monkeypatch):
    """Between a call and a look some time passes."""
    real = recordings.look_for

    async def look_late(turn, each):
        until = time.monotonic() + 0.03
        while time.monotonic() < until:
            pass
        return await real(turn, each)

    monkeypatch.setattr(recordings, "look_for", look_late)


class TestWhatPeopleDoThroughPlanside:
    @pytest.fixture(params=LARGE)
    def c(self, request, folder, monkeypatch):
        monkeypatch.setattr("agents.changes.watch.MOST_FILES", request.param)
        several(folder, "a", "b")
        return linked(folder)

    @pytest.mark.parametrize(
        ("command", "path", "whose"),
        [
            ("WAIT", "hers", {"hers": "outside"}),
            ("WAIT; echo its >> a", "a", {"a": "both"}),
            ("WAIT; mv hers c", "hers", {"c": "both"}),
            ("WAIT; mv hers c; echo its >> c", "hers", {"c": "both"}),
        ],
    )
    def test_it_is_told_apart_while_a_command_runs(self, c, folder, command, path, whose):
        assert meanwhile(c, folder, command, lambda: put(folder, path, "hers\n")) == whose

    def test_it_is_told_apart_between_two_commands(self, c, folder):
        hers = after(lambda: put(folder, "a", "hers\n"), shell("echo its >> a"))
        assert run(c, shell("echo > c"), hers) == {"a": "both", "c": "own"}


class TestWithACalledAgent:
    def run(self, folder, boss, helper):
        """Two agents work in one folder; the recording of the one that called is told."""
        id = agent(workspace=str(folder), tools=WITH_SHELL, instructions="I am helper")
        tools = {**WITH_SHELL, f"run_agent:{id}": "allow"}
        c = linked(folder, tools=tools, instructions="I am boss")
        script = {
            "boss": [call("run_agent", agent=id, task="x") if one is None else one for one in boss],
            "helper": list(helper),
        }

        def model(request):
            until_files_are_older(CLOCK)
            is_boss = "I am boss" in request["messages"][0]["content"]
            reply = script["boss" if is_boss else "helper"].pop(0)
            return reply() if callable(reply) else reply

        scripted(model)
        tell(c, "write")
        return origins(Recording.objects.get(turn__conversation=c))

    def test_what_others_saved_before_it_wrote_is_not_forgotten(self, folder):
        several(folder, "a.md")

        def hers():
            for name in ("a.md", "b.md"):
                (folder / name).write_text("hers\n")

        command = shell("echo its > a.md; mv b.md c.md; echo > x")
        boss = [shell("echo > y"), None, shell("echo > z"), say("ok")]
        found = self.run(folder, boss, [after(hers, command), say("ok")])
        assert found == {"a.md": "both", "c.md": "both", "x": "own", "y": "own", "z": "own"}

    def test_what_others_did_before_the_turn_was_recorded_is_of_before(self, folder):
        several(folder, "a.md")
        hers = after(lambda: (folder / "a.md").write_text("hers\n"), shell("echo > y"))
        boss = [None, shell("echo its >> a.md"), say("ok")]
        found = self.run(folder, boss, [shell("echo > x"), hers, say("ok")])
        assert found == {"a.md": "own"}


@pytest.mark.parametrize("more", ["", "; echo its >> b.md"])
def test_what_others_brought_and_the_turn_moved_is_of_both_though_it_wrote_there(folder, more):
    hers = after(lambda: (folder / "a.md").write_text("hers\n"), shell(f"mv a.md b.md{more}"))
    assert run(linked(folder), shell("echo > c"), hers) == {"b.md": "both", "c": "own"}


def test_a_turn_that_is_tried_again_later_is_told_as_before(folder, monkeypatch):
    c = linked(folder)
    several(folder, "a.md", "b.md")
    hers = after(lambda: (folder / "a.md").write_text("hers\n"), shell("echo its >> a.md"))
    also = after(lambda: put(folder, "b.md", "hers\n"), shell("echo its >> b.md"))
    run(c, shell("echo > c"), hers, also, {"status": 401, "body": "no"})
    monkeypatch.setattr(retention, "AGE", -(10**12))
    retention.forget_old()
    scripted(say("ok"))
    retry_reply(c, "alice")
    drive()
    assert origins(Recording.objects.get()) == {"a.md": "both", "b.md": "both", "c": "own"}
    retention.forget_old()
    assert not Observation.objects.exists()


class TestAlone:
    """Nobody else writes, so all is the turn's own."""

    @pytest.mark.parametrize("command", ['rm -r "$PWD"', 'r="$PWD"; cd ..; rm -r "$r"; mkdir "$r"'])
    @pytest.mark.usefixtures("late")
    def test_the_whole_folder_is_removed(self, folder, command):
        several(folder, "a", "d/b")
        assert run(linked(folder), shell("echo > c"), shell(command)) == {"a": "own", "d/b": "own"}

    def test_one_of_several_names_is_written(self, folder):
        several(folder, "a")
        found = run(
            linked(folder),
            shell("ln a b; mkdir d; ln a d/c"),
            call("write_file", path="a", content="its\n"),
            shell("echo >> b; mv d e"),
        )
        assert found == {"a": "own", "b": "own", "e/c": "own"}

    def test_what_git_leaves_out_and_is_recorded_is_written_after_a_restart(self, folder):
        c = linked(folder)
        several(folder, "a.log", "out/b")
        run(c, shell("echo > x"))
        (folder / ".gitignore").write_text("*.log\nout\n")
        write = after(recordings.watches.clear, shell("echo its >> a.log; echo its >> out/b"))
        assert run(c, shell("echo > y"), write) == {"a.log": "own", "out/b": "own", "y": "own"}

    @pytest.mark.usefixtures("late")
    def test_rules_of_git_come_and_go(self, folder):
        several(folder, "b.log", ".gitignore", "c.txt")
        (folder / ".gitignore").write_text("*.txt\n")
        found = run(
            linked(folder),
            shell("echo dist > .gitignore; mkdir -p dist/sub; echo > dist/sub/y"),
            call("write_file", path="dist/named", content="its\n"),
            shell("echo '*.log' > .gitignore; echo > a.log; echo >> b.log; mv c.txt d.txt"),
            shell("echo > .gitignore"),
            shell("echo >> a.log"),
            shell("rm .gitignore"),
        )
        assert set(found.values()) == {"own"}


def test_what_others_wrote_where_git_left_it_out_is_theirs_when_it_comes_into_view(folder):
    hers = after(lambda: (folder / "k.env").write_text("hers\n"), shell("rm .gitignore"))
    found = run(linked(folder), shell("echo '*.env' > .gitignore"), hers)
    assert found == {"k.env": "outside"}


def test_of_many_files_that_are_gone_what_was_there_is_read_once(folder, monkeypatch):
    for number in range(200):
        (folder / f"{number}").write_text("x")
    reads, tree = [], Store.tree

    def counted(store, oid):
        reads.append(oid)
        return tree(store, oid)

    monkeypatch.setattr(Store, "tree", counted)
    assert set(run(linked(folder), shell("rm *")).values()) == {"own"}
    assert len(reads) < 20


def test_a_turn_of_very_many_changes_is_looked_after_no_more(folder, monkeypatch):
    monkeypatch.setattr("agents.changes.watch.MOST_FOUND", 10)
    make = shell("rm -rf d; mkdir d; cd d; touch $(seq 8)")
    found = run(linked(folder), *[make] * 5)
    assert sum(len(each.files) for each in Observation.objects.all()) <= 24
    assert set(found.values()) == {"own"} and len(found) == 8
