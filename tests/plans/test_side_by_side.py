"""One subtask at a time is all there is; nothing stands against several.

What can be seen in the code alone: tests/lint/test_side_by_side.py.
"""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from agents.db import in_db
from agents.models import Turn
from plans import actions
from plans.models import Run
from plans.schemas import Revision
from tests.fake_model import call, say, silent
from tests.inner import ready, run_turns_of, settle_run, turns_of
from tests.world import approved, drive, eventually, happening, plan_of, scripted, states

pytestmark = pytest.mark.django_db(transaction=True)


def subtasks_of_turns(c):
    turns = turns_of(plan_of(c)).filter(state__in=Turn.OPEN_STATES)
    return [turn.checkpoint.get("subtask") for turn in turns.order_by("pk")]


def test_a_subtask_is_on_its_turn_when_the_turn_is_queued():
    c = approved("Read", "Write", run="all")
    assert subtasks_of_turns(c) == ["s1"]
    scripted(call("finish_subtask", outcome="read"), call("fail_subtask", error="no"), say("?"))
    drive()
    kinds = turns_of(plan_of(c)).order_by("pk").values_list("kind", "checkpoint__subtask")
    assert list(kinds) == [("subtask", "s1"), ("subtask", "s2")]


def test_an_attempt_takes_the_subtask_of_its_turn_and_no_other():
    c = approved("Read", "Write", run="all")
    turn = run_turns_in_a_transaction(c)[0]
    turn.checkpoint["subtask"] = "s2"
    turn.save()
    scripted(call("finish_subtask", outcome="written"), say("?"), call("finish_subtask"))
    actions.begin_attempt(turn)
    assert states(c) == ["todo", "in_progress"]


def run_turns_in_a_transaction(c):
    with transaction.atomic():
        return run_turns_of(plan_of(c))


@pytest.mark.parametrize(
    ("change", "then"),
    [
        (lambda plan: actions.move_subtask(plan, "s3", 1, "alice"), "s3"),
        (lambda plan: actions.remove_subtask(plan, "s1", "alice"), "s2"),
        (lambda plan: actions.skip_subtask(plan, "s1", "alice"), "s2"),
        (lambda plan: actions.update_subtask(plan, "s1", {"name": "Look"}, "alice"), "s1"),
    ],
)
def test_a_turn_that_has_not_begun_goes_along_with_a_change(change, then):
    c = approved("Read", "Write", "Check", run="all")
    actions.pause_plan(plan_of(c), "alice")
    change(plan_of(c))
    assert subtasks_of_turns(c) == [then]
    assert [subtask.key for subtask in ready(plan_of(c))] == [then]


def test_a_turn_that_an_older_planside_queued_takes_what_is_ready():
    c = approved("Read", "Write", run="all")
    for turn in Turn.objects.filter(kind="subtask"):
        turn.checkpoint.pop("subtask")
        turn.save()
    done = call("finish_subtask", outcome="good")
    scripted(done, done, call("finish_plan", outcome="fine"))
    drive()
    assert states(c) == ["done", "done"]


def test_giving_up_an_attempt_stops_the_subtasks_own_turn_alone():
    c = approved("Read", "Write", run="all")
    scripted(silent(until=5))

    # The second turn stands for one that works beside the first.
    def beside(c):
        Turn.objects.create(
            conversation=c,
            lane="run",
            kind="subtask",
            plan=plan_of(c).pk,
            checkpoint={"subtask": "s2"},
            not_before=timezone.now() + timedelta(minutes=1),
        )

    plan = plan_of(c)

    async def story(worker):
        await eventually(lambda: states(c) == ["in_progress", "todo"])
        await in_db(beside, c)
        revision = Revision.model_validate({"subtasks": [{"key": "s1", "name": "Read twice"}]})
        await in_db(actions.revise_plan, plan, revision, "agent")
        await eventually(lambda: Turn.objects.get(attempt__subtask__key="s1").state == "stopped")

    happening(story)
    other = Turn.objects.filter(kind="subtask").last()
    assert (other.state, other.stop_requested) == ("queued", False)


@pytest.mark.parametrize(
    ("turns", "run", "reason"),
    [
        ([], Run.IDLE, ""),
        ([("waiting", "question")], Run.PAUSED, "question"),
        ([("waiting", "approval"), ("queued", "")], Run.QUEUED, ""),
        ([("running", ""), ("queued", "")], Run.RUNNING, ""),
        ([("waiting", "child"), ("queued", "")], Run.RUNNING, ""),
    ],
)
def test_one_function_says_by_all_open_turns_how_the_run_stands(turns, run, reason):
    c = approved("Read", "Write")
    plan = plan_of(c)
    for state, waiting_for in turns:
        Turn.objects.create(
            conversation=c,
            lane="run",
            kind="subtask",
            state=state,
            waiting_for=waiting_for,
            plan=plan.pk,
        )
    with transaction.atomic():
        settle_run(plan)
    plan.refresh_from_db()
    assert (plan.run, plan.pause_reason) == (run, reason)


def test_a_question_is_its_turns_and_no_column_of_the_plan():
    c = approved("Read", "Write", run="all")
    scripted(call("ask_user", question="Which one?"))
    drive()
    assert plan_of(c).question == "Which one?"
    Turn.objects.filter(waiting_for="question").update(state="stopped", waiting_for="")
    assert plan_of(c).question == ""
