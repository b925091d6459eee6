"""What the drawer offers of a run that failed, rests or has used up its budget."""

import re

import pytest
from django.utils import timezone

from agents.models import ToolCall
from plans import actions
from plans.models import Plan, Run, State
from tests.builders import proposed_plan
from tests.console.test_pages import HTMX, html
from tests.fake_model import call, calls, fails, say
from tests.inner import NO_RESULT, NOT_RUN, last_groups
from tests.world import (
    ALL_FILE_TOOLS,
    agent,
    calls_of,
    conversation,
    done,
    drive,
    files_of,
    news,
    on_page,
    plan_of,
    proposal,
    scripted,
    shown,
    states,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)

SKIP, REPLAN = 'data-opens="skip-dialog"', 'data-opens="replan-dialog"'


def verb(client, c, path, **values):
    return client.post(f"/c/{c.pk}/plan/{path}", {**on_page(c), **values}, headers=HTMX)


def drawer(client, c):
    return html(client.get(f"/c/{c.pk}/drawer", headers=HTMX))


def failed():
    """Its second subtask of three has failed."""
    c = proposed_plan("Read", "Write", "Check")
    scripted(done(), call("fail_subtask", error="The disk is full."))
    tell(c, "go")
    return c


def test_a_failed_subtask_can_be_retried_skipped_or_planned_anew_from_there(alice):
    page = drawer(alice, failed())
    assert 'aria-label="Retry subtask 2"' in page
    assert page.count('aria-label="Skip subtask 2"') == 1
    assert "Replan from here" in page
    assert page.count(REPLAN) == 2
    assert page.count(SKIP) == 1


def test_where_files_were_changed_a_retry_goes_on_from_there_or_from_a_clean_copy(alice, own_home):
    c = proposed_plan("Write", "Check", tools=ALL_FILE_TOOLS)
    scripted(call("write_file", path="a.txt", content="half"), call("fail_subtask", error="No."))
    tell(c, "go")
    page = drawer(alice, c)
    assert page.count('data-opens="retry-dialog"') == 1
    assert alice.get("/needs/").content.decode().count("From a clean copy") == 1
    scripted(done(), done(), say("ok"))
    verb(alice, c, "subtasks/s1/retry")
    assert (files_of(c) / "a.txt").exists()
    c = proposed_plan("Write", "Check", tools=ALL_FILE_TOOLS)
    scripted(call("write_file", path="b.txt", content="half"), call("fail_subtask", error="No."))
    tell(c, "go")
    verb(alice, c, "subtasks/s1/retry", clean="1")
    assert not (files_of(c) / "b.txt").exists()
    assert Plan.objects.get(conversation=c).run == Run.QUEUED


@pytest.mark.parametrize("run", [Run.QUEUED, Run.RUNNING, Run.PAUSING, Run.STOPPING])
def test_between_two_attempts_nothing_is_offered_that_the_run_would_refuse(alice, run):
    c = failed()
    Plan.objects.filter(conversation=c).update(run=run)
    page = drawer(alice, c)
    assert "The disk is full." in page
    assert "Retry subtask 2" not in page
    assert "Replan from here" not in page


NOT_THERE = 5  # times in a row the model does not answer before the attempt has failed


def held_between_attempts(settings, *names):
    """The model was not to be had for the first subtask; another attempt waits for its time."""
    c = proposed_plan(*names or ("Read", "Write"), plan={"enabled": True, "max_attempts": 3})
    scripted(*[fails(503, retry_after=0)] * NOT_THERE)
    settings.MODEL_RETRY_BASE = 100
    tell(c, "go")
    plan = shown(c)
    first = plan["subtasks"][0]
    assert (plan["run"], first["state"], first["failed"]) == ("queued", "todo", True)
    assert plan["retry_at"] is not None
    return c


def test_between_two_attempts_the_next_one_is_counted_down_and_can_be_had_now(alice, settings):
    c = held_between_attempts(settings)
    page = drawer(alice, c)
    assert page.count(f'data-until="{shown(c)["retry_at"]}"') == 1
    assert page.count('aria-label="Retry now, subtask 1"') == 1
    assert page.count(SKIP) == 1
    scripted(done(), done(), say("ok"))
    answer = html(verb(alice, c, "subtasks/s1/retry"))
    assert "Next try in" not in answer
    drive()
    assert states(c) == ["done", "done"]
    assert plan_of(c).state == State.DONE


