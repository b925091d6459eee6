"""Finding plans again: how each stands is told in the database as the drawer tells it of one."""

from datetime import timedelta

import pytest
from django.utils import timezone

from plans import actions
from plans.models import Plan
from plans.schemas import PlanDraft, SubtaskDraft
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import Query, plan_snapshot, search
from tests.world import conversation, done, drive, person, plan_of, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


def found(text="", **wanted):
    rows = search.search_plans(person("alice").pk, Query(text=text, **wanted))
    return [row.title for row in search.page(rows, wanted.get("sort", "-created"), 0, 50)]


def standings():
    rows = search.search_plans(person("alice").pk, Query())
    return {row.id: row.status.word for row in search.page(rows, "-created", 0, 50)}


def made(title, *subtasks, goal="", content="", owner="alice"):
    rows = [SubtaskDraft(name=name) for name in subtasks or ("One",)]
    draft = PlanDraft(title=title, content=content, expected_outcome="", subtasks=rows)
    return actions.create_plan(conversation(owner), draft, owner, goal=goal)


def waiting():
    return plan_of(proposed_plan("Read"))


def failed():
    c = proposed_plan("Read")
    scripted(call("fail_subtask", error="The disk is read-only."))
    tell(c, "go")
    return plan_of(c)


def asking():
    c = proposed_plan("Read")
    scripted(call("ask_user", question="Which tone?"))
    tell(c, "go")
    return plan_of(c)


def asking_for_leave():
    c = proposed_plan("Read", tools={"write_file": "ask"})
    scripted(call("write_file", path="a", content="b"))
    tell(c, "go")
    return plan_of(c)


def finished():
    c = proposed_plan("Read")
    scripted(done(), say("All done."))
    tell(c, "go")
    return plan_of(c)


def cancelled():
    return actions.cancel_plan(waiting(), "alice")


def paused():
    plan = waiting()
    actions.approve_plan(plan, 1, "alice")
    return actions.pause_plan(plan, "alice")


def stopped():
    plan = waiting()
    return actions.approve_plan(plan, 1, "alice", run="no")


def running():
    plan = waiting()
    return actions.approve_plan(plan, 1, "alice")


@pytest.mark.parametrize(
    ("story", "standing", "attention"),
    [
        (waiting, "Waiting for you to start it", "confirm"),
        (failed, "Failed", "failed"),
        (asking, "Waiting for your answer", "question"),
        (asking_for_leave, "Waiting for you", "approval"),
        (finished, "Finished", "none"),
        (cancelled, "Cancelled", "none"),
        (paused, "Paused", "none"),
        (stopped, "Ready to start", "none"),
        (running, "Running", "none"),
    ],
)
@pytest.mark.sampled(4)
def test_a_plan_stands_in_the_list_as_in_the_drawer(story, standing, attention):
    plan = story()
    assert plan_snapshot(plan).attention == attention
    assert standings() == {plan.pk: standing}
    needing = search.in_groups(search.search_plans(person("alice").pk, Query()), search.NEEDS_ME)
    assert needing.exists() == (attention != "none")


def test_a_failure_that_was_got_over_is_none():
    plan = failed()
    scripted(done(), say("All done."))
    actions.run_plan(Plan.objects.get(pk=plan.pk), "alice")
    drive()
    assert standings() == {plan.pk: "Finished"}


def test_every_word_is_looked_for_in_title_goal_content_and_subtasks():
    made(
        "Publish the reference",
        "Inventory the endpoints",
        goal="An API page",
        content="With *care*",
    )
    made("Water plants")
    for text in ("publish", "ENDPOINTS", "api", "care", "inventory publish"):
        assert found(text) == ["Publish the reference"], text
    assert found("publish plants") == []
    assert found("100%") == found("_") == []
    assert found("\0") == ["Water plants", "Publish the reference"]


def test_a_removed_subtask_is_not_found():
    plan = made("Water plants", "Fetch the can", "Pour")
    actions.remove_subtask(plan, "s1", "alice", 1)
    assert found("can") == []


def test_what_is_someone_elses_is_not_found():
    made("Secret", owner="bob")
    assert found() == []


def test_dates_end_before_the_last_moment():
    plan = made("Old")
    now = timezone.now()
    Plan.objects.filter(pk=plan.pk).update(created_at=now)
    assert found(since=now, until=now + timedelta(seconds=1)) == ["Old"]
    assert found(until=now) == []


def test_the_order_is_by_what_was_asked_for_and_then_the_newest():
    first, second = finished(), failed()
    last = waiting()
    turn = first.subtasks.get().attempts.get().turn
    turn.tokens_in, turn.worked = 10_000, timedelta(minutes=5)
    turn.save()

    def order(sort):
        rows = search.search_plans(person("alice").pk, Query(sort=sort))
        return [row.id for row in search.page(rows, sort, 0, 9)]

    assert order("-created") == [last.pk, second.pk, first.pk]
    assert order("created") == [first.pk, second.pk, last.pk]
    assert order("state") == [second.pk, last.pk, first.pk]
    assert order("-tokens")[0] == order("-duration")[0] == first.pk
    assert order("tokens")[0] == order("duration")[0] == last.pk


def test_a_row_sums_up_what_was_done():
    plan = finished()
    (row,) = search.rows_of([plan.pk])
    now = plan_snapshot(plan)
    assert (row.settled, row.total) == (1, 1)
    assert row.tokens == now.tokens > 0
    assert row.seconds == pytest.approx(now.seconds.worked, abs=0.002)


def test_a_page_costs_the_same_queries_however_many_plans_there_are(django_assert_num_queries):
    for number in range(12):
        made(f"Plan {number}", "One", "Two")
    rows = search.search_plans(person("alice").pk, Query())
    for sort, most in (("-created", 4), ("state", 7), ("-duration", 4), ("-tokens", 4)):
        with django_assert_num_queries(most):
            assert len(search.page(rows, sort, 0, 10)) == 10
    with django_assert_num_queries(3):
        assert search.counts(rows)["waiting"] == 12
