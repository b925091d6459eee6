"""One word says how a plan stands, the same in every place."""

import re
from io import StringIO
from itertools import product

import pytest
from django.core.management import call_command
from django.test import Client

from agents.models import Conversation, ToolCall, Turn
from plans import actions
from plans.models import Attempt, Plan, Run
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import (
    as_markdown,
    checklist,
    decide_call,
    describe_plan,
    local_owner,
    plan_snapshot,
    search,
    waits_for,
)
from tests.inner import handle_message as said_by_person
from tests.inner import persistence_add_message as add_message
from tests.markup import flat
from tests.plans.test_subplans import PLANNED, story
from tests.world import conversation, drive, plan_of, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

GROUPS = {
    "Failed": "failed",
    "Waiting for you": "waiting",
    "Waiting for your answer": "waiting",
    "Budget used up": "waiting",
    "A check could not be run": "waiting",
    "No longer true": "waiting",
    "Waiting for you to start it": "waiting",
    "Running": "running",
    "Pausing": "running",
    "Stopping": "running",
    "Paused": "paused",
    "Ready to start": "stopped",
    "Stopped": "stopped",
    "Waiting for you to go on": "waiting",
    "Finished": "done",
}


def words_of(plan, client):
    """What each place says, by the place."""
    page = flat(client.get(f"/c/{plan.conversation_id}/").content.decode())
    found = flat(client.get("/plans/").content.decode())
    own = flat(client.get(f"/plans/{plan.pk}/").content.decode())
    printed = StringIO()
    call_command("plan", "list", stdout=printed)
    [row] = search.rows_of([plan.pk])
    said = text_of(page, r'id="plan-head".*?<p class="status-label"[^>]*>(.*?)</p>')
    return {
        "drawer": said,
        "card": text_of(
            page, r'data-kind="plan".*?<span class="status-label"[^>]*>(.*?)</span>\s*<'
        ),
        "sidebar": re.search(rf'id="conversation-{plan.conversation_id}".*?</a>', page, re.S)[0],
        "another page's sidebar": found,
        "button": re.search(r'aria-controls="plan" aria-label="([^"]*)"', page)[1],
        "list": text_of(found, r'<td><span class="status-label"[^>]*>(.*?)</td>'),
        "page": text_of(own, r'class="plan-head">.*?<p class="status-label"[^>]*>(.*?)</p>'),
        "status": text_of(page, r'id="status"[^>]*>(.*?)</p>'),
        "command": printed.getvalue(),
        "export": as_markdown(plan),
        "row": row.status.word,
        "/plan alone": describe_plan(plan.conversation),
        "the model's tools": "" if plan.is_open else waits_for(plan),
    }


def text_of(page, pattern):
    found = re.search(pattern, page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", found[1]).split()) if found else ""


@pytest.fixture
def owner():
    client = Client()
    client.force_login(local_owner())
    return client


def says_the_same(plan, client):
    plan.refresh_from_db()
    Conversation.objects.filter(pk=plan.conversation_id).update(owner=local_owner())
    word = plan_snapshot(plan).standing
    said = words_of(plan, client)
    silent = {"sidebar", "another page's sidebar"} if plan.state == "abandoned" else set()
    silent |= {"the model's tools"} if plan.is_open else set()
    for place, text in said.items():
        assert place in silent or word.casefold() in text.casefold(), (place, word, text[-300:])
    for place in ("drawer", "card", "page"):
        assert said[place].startswith(word), (place, word, said[place])
    assert said["list"] == said["row"] == word
    return word


def standing(plan):
    plan.refresh_from_db()
    return plan_snapshot(plan).standing


def ask(plan):
    """A question of an attempt at its last subtask; gives the turn that waits."""
    turn = Turn.objects.create(
        conversation=plan.conversation,
        lane="run",
        kind="subtask",
        state="waiting",
        waiting_for="question",
        plan=plan.pk,
    )
    Attempt.objects.create(subtask=checklist(plan).last(), number=9, version=1, turn=turn)
    add_message(turn, "assistant", "question", "Which?")
    return turn.pk


APPROVED = {"never": None, "now": 2, "before": 1}
TABLE = [
    *product(["todo"], ["idle"], [""], APPROVED),
    *product(["in_progress"], [run for run in Run.values if run != "paused"], [""], APPROVED),
    *product(["in_progress"], ["paused"], Plan.PauseReason.values, ["now", "before"]),
    *product(["done"], ["idle"], [""], APPROVED),
    *product(["abandoned"], ["idle", "stopping"], [""], APPROVED),
]


@pytest.mark.parametrize("tried", ["untried", "failed"])
def test_every_combination_reads_the_same_in_every_place(owner, tried):
    """In every place for each word once; nightly for each combination. In the row for each here."""
    reads_the_same(owner, tried, once=True)


def reads_the_same(owner, tried, once):
    """Where an attempt changes nothing, the pages of the untried plan have shown it already."""
    plan, untried = plan_of(proposed_plan("Read", "Write")), plan_of(proposed_plan("Read", "Write"))
    if tried != "untried":
        turn = Turn.objects.create(conversation=plan.conversation, lane="run", state="failed")
        error = "No disk." if tried == "failed" else ""
        first = plan.subtasks.get(key="s1")
        Attempt.objects.create(subtask=first, number=1, version=1, turn=turn, error=error)
    seen = set()
    for state, run, reason, approved in TABLE:
        now = {"state": state, "run": run, "pause_reason": reason}
        both = Plan.objects.filter(pk__in=(plan.pk, untried.pk))
        both.update(**now, version=2, approved_version=APPROVED[approved])
        asking = [ask(each) for each in both if reason == "question" and run == "paused"]
        word = standing(plan)
        is_as_untried = tried != "untried" and word == standing(untried)
        if not is_as_untried and not (once and word in seen):
            assert says_the_same(plan, owner) == word
        [row] = search.rows_of([plan.pk])
        assert row.status.word == word
        counted = search.counts(Plan.objects.filter(pk=plan.pk))
        group = next(name for name, n in counted.items() if n)
        assert group == GROUPS.get(word, "abandoned"), (now, approved, word)
        seen.add(word)
        Turn.objects.filter(pk__in=asking).delete()
    assert {"Waiting for you to start it", "Running", "Paused", "Finished"} <= seen


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("cancelled", "Cancelled"),
        ("superseded", "Replaced"),
        ("cleared", "Cleared"),
        ("", "Abandoned"),
        ("skipped", "Abandoned"),
    ],
)
@pytest.mark.sampled(3)
def test_how_it_ended_is_the_same_word_everywhere(owner, reason, word):
    plan = plan_of(proposed_plan("Read"))
    Plan.objects.update(state="abandoned", reason=reason)
    assert says_the_same(plan, owner) == word