def test_a_subtask_is_skipped_between_two_attempts_and_the_next_begins_at_once(alice, settings):
    c = held_between_attempts(settings)
    scripted(done(), say("ok"))
    assert verb(alice, c, "subtasks/s1/skip").status_code == 200
    assert shown(c)["retry_at"] is None
    drive()
    assert states(c) == ["abandoned", "done"]


def test_skipping_a_later_subtask_leaves_the_wait_as_it_is(alice, settings):
    c = held_between_attempts(settings)
    before = shown(c)["retry_at"]
    verb(alice, c, "subtasks/s2/skip")
    assert shown(c)["retry_at"] == before


def test_the_only_subtask_is_skipped_between_two_attempts_and_the_plan_ends(alice, settings):
    c = held_between_attempts(settings, "Read")
    scripted(say("Nothing was done."))
    verb(alice, c, "subtasks/s1/skip")
    drive()
    assert plan_of(c).state == State.ABANDONED


def test_within_an_attempt_the_card_alone_offers_the_next_try(alice, settings):
    settings.MODEL_RETRY_BASE = 100
    c = proposed_plan("Read")
    scripted(fails(503))
    tell(c, "go")
    page = drawer(alice, c)
    assert page.count("Next try in") == 1
    assert "Retry now, subtask 1" not in page
    assert verb(alice, c, "subtasks/s1/retry").status_code == 409


def heads(c):
    """The thread's headings of the subtask that failed: the shape and what is said beside it."""
    c.refresh_from_db()
    groups = [group for group in last_groups(c)[0] if group.subtask and group.subtask.key == "s2"]
    return [(group.shape, group.note) for group in groups]


def test_a_failed_attempt_keeps_its_error_when_its_subtask_is_skipped(alice):
    c = failed()
    scripted(call("fail_subtask", error="Still full."))
    verb(alice, c, "subtasks/s2/retry")
    drive()
    assert heads(c) == [("failed", "The disk is full."), ("failed", "Still full.")]
    verb(alice, c, "subtasks/s2/skip", reason="there is a copy")
    skipped = ("abandoned", "Still full. · Skipped by you: there is a copy")
    assert heads(c) == [("abandoned", "The disk is full."), skipped], (
        "it is settled: nothing is red"
    )


def names_of_heads(client, c):
    page = html(client.get(f"/c/{c.pk}/"))
    return re.findall(r'<summary id="turn-\d+-head".*?</span>([^<]*)</b>', page)


def test_an_attempt_keeps_the_name_its_subtask_had_when_it_was_tried(alice):
    c = failed()
    verb(alice, c, "subtasks/s2/edit", name="Write less")
    assert names_of_heads(alice, c) == ["Read", "Write"]
    scripted(call("fail_subtask", error="Still full."))
    tell(c, "go")
    actions.update_subtask(plan_of(c), "s2", {"name": "Write nothing"}, "alice")
    assert names_of_heads(alice, c) == ["Read", "Write", "Write less"]


def test_a_stopped_attempt_keeps_its_name_and_a_removed_subtask_its_own(alice):
    c = proposed_plan("Read", "Write", tools={"write_file": "ask"})
    scripted(call("write_file", path="a", content="x"))
    tell(c, "go")
    verb(alice, c, "stop")
    actions.update_subtask(plan_of(c), "s1", {"name": "Read less"}, "alice")
    assert names_of_heads(alice, c) == ["Read"]
    actions.remove_subtask(plan_of(c), "s1", "alice")
    page = html(alice.get(f"/c/{c.pk}/"))
    assert re.findall(r'<summary id="turn-\d+-head".*?<b>([^<]*)</b>', page) == ["Read"]


def test_a_failed_attempt_keeps_its_error_when_the_plan_is_cancelled(alice):
    c = failed()
    actions.cancel_plan(plan_of(c), "alice")
    assert heads(c) == [("abandoned", "The disk is full. · Cancelled with the plan")]


def test_skipping_says_why_and_the_rest_can_go_on(alice):
    c = failed()
    verb(alice, c, "subtasks/s2/skip", reason="there is  a copy")
    page = news(alice, c)
    assert "Skipped by you: there is a copy" in page
    assert 'aria-label="Skip subtask 3"' in page, "the next one, while the run rests"
    scripted(done(), say("All read."))
    verb(alice, c, "again")
    drive()
    assert states(c) == ["done", "abandoned", "done"]
    assert plan_of(c).state == State.DONE


