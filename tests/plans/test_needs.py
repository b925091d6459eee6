"""What waits for a person, whatever it is and wherever, counts once and only while it waits."""

import pytest
from django.db import connection
from django.utils import timezone

from agents.models import Conversation, ToolCall
from plans import actions
from plans.models import Attempt
from tests.builders import approved_plan, proposed_plan
from tests.console.test_pending_approvals import by_a_helper, plain
from tests.fake_model import call, say
from tests.inner import agents_actions as talk
from tests.inner import (
    asking_calls,
    delete_conversation,
    needs_of,
    plan_snapshot,
    resting_plans,
    restore_conversation,
    search,
    statuses_of,
)
from tests.inner import console_alternatives as alternatives
from tests.inner import handle_message as said
from tests.plans.test_subplans import END, PLANNED, done, story
from tests.world import (
    conversation,
    drive,
    person,
    plan_of,
    proposed,
    scripted,
    signed_in,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)


def kinds(name="alice"):
    return [need.kind for need in needs_of(person(name).pk)]


def failing():
    c = approved_plan("One", "Two", plan={"enabled": True, "max_attempts": 1})
    scripted(call("fail_subtask", error="No figures."))
    actions.run_plan(plan_of(c), "alice")
    drive()
    return c


def test_nothing_waits_where_nothing_was_said():
    conversation()
    assert kinds() == []


@pytest.mark.parametrize("begin", [plain, by_a_helper])
def test_a_call_that_asks_counts_where_the_person_is(begin):
    c = begin()
    [need] = needs_of(person("alice").pk)
    assert (need.kind, need.conversation) == ("approval", c.pk)
    talk.decide_call(ToolCall.objects.get(tool="write_file"), "deny", "alice")
    assert kinds() == []


@pytest.mark.parametrize(
    ("ask", "allowed", "kind"),
    [
        (call("write_file", path="a.txt", content="a"), {"write_file": "ask"}, "approval"),
        (call("ask_user", question="Which half?"), {}, "question"),
    ],
)
def test_what_an_agent_asks_that_works_for_a_plan_counts_once(ask, allowed, kind):
    c, _ = story([*PLANNED, ask, done(), done(), say("ok")], END, tools=allowed)
    tell(c, "go")
    [need] = needs_of(person("alice").pk)
    assert (need.kind, need.conversation) == (kind, c.pk)


def test_a_proposal_counts_until_it_is_started_and_names_its_version():
    c = proposed_plan("One", "Two")
    [need] = needs_of(person("alice").pk)
    assert (need.kind, need.plan, need.version) == ("start", plan_of(c).pk, 1)
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    assert kinds() == []


def test_a_new_version_is_another_thing():
    c = proposed_plan("One", "Two")
    [before] = needs_of(person("alice").pk)
    actions.update_subtask(plan_of(c), "s1", {"name": "Uno"}, "alice")
    [after] = needs_of(person("alice").pk)
    assert before.key != after.key


def test_what_failed_in_a_version_before_the_last_waits_for_a_yes_to_that():
    c = failing()
    actions.update_subtask(plan_of(c), "s1", {"name": "One, by hand"}, "alice")
    plan = plan_of(c)
    [need] = needs_of(person("alice").pk)
    assert (need.kind, need.version) == ("start", plan.version)
    assert statuses_of([plan.pk])[plan.pk].name == plan_snapshot(plan).attention == "confirm"
    alice = signed_in(person("alice"))
    page = alice.get("/needs/").content.decode()
    assert f"Start v{plan.version}" in page and "Retry subtask" not in page
    chat = alice.get(f"/c/{c.pk}/").content.decode()
    closing = chat.split('class="message closing"')[1].split("</article>")[0]
    assert "Retry" not in closing
    scripted(done(), done(), END)
    actions.approve_plan(plan, plan.version, "alice", run="all")
    drive()
    assert plan_of(c).state == "done"


def test_a_failed_plan_comes_first_and_fails_anew_under_another_name():
    proposed_plan("One")
    c = failing()
    assert kinds() == ["failed", "start"]
    before = needs_of(person("alice").pk)[0]
    scripted(call("fail_subtask", error="Still none."))
    actions.retry_subtask(plan_of(c), "s1", "alice")
    assert kinds() == ["start"]
    drive()
    assert needs_of(person("alice").pk)[0].key != before.key


def test_a_paused_plan_does_not_count():
    c = approved_plan("One", "Two")
    actions.run_plan(plan_of(c), "alice")
    actions.pause_plan(plan_of(c), "alice")
    assert kinds() == []


