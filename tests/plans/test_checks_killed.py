"""A process that dies at any point of checking: no result is invented, lost, or asked for twice."""

import pytest

from agents.errors import TurnLost
from agents.models import ToolCall, Turn
from plans import actions
from plans.models import Attempt, CheckResult
from tests.checked import begun, first, results
from tests.fake_model import call, say
from tests.inner import check_runner, persistence, put_back_orphans
from tests.world import done, drive, files_of, plan_of, scripted

pytestmark = pytest.mark.django_db(transaction=True)

OPINION = {"kind": "review", "question": "Is it polite?"}


def counted(name):
    """A check that holds, and leaves a line each time it runs."""
    return {"kind": "command", "command": f"echo x >> {name}"}


class Killed:
    """The worker dies at the n-th of these moments, from 0: TurnLost lets nothing more be written.

    Moments are before and after each check is prepared and recorded, and around the end of the
    call.
    """

    def __init__(self, monkeypatch, at):
        self.left = at
        self.where = ""
        for module, name in (
            (check_runner, "prepare"),
            (check_runner, "record"),
            (persistence, "end_call"),
        ):
            monkeypatch.setattr(module, name, self.around(name, getattr(module, name)))

    def around(self, name, function):
        def killed(*args, **kwargs):
            self.moment(f"before {name}")
            result = function(*args, **kwargs)
            self.moment(f"after {name}")
            return result

        return killed

    def moment(self, where):
        if self.left == 0:
            self.left, self.where = -1, where
            raise TurnLost
        self.left -= 1


def judging(replies):
    def answer(request):
        if "You judge the work" in str(request["messages"][0]["content"]):
            return say("VERDICT: yes")
        return replies.pop(0) if replies else say("All is well.")

    return answer


# Two checks and a review: three times prepared and recorded, and the call's end, before and after.
MOMENTS = range(4 * 3 + 2)


@pytest.mark.parametrize("at", MOMENTS)
@pytest.mark.sampled(7)
def test_it_goes_on_where_it_was(monkeypatch, at):
    c = begun(counted("one"), counted("two"), OPINION)
    scripted(judging([call("list_files"), done("Polite")]))
    actions.approve_plan(plan_of(c), 1, "alice")
    kill = Killed(monkeypatch, at + 2)  # past the end of list_files
    drive()
    assert kill.where, "the moment was never reached"
    before = results(c)
    assert Turn.objects.filter(state="running").count() == 1
    put_back_orphans(all_of_them=True)
    drive()

    assert results(c)[: len(before)] == before
    assert results(c) == [("c1", True), ("c2", True), ("c3", True)]
    assert (first(c)["verified"], Attempt.objects.count()) == (True, 1)
    finish = ToolCall.objects.get(tool="finish_subtask")
    assert finish.state == "done"
    assert set(CheckResult.objects.values_list("call", flat=True)) == {finish.pk}
    runs = [len((files_of(c) / name).read_text()) // 2 for name in ("one", "two")]
    known = dict(before)
    repeated = [run - 1 for run in runs]
    # Run once more only where it had run and its result was not written yet.
    assert sum(repeated) <= 1
    assert all(not again for again, key in zip(repeated, ("c1", "c2"), strict=True) if key in known)


@pytest.mark.parametrize("at", range(4))
@pytest.mark.sampled(2)
def test_so_does_what_is_checked_again(monkeypatch, at):
    c = begun(counted("one"))
    scripted(judging([done("Polite")]))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    actions.check_plan(plan_of(c), "alice")
    kill = Killed(monkeypatch, at)
    drive()
    assert kill.where
    put_back_orphans(all_of_them=True)
    drive()
    assert results(c) == [("c1", True)] * 2
    assert (first(c)["verified"], Turn.objects.filter(state__in=Turn.OPEN_STATES).count()) == (
        True,
        0,
    )