def test_nothing_is_skipped_before_the_plan_has_started(alice):
    assert SKIP not in drawer(alice, proposed_plan("Read", "Write"))


def test_a_refused_skip_is_told_in_its_dialog(alice):
    answer = verb(alice, failed(), "subtasks/s1/skip")
    assert answer.status_code == 409
    assert "#skip-alert" in html(answer)
    assert "s1 is done, not waiting to be done." in html(answer)


def test_replan_asks_the_planner_with_the_hint_and_waits_for_a_yes(alice):
    c = failed()
    verb(alice, c, "replan", hint="  Do it on paper. ")
    assert "It is being replanned" in news(alice, c)
    assert texts(c, role="user")[-1] == ("Replan the rest, from subtask 2 on. Do it on paper.")
    fresh = call("revise_current_plan", subtasks=[{"name": "Fetch paper"}], explanation="Paper.")
    scripted(fresh, say("Here."))
    drive()
    names = [each["name"] for each in shown(c)["subtasks"]]
    assert names == ["Read", "Fetch paper"]
    assert "Start v2" in drawer(alice, c)


def test_replan_from_here_keeps_what_comes_before(alice):
    c = failed()
    verb(alice, c, "subtasks/s3/replan")
    assert texts(c, role="user")[-1] == "Replan the rest, from subtask 3 on."
    assert verb(alice, c, "subtasks/s9/replan").status_code == 404


def test_nothing_left_is_told_in_the_dialog(alice):
    c = proposed_plan("Read")
    scripted(done(), say("All read."))
    tell(c, "go")
    answer = verb(alice, c, "replan")
    assert answer.status_code == 409
    assert "#replan-alert" in html(answer)


def halted(budget):
    """Its budget is used up by the first subtask of three."""
    c = proposed_plan("Read", "Write", "Check", budget=budget)
    scripted(done(usage=[900, 200]), done(usage=[900, 200]), done(), say("All read."))
    tell(c, "go")
    return c


def test_a_used_up_budget_says_which_limit_and_offers_twice_as_much(alice):
    page = drawer(alice, halted({"tokens": 1000, "model_calls": 50}))
    assert "1,100 of 1,000 tokens are used up<" in page
    assert "New limit in tokens" in page
    assert 'value="2000"' in page
    assert "New limit in model calls" not in page
    assert "Raise and continue" in page
    assert ">Resume<" not in page, "a resume alone would not go on"


def test_the_offer_is_always_enough_to_go_on(alice):
    page = drawer(alice, halted({"tokens": 300}))
    assert 'value="1200"' in page


def test_raising_the_budget_goes_on_to_the_end(alice):
    c = halted({"tokens": 1000})
    page = html(verb(alice, c, "raise", tokens="9000"))
    assert "Raise and continue" not in page
    drive()
    assert plan_of(c).state == State.DONE
    assert plan_of(c).budget == {"tokens": 9000}


def test_a_limit_that_is_too_low_or_no_number_changes_nothing(alice):
    c = halted({"tokens": 1000})
    for typed, said in [
        ("1050", "That is not enough: 1,100 of 1,050 tokens are used up."),
        ("nan", "A budget is a positive number"),
        ("-3", "A budget is a positive number"),
    ]:
        answer = verb(alice, c, "raise", tokens=typed)
        assert answer.status_code == 422
        assert said in html(answer)
    assert plan_of(c).budget == {"tokens": 1000}
    assert plan_of(c).run == "paused"


def delegated(*helper_replies, **helper_file):
    """Its one subtask is handed to a helper, which plans two of its own; gives both names too."""
    helper = agent(instructions="I am helper", name="Helper", **helper_file)
    c = proposed_plan("Delegate", tools={f"run_agent:{helper}": "allow"}, instructions="I am boss")
    plan = proposal("Half one", "Half two", title="The helper's half")
    scripts = {
        "I am boss": [
            call("run_agent", agent=helper, task="Tidy your half."),
            done(),
            say("All is tidy."),
        ],
        "I am helper": [plan, say("I will."), *helper_replies],
    }
    scripted(lambda request: answer_from(scripts, request))
    tell(c, "go")
    return c


def answer_from(scripts, request):
    system = request["messages"][0]["content"]
    return next(replies.pop(0) for name, replies in scripts.items() if name in system)


def page_of(client, c):
    return html(client.get(f"/c/{c.pk}/"))


