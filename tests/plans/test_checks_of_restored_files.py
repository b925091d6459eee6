"""Files are put back beside a round of checks: what is shown in the end is how the files are."""

import pytest

from agents.db import in_db
from agents.errors import Conflict, TurnLost
from agents.models import ToolCall, Turn, TurnState, Undo
from plans import actions
from plans.models import CheckResult, Plan, Subtask
from tests.checked import TOOLS, begun, worked
from tests.fake_model import call, say
from tests.inner import (
    Scope,
    Store,
    change_agent,
    check_runner,
    claim,
    decide_call,
    plan_snapshot,
    put_back_orphans,
)
from tests.inner import undo as engine
from tests.world import done, drive, eventually, files_of, happening, plan_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

FILE = {"kind": "file", "path": "a.txt", "exists": True}
COMMAND = {"kind": "command", "command": "true"}
ASKING = {**TOOLS, "shell": "ask"}


@pytest.fixture
def c():
    """Done: the first has written a.txt, for which the first check of the second looks."""
    c = begun(FILE, COMMAND, names=("Write", "Look"))
    Subtask.objects.filter(key="s1").update(checks=[], checks_made=0)
    worked(c, call("write_file", path="a.txt", content="its"), done(), done(), say("all done"))
    return c


def taken(c):
    actions.undo_changes(Scope.named(plan_of(c), "s1"), "alice")


def brought_back(c):
    actions.undo_changes(Scope(Undo.objects.latest("pk")), "alice")


def is_there(c):
    return (files_of(c) / "a.txt").exists()


def verified():
    return plan_snapshot(Plan.objects.get()).subtasks[1].verified


def open_rounds():
    return Turn.objects.filter(kind="checks", state__in=Turn.OPEN_STATES)


class Moment:
    """Something happens at the n-th of these moments of a round, from 0: before and after each
    check is prepared and recorded."""

    def __init__(self, monkeypatch, at, happens):
        self.left, self.happens, self.where = at, happens, ""
        for name in ("prepare", "record"):
            real = getattr(check_runner, name)
            monkeypatch.setattr(check_runner, name, self.around(name, real))

    def around(self, name, function):
        def watched(*args, **kwargs):
            self.reach(f"before {name}")
            result = function(*args, **kwargs)
            self.reach(f"after {name}")
            return result

        return watched

    def reach(self, where):
        self.left -= 1
        if self.left == -1:
            self.where = where
            self.happens()


MOMENTS = [
    *(pytest.param(at, True, False, id=f"brought back at {at}") for at in range(8)),
    *(pytest.param(at, False, True, id=f"taken at {at}, its worker dies") for at in range(2, 6)),
]


@pytest.mark.parametrize(("at", "back", "is_killed"), MOMENTS)
@pytest.mark.sampled(6)
def test_at_each_moment_of_a_round(c, monkeypatch, at, back, is_killed):
    if back:
        taken(c)
        drive()
    refused = []

    def put_back():
        try:
            (brought_back if back else taken)(c)
        except Conflict as why:
            refused.append(str(why))
        if is_killed:
            raise TurnLost

    actions.check_plan(plan_of(c), "alice")
    moment = Moment(monkeypatch, at, put_back)
    drive()
    put_back_orphans(all_of_them=True)
    drive()

    assert moment.where, "the moment was never reached"
    assert not refused or at > 4, "only a command of a check keeps files from being put back"
    assert is_there(c) is (back is not bool(refused))
    assert verified() is is_there(c)
    assert not open_rounds().exists()


@pytest.mark.parametrize("back", [False, True], ids=["taken", "brought back"])
def test_while_a_round_waits_for_a_person(c, back):
    if back:
        taken(c)
        drive()
    change_agent(c.agent_id, {"tools": ASKING})
    actions.check_plan(plan_of(c), "alice")
    drive()
    (brought_back if back else taken)(c)
    while asked := ToolCall.objects.filter(state=ToolCall.State.ASKED, decision="").first():
        decide_call(asked, "allow_once", "alice")
        drive()
    assert verified() is is_there(c) is back
    assert not open_rounds().exists()


