"""Going back to an earlier version makes a new one, and touches nothing that has started."""

import pytest

from agents.actors import AGENT
from agents.errors import Conflict, NotFound
from plans import actions
from plans.models import Plan, State
from plans.schemas import PlanEdit, Revision, SubtaskDraft
from tests.inner import checklist, diff, snapshot_text
from tests.world import plan_of, proposed

pytestmark = pytest.mark.django_db


def names(plan):
    return list(checklist(plan).values_list("name", flat=True))


def keys(plan):
    return list(checklist(plan).values_list("key", flat=True))


def at(plan, version):
    return plan.versions.get(version=version).snapshot


@pytest.fixture
def plan():
    """v1 Read, Write, Check; v2 without Write; v3 with Ask and another title."""
    plan = plan_of(proposed("Read", "Write", "Check"))
    actions.remove_subtask(plan, "s2", "alice")
    actions.add_subtask(plan, SubtaskDraft(name="Ask"), "alice", after="s1")
    return actions.edit_plan(plan, PlanEdit(title="Other", content="words"), "alice", 3)


def settle(plan, key, state):
    checklist(plan).filter(key=key).update(state=state, outcome="told")


def test_going_back_makes_a_new_version_with_the_old_words(plan):
    plan = actions.restore_version(plan, 2, "bob")
    assert plan.version == 5
    assert at(plan, 5) == at(plan, 2) == snapshot_text(plan)
    last = plan.versions.last()
    assert (last.author, last.explanation) == ("bob", "Went back to v2")


def test_what_was_removed_comes_back_under_a_new_key(plan):
    plan = actions.restore_version(plan, 1, "alice")
    assert names(plan) == ["Read", "Write", "Check"]
    assert keys(plan) == ["s1", "s5", "s3"]
    assert (plan.title, plan.content) == ("Tidy the docs", "")


def test_going_back_twice_makes_no_second_copy(plan):
    actions.restore_version(plan, 1, "alice")
    actions.edit_plan(plan, PlanEdit(title="Again other"), "alice", None)
    plan = actions.restore_version(plan, 1, "alice")
    assert keys(plan) == ["s1", "s5", "s3"]
    assert actions.restore_version(plan, 1, "alice").version == plan.version, (
        "nothing changed any more"
    )


def test_the_yes_is_void(plan):
    plan = actions.approve_plan(plan, plan.version, "alice", run="no")
    plan = actions.restore_version(plan, 1, "alice")
    assert not plan.is_confirmed
    assert plan.approved_version == 4


def test_what_has_started_stays_as_it_is(plan):
    settle(plan, "s4", State.DONE)
    settle(plan, "s1", State.ABANDONED)
    plan = actions.restore_version(plan, 1, "alice")
    assert keys(plan) == ["s1", "s4", "s5", "s3"]
    assert names(plan) == ["Read", "Ask", "Write", "Check"]
    done = checklist(plan).get(key="s4")
    assert (done.state, done.outcome, done.position) == ("done", "told", 2)


def test_a_running_subtask_keeps_its_words_and_its_attempt(plan):
    actions.revise_plan(
        plan, Revision.model_validate({"subtasks": [{"key": "s1", "name": "Read all"}]}), AGENT
    )
    settle(plan, "s1", State.IN_PROGRESS)
    plan = actions.restore_version(plan, 1, "alice")
    assert names(plan) == ["Read all", "Write", "Check"]
    assert checklist(plan).get(key="s1").state == "in_progress"


def test_the_order_comes_back_too(plan):
    actions.move_subtask(plan, "s3", 1, "alice")
    plan = actions.restore_version(plan, 4, "alice")
    assert keys(plan) == ["s1", "s4", "s3"]
    assert list(checklist(plan).values_list("position", flat=True)) == [1, 2, 3]


def test_a_version_there_never_was_is_missing(plan):
    with pytest.raises(NotFound, match=r"The plan has no version 9\."):
        actions.restore_version(plan, 9, "alice")
    assert Plan.objects.get(pk=plan.pk).version == 4


def test_a_closed_plan_goes_nowhere(plan):
    actions.cancel_plan(plan, "alice")
    with pytest.raises(Conflict, match="cancelled"):
        actions.restore_version(plan, 1, "alice")


def test_another_version_than_the_one_seen_is_left_alone(plan):
    with pytest.raises(Conflict, match="now v4; you saw v3"):
        actions.restore_version(plan, 1, "alice", version=3)
    assert names(plan) == ["Read", "Ask", "Check"]


def test_a_version_from_before_a_field_of_subtasks_was_added_is_compared_and_restored(plan):
    """As if there had been no description when version 1 was made."""
    first = plan.versions.get(version=1)
    for subtask in first.snapshot["subtasks"]:
        del subtask["description"]
    first.save()
    changed = diff(first.text, plan.versions.get(version=2).text)
    assert changed.counts == {"added": 0, "reworded": 0, "moved": 0, "removed": 1}
    plan = actions.restore_version(plan, 1, "alice")
    assert names(plan) == ["Read", "Write", "Check"]
    assert {subtask["description"] for subtask in at(plan, plan.version)["subtasks"]} == {""}