WRITE = call("write_file", path="a.txt", content="a")
ASKS = {"tools": {"write_file": "ask"}}


def test_a_nested_plan_is_shown_below_its_subtask_while_it_is_waited_for(alice):
    c = delegated(done(), call("ask_user", question="Which half?"))
    page = drawer(alice, c)
    child = Plan.objects.get(conversation__parent_call__isnull=False)
    assert f'<a class="link" href="/plans/{child.pk}/">The helper&#x27;s half</a>, 1 of 2' in page
    assert 'aria-valuetext="1 of 2 · 1 by word"' in page
    assert "Waiting for Helper" in page
    assert html(alice.get(f"/plans/{child.pk}/")).count("The helper&#x27;s half")


def test_a_settled_subtask_still_shows_its_nested_plan(alice):
    c = delegated(done(), done(), say("ok"))
    page = drawer(alice, c)
    assert plan_of(c).state == State.DONE
    assert 'aria-valuetext="2 of 2 · 2 by word"' in page
    assert "Waiting for" not in page


def test_an_approval_of_a_called_agent_is_asked_where_the_person_is(alice):
    c = delegated(WRITE, done(), done(), say("ok"), **ASKS)
    made = ToolCall.objects.get(tool="write_file")
    page = page_of(alice, c)
    assert f'id="approval-{made.pk}"' in page
    assert "Helper asks. It works for " in page
    assert "covers exactly this call, whole, for Helper." in page
    assert f'hx-post="/c/{c.pk}/calls/{made.pk}/decide"' in page


def test_after_the_decision_it_is_a_row_with_its_tag(alice):
    c = delegated(WRITE, done(), done(), say("ok"), **ASKS)
    made = ToolCall.objects.get(tool="write_file")
    c.refresh_from_db()
    decision = {"decision": "allow_once"}
    named = alice.post(f"/c/{c.pk}/calls/{made.pk}/decide", decision, headers=HTMX)["Planside-Seq"]
    assert int(named) > c.seq, "the page asks for what it does not show"
    answer = news(alice, c, after=c.seq)
    assert f'id="call-{made.pk}"' in answer
    assert "allowed once" in answer
    assert f'id="approval-{made.pk}"' not in answer
    drive()
    assert plan_of(c).state == State.DONE
    assert "Succeeded" in page_of(alice, c)


def test_a_call_below_another_conversation_is_not_decided_here(alice):
    delegated(WRITE, done(), done(), say("ok"), **ASKS)
    made = ToolCall.objects.get(tool="write_file")
    other = conversation()
    answer = alice.post(
        f"/c/{other.pk}/calls/{made.pk}/decide", {"decision": "allow_once"}, headers=HTMX
    )
    assert answer.status_code == 404
    made.refresh_from_db()
    assert made.decision == ""


def said_of_calls(client, c):
    """How each call of the conversation reads, by its tool's first argument."""
    page = html(client.get(f"/c/{c.pk}/"))
    rows = re.findall(r'class="mono truncate">([^<]*)<.*?class="meta">([^<]*)<', page)
    return dict(rows)


@pytest.mark.parametrize("lane", ["plan", "reply"])
def test_a_call_that_was_never_allowed_was_not_run_when_it_was_stopped(alice, lane):
    asks = {"write_file": "ask"}
    c = proposed_plan("Write", tools=asks) if lane == "plan" else conversation(tools=asks)
    scripted(calls(*(call("write_file", path=path, content="x") for path in ("a", "b"))))
    tell(c, "go")
    if lane == "plan":
        verb(alice, c, "stop")
    else:
        alice.post(f"/c/{c.pk}/stop", {"text": ""}, headers=HTMX)
    drive()
    assert said_of_calls(alice, c) == {"a": "Not run", "b": "Not run"}
    assert {each.result for each in calls_of(c, "write_file")} == {NOT_RUN}


def test_a_call_that_was_running_is_interrupted_when_its_turn_ends(alice):
    c = proposed_plan("Write", tools={"write_file": "ask"})
    scripted(call("write_file", path="a", content="x"))
    tell(c, "go")
    ToolCall.objects.filter(tool="write_file").update(state="running", started_at=timezone.now())
    verb(alice, c, "stop")
    drive()
    assert said_of_calls(alice, c) == {"a": "Interrupted"}
    assert calls_of(c, "write_file")[0].result == NO_RESULT
