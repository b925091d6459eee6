"""`unchanged` is measured from where the run of a plan began; only a person moves that."""

import re

import pytest

from agents.actors import AGENT
from agents.errors import Conflict, Forbidden, NotFound
from agents.models import Event, Recording
from plans import actions
from plans.models import Attempt
from plans.schemas import PlanDraft
from tests.checked import TOOLS, first, write
from tests.fake_model import call, say
from tests.inner import Check
from tests.world import conversation, done, drive, files_of, plan_of, scripted, shown

pytestmark = pytest.mark.django_db(transaction=True)

KEPT = {"kind": "file", "path": "keep.txt", "unchanged": True}
SPOILS = call("write_file", path="keep.txt", content="spoilt")
MENDS = call("write_file", path="keep.txt", content="keep")
FAILS = call("fail_subtask", error="Not this time.")
OVER = say("All is well.")


def begun(*subtasks, files=None, **settings):
    """A plan of subtasks with these checks each, in a folder with keep.txt."""
    plan = {"enabled": True, "max_attempts": 1, "max_check_failures": 1, **settings}
    c = conversation(tools=TOOLS, plan=plan)
    type(c.owner).objects.update(is_superuser=True)
    write(c, **({"keep.txt": "keep"} if files is None else files))
    named = [{"name": f"Step {n}", "checks": [*checks]} for n, checks in enumerate(subtasks, 1)]
    draft = PlanDraft.model_validate({"title": "Tidy", "subtasks": named})
    actions.create_plan(c, draft, "alice", goal="Tidy up")
    return c


def plays(c, *replies):
    scripted(*replies)
    plan = plan_of(c)
    if plan.is_confirmed:
        actions.run_plan(plan, "alice")
    else:
        actions.approve_plan(plan, plan.version, "alice")
    drive()


def found(c, place=0):
    """What the first check of a subtask came to."""
    return shown(c)["subtasks"][place]["checks"][0]["result"]


def is_refused(c, place=0):
    result = found(c, place)
    assert re.fullmatch(r"keep.txt is another one than at \S+ \d\d:\d\d UTC\.", result["said"])
    return result["passed"] is False


def test_its_result_says_since_when():
    c = begun([KEPT])
    plays(c, done(), OVER)
    began = Attempt.objects.get().turn.started_at
    assert found(c)["passed"] is True
    assert found(c)["said"] == f"Unchanged since {began:%Y-%m-%d %H:%M} UTC."


def test_what_an_earlier_subtask_without_checks_has_changed_is_changed():
    c = begun([], [KEPT])
    plays(c, SPOILS, done(), done())
    assert shown(c)["subtasks"][0]["state"] == "done"
    assert is_refused(c, 1)


def test_a_retry_forgets_nothing():
    c = begun([KEPT])
    plays(c, SPOILS, done())
    plays(c, done())
    assert is_refused(c) and Attempt.objects.count() == 2
    plays(c, MENDS, done(), OVER)
    assert found(c)["passed"] is True


def test_neither_does_a_subtask_that_was_reworded():
    c = begun([KEPT])
    plays(c, SPOILS, FAILS)
    actions.update_subtask(plan_of(c), "s1", {"name": "Another", "checks": [KEPT]}, "alice")
    plays(c, done())
    assert is_refused(c)


def test_nor_a_revision_that_first_names_the_file_after_it_was_spoilt():
    c = begun([])
    plays(c, SPOILS, FAILS)
    actions.update_subtask(plan_of(c), "s1", {"checks": [KEPT]}, "alice")
    plays(c, done())
    assert is_refused(c)


def test_a_file_that_came_since_is_no_unchanged_one():
    c = begun([], files={})
    plays(c, SPOILS, FAILS)
    actions.update_subtask(plan_of(c), "s1", {"checks": [KEPT]}, "alice")
    plays(c, done())
    assert is_refused(c)


def test_of_a_file_that_no_recording_has_it_is_said_since_when():
    c = begun([], files={"keep.txt": "keep", ".gitignore": "keep.txt"})
    plays(c, SPOILS, FAILS)
    actions.update_subtask(plan_of(c), "s1", {"checks": [KEPT]}, "alice")
    plays(c, done(), OVER)
    second = Attempt.objects.latest("pk")
    assert found(c)["said"] == f"Unchanged since {second.turn.started_at:%Y-%m-%d %H:%M} UTC."


def test_a_check_of_what_is_done_is_measured_by_the_beginning_too():
    c = begun([])
    plays(c, SPOILS, done(), OVER)
    actions.save_check(plan_of(c), "s1", Check.model_validate(KEPT), "alice")
    actions.check_plan(plan_of(c), "alice")
    drive()
    assert is_refused(c)
    Recording.objects.update(before="")  # not kept any more
    actions.check_plan(plan_of(c), "alice")
    drive()
    assert found(c)["passed"] is None


# Take as it is now


def spoilt():
    c = begun([KEPT], [KEPT])
    plays(c, SPOILS, done())
    return c


def take(c, check="c1", by="alice", version=None):
    return actions.take_as_it_is(plan_of(c), "s1", check, by, version)


def test_a_person_takes_it_as_it_is_for_every_subtask():
    c = spoilt()
    take(c)
    assert Event.objects.filter(type="check.taken").count() == 1
    assert is_refused(c), "it says what was found, until it is looked at again"
    plays(c, done(), done(), OVER)
    assert [found(c, n)["passed"] for n in (0, 1)] == [True, True]


def test_it_is_that_content_and_no_later_one():
    c = spoilt()
    take(c)
    plays(c, call("write_file", path="keep.txt", content="worse"), done())
    assert is_refused(c)


def test_of_what_is_done_it_is_looked_at_again():
    c = begun([KEPT])
    plays(c, done(), OVER)
    write(c, **{"keep.txt": "hers"})
    actions.check_plan(plan_of(c), "alice")
    drive()
    assert first(c)["verified"] is False
    take(c)
    drive()
    assert first(c)["verified"] is True


def test_nobody_but_a_person_takes_it():
    with pytest.raises(Forbidden, match="Only a person"):
        take(spoilt(), by=AGENT)


def test_nor_anything_but_a_file_that_is_to_be_unchanged():
    c = begun([{"kind": "file", "path": "a", "exists": True}])
    plays(c, done())
    with pytest.raises(Conflict, match="Only a file that is to be unchanged"):
        take(c)
    with pytest.raises(NotFound, match="s1 has no check c9"):
        take(c, "c9")


def test_nor_before_the_plan_has_begun_or_while_it_runs():
    c = begun([KEPT])
    with pytest.raises(Conflict, match="has not begun"):
        take(c)
    actions.approve_plan(plan_of(c), 1, "alice")
    with pytest.raises(Conflict, match="stop it first"):
        take(c)


def test_a_file_that_cannot_be_read_is_not_taken():
    c = spoilt()
    (files_of(c) / "keep.txt").unlink()
    (files_of(c) / "keep.txt").symlink_to("keep.txt")
    take(c)  # a link, which leads nowhere
    (files_of(c) / "keep.txt").unlink()
    (files_of(c) / "keep.txt").mkdir()
    plays(c, done())
    assert found(c)["passed"] is False