def test_approved_without_running_is_ready_to_start(owner):
    plan = plan_of(proposed_plan("Read"))
    actions.approve_plan(plan, 1, "alice", run="no")
    assert says_the_same(plan, owner) == "Ready to start"


@pytest.mark.parametrize(
    ("mode", "then", "word", "button"),
    [
        ("next", None, "Waiting for you to go on", "Go on"),
        ("next", "stopped on the way", "Stopped", "Start again"),
        ("all", "stopped on the way", "Stopped", "Start again"),
    ],
)
def test_how_the_last_run_ended_reads_the_same_in_every_place(owner, mode, then, word, button):
    plan = plan_of(proposed_plan("Read", "Write", "Check"))
    actions.approve_plan(plan, 1, "alice", run="next")
    scripted(call("finish_subtask", outcome="done"))
    drive()
    if then:
        actions.run_plan(plan, "alice", mode)
        assert says_the_same(plan, owner) == "Running"
        actions.stop_plan(plan, "alice")
        drive()
    assert says_the_same(plan, owner) == word
    page = flat(owner.get(f"/c/{plan.conversation_id}/").content.decode())
    assert f"{button}</button>" in page


def test_a_call_that_asks_reads_the_same_in_every_place(owner):
    c = proposed_plan("Write", tools={"write_file": "ask"})
    scripted(call("write_file", path="a.txt", content="a"))
    tell(c, "go")
    assert says_the_same(plan_of(c), owner) == "Waiting for you"


@pytest.mark.parametrize("decision", ["allow_once", "always", "deny"])
def test_a_call_that_was_decided_goes_on_before_any_worker_takes_it(owner, decision):
    c = proposed_plan("Write", tools={"write_file": "ask"})
    scripted(call("write_file", path="a.txt", content="a"))
    tell(c, "go")
    decide_call(ToolCall.objects.get(state="asked"), decision, "alice")
    assert says_the_same(plan_of(c), owner) == "Running"


@pytest.mark.parametrize(
    ("asks", "word"),
    [
        (call("write_file", path="a.txt", content="a"), "Waiting for you"),
        (call("ask_user", question="Which?"), "Waiting for your answer"),
    ],
)
def test_what_a_helper_asks_reads_the_same_in_every_place(owner, asks, word):
    c, _ = story([*PLANNED, asks], [], tools={"write_file": "ask"})
    tell(c, "go")
    assert says_the_same(plan_of(c), owner) == word


def test_a_plan_that_was_given_up_has_settled_what_was_done_and_what_was_left_out(owner):
    c = proposed_plan("Read", "Write", "Check")
    scripted(call("finish_subtask", outcome="done"), call("fail_subtask", error="no"), say("?"))
    tell(c, "go")
    actions.cancel_plan(plan_of(c), "alice", reason="superseded")
    [row] = search.rows_of([plan_of(c).pk])
    assert (row.settled, row.total) == (3, 3)
    progress = plan_snapshot(plan_of(c)).progress
    assert (progress.done, progress.abandoned, progress.total) == (1, 2, 3)
    assert not ToolCall.objects.filter(state="asked").exists()


@pytest.mark.parametrize("beside", ["nothing", "a paused plan"])
def test_an_asking_that_was_answered_in_words_waits_for_the_person_in_every_place(owner, beside):
    c = conversation()
    if beside == "a paused plan":
        c = proposed_plan("Read", "Write")
        actions.approve_plan(plan_of(c), 1, "alice")
        actions.pause_plan(plan_of(c), "alice")
    Conversation.objects.filter(pk=c.pk).update(owner=local_owner())
    c.refresh_from_db()
    said_by_person(c, "/plan tidy up", local_owner().username)
    word = "Writing a plan"
    for _ in range(2):
        page = flat(owner.get(f"/c/{c.pk}/").content.decode())
        assert word in text_of(page, r'id="status"[^>]*>(.*?)</p>')
        assert word in text_of(page, r'id="plan-asked">(.*?)</p>')
        assert word in re.search(rf'id="conversation-{c.pk}".*?</a>', page, re.S)[0]
        assert word in re.search(rf'id="conversation-{c.pk}".*?</a>', listed(owner), re.S)[0]
        assert "Cancel planning" in page
        word = "Waits for your answer"
        scripted(say("Which docs do you mean?"))
        drive()
    assert 'class="spin"' not in re.search(r'<aside class="drawer".*?</aside>', page, re.S)[0]
    assert bool(re.search(r"Resume\s*</button>", page)) is (beside == "a paused plan")


def listed(client):
    return flat(client.get("/plans/").content.decode())