def test_a_plan_whose_budget_is_used_up_counts():
    c = approved_plan("One", "Two")
    actions.raise_budget(plan_of(c), "alice", {"model_calls": 1})
    scripted(call("list_files"), say("…"))
    actions.run_plan(plan_of(c), "alice")
    drive()
    assert statuses_of([plan_of(c).pk])[plan_of(c).pk].name == "budget"
    assert kinds() == ["budget"]


def test_a_second_limit_that_one_attempt_reaches_is_a_need_of_its_own():
    c = approved_plan("One", "Two")
    actions.raise_budget(plan_of(c), "alice", {"model_calls": 1})
    scripted(*[call("list_files")] * 3)
    actions.run_plan(plan_of(c), "alice")
    drive()
    [first] = needs_of(person("alice").pk)
    actions.raise_budget(plan_of(c), "alice", {"model_calls": 100, "tokens": 1})
    assert kinds() == ["budget"], "another limit is used up, too"
    assert needs_of(person("alice").pk)[0].key == first.key, "nobody has gone on meanwhile"
    actions.raise_budget(plan_of(c), "alice", {"model_calls": 2, "tokens": None})
    drive()
    [second] = needs_of(person("alice").pk)
    assert Attempt.objects.count() == 1
    assert second.kind == "budget" and second.key != first.key


def test_a_plan_that_rests_before_its_end_by_itself_counts_until_it_goes_on():
    c = failing()
    actions.skip_subtask(plan_of(c), "s1", "alice")
    assert statuses_of([plan_of(c).pk])[plan_of(c).pk].word == "Waiting for you to go on"
    assert plan_snapshot(plan_of(c)).attention == "halted"
    assert kinds() == ["halted"]
    actions.run_plan(plan_of(c), "alice")
    assert kinds() == []


def test_a_plan_that_was_stopped_does_not_count():
    c = approved_plan("One", "Two")
    actions.run_plan(plan_of(c), "alice")
    actions.stop_plan(plan_of(c), "alice")
    drive()
    assert kinds() == []


def test_a_proposal_of_a_hidden_alternative_does_not_count():
    c = proposed("One")
    scripted(say("No plan."))
    message = c.messages.filter(role="user").first()
    plan = plan_of(c)
    alternatives.send_edited(message, "just talk", "alice")
    drive()
    assert kinds() == []
    assert statuses_of([plan.pk])[plan.pk].word == "In another alternative"
    assert plan_snapshot(plan).standing == "In another alternative"
    assert (
        search.counts(search.search_plans(plan.conversation.owner_id, search.Query()))["waiting"]
        == 0
    )


def test_a_proposal_in_whose_place_another_is_asked_for_does_not_count_meanwhile():
    c = proposed_plan("One")
    scripted(say("Which?"))
    tell(c, "/plan something else")
    assert kinds() == ["unanswered"]


def test_what_waits_for_somebody_else_does_not_exist():
    proposed_plan("One")
    plain()
    assert len(kinds()) == 2
    assert kinds("bob") == []


def test_looking_takes_six_queries(django_assert_num_queries):
    proposed_plan("One")
    plain()
    alice = person("alice").pk
    needs_of(alice)
    with django_assert_num_queries(6):
        needs_of(alice)


def test_what_rests_in_an_archived_conversation_does_not_count_and_what_asks_there_does():
    rests, asks = proposed_plan("One"), plain()
    Conversation.objects.filter(pk__in=(rests.pk, asks.pk)).update(archived_at=timezone.now())
    assert kinds() == ["approval"]


def test_nothing_of_a_deleted_conversation_counts_until_it_is_taken_back():
    c = proposed_plan("One")
    delete_conversation(c, "alice")
    assert kinds() == []
    restore_conversation(person("alice"), c.pk, "alice")
    assert kinds() == ["start"]


def test_on_sqlite_it_begins_at_the_few_rows_that_are_open():
    if connection.vendor != "sqlite":
        return
    for query, index in ((asking_calls, "open_turns"), (resting_plans, "open_plans")):
        sql, values, _ = query.compiled
        given = [value if isinstance(value, str | int) else 1 for value in values]
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}", given)
            first = cursor.fetchall()[0][-1]
        assert f"USING INDEX {index}" in first


def test_a_plan_asked_for_and_answered_in_words_alone_waits_until_it_is_answered():
    c = conversation()
    scripted(say("Which folder?"), say("And which files?"), *[say("ok")] * 3)
    said(c, "/plan tidy up", "alice")
    assert kinds() == []
    drive()
    [first] = needs_of(person("alice").pk)
    assert (first.kind, first.conversation) == ("unanswered", c.pk)
    said(c, "docs", "alice")
    assert kinds() == []
    drive()
    [again] = needs_of(person("alice").pk)
    assert again.key != first.key
    actions.cancel_request(c, "alice")
    assert kinds() == []