def test_one_round_is_enough_for_all_that_is_put_back_before_it_begins(c):
    taken(c)
    brought_back(c)
    assert open_rounds().count() == 1
    claim(1)
    taken(c)
    brought_back(c)
    assert [each.state for each in open_rounds().order_by("pk")] == [
        TurnState.RUNNING,
        TurnState.QUEUED,
    ]


def test_a_round_of_one_check_does_not_stand_in_for_all(c):
    actions.check_plan(plan_of(c), "alice", "s2", "c2")
    taken(c)
    assert open_rounds().count() == 2
    drive()
    assert verified() is False


def test_a_person_asks_for_no_second_round_beside_those(c):
    taken(c)
    with pytest.raises(Conflict, match="run already"):
        actions.check_plan(plan_of(c), "alice")


class Killed(BaseException):
    """The process is gone: nothing that comes after is carried out."""


def killed_in(name, work, c, monkeypatch):
    """The process dies where this function of the engine is called."""

    def dies(*args, **kwargs):
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(engine, name, dies)
        work(c)
    assert Undo.objects.latest("pk").finished_at is None


NOT_TOLD = "put"  # all files are as they are to be, and checks are queued; the row does not say so
NOT_BEGUN = "carry_out"  # the row is there, and no file was touched yet


@pytest.mark.parametrize("where", [NOT_TOLD, NOT_BEGUN])
def test_a_command_of_a_check_finds_an_undo_finished_that_a_kill_cut_off(c, monkeypatch, where):
    killed_in(where, taken, c, monkeypatch)
    if where == NOT_BEGUN:
        actions.check_plan(plan_of(c), "alice")
    drive()
    assert Undo.objects.get().finished_at is not None
    assert CheckResult.objects.filter(passed=None).count() == 0
    assert verified() is is_there(c) is False
    assert not open_rounds().exists()


class TestTurnsThatRest:
    """A run waits for a person while files of its folder are put back."""

    def resting(self, *replies):
        """The first of two subtasks has written a.txt; the second one has come to an approval."""
        c = begun(FILE, COMMAND, names=("Write", "Look"), tools=ASKING)
        worked(c, call("write_file", path="a.txt", content="its"), done(), *replies)
        self.allow()
        drive()
        assert Subtask.objects.get(key="s2").state == "in_progress"
        return c

    def allow(self):
        asked = ToolCall.objects.get(state=ToolCall.State.ASKED, decision="")
        decide_call(asked, "allow_once", "alice")

    def asks_for(self, command):
        return self.resting(call("shell", command=command), say("?"))

    def test_what_a_finish_had_found_before_is_looked_at_again(self):
        c = self.resting(done("Seen"), call("fail_subtask", error="gone"))
        assert finding_of("s2") == [("c1", True)]
        taken(c)
        self.allow()
        drive()
        assert finding_of("s2") == [("c1", None), ("c1", False), ("c2", True)]
        assert Subtask.objects.get(key="s2").state == "todo"

    def test_it_goes_on_when_the_files_are_put_back(self, monkeypatch):
        c = self.asks_for("touch ran")
        root, arrived = files_of(c), []
        waits = engine.wait_for_writers
        monkeypatch.setattr(
            engine, "wait_for_writers", lambda root: (arrived.append(root), waits(root))
        )

        async def story(worker):
            with Store.of(root.resolve()) as store, store.locked():  # as an undo has it
                await in_db(self.allow)
                await eventually(lambda: arrived)
                assert not (root / "ran").exists()
            await eventually((root / "ran").exists)

        happening(story)

    def test_it_finishes_an_undo_that_a_kill_cut_off_before_it_goes_on(self, monkeypatch):
        c = self.asks_for("test -e a.txt && touch saw-it; touch ran")
        killed_in(NOT_BEGUN, taken, c, monkeypatch)
        assert is_there(c)
        self.allow()
        drive()
        assert (files_of(c) / "ran").exists()
        assert not (files_of(c) / "saw-it").exists()
        assert Undo.objects.get().finished_at is not None


def finding_of(key):
    rows = CheckResult.objects.filter(subtask__key=key).order_by("pk")
    return [(row.key, row.passed) for row in rows]
