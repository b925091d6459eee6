"""What notifications say: what waits or has ended, once, in words that give nothing away."""

import pytest

from agents.models import Preferences, ToolCall
from plans import actions
from tests.console.test_pending_approvals import by_a_helper, plain
from tests.fake_model import call, say
from tests.inner import agent_name, notices_of, preferences_of, set_preferences, waiting_for
from tests.plans.test_needs import failing
from tests.plans.test_subplans import END, PLANNED, done, story
from tests.world import (
    HTMX,
    approved,
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


def told(name="alice"):
    user = person(name)
    chosen = preferences_of(user.pk)
    found = notices_of(user, chosen, waiting_for(user.pk, chosen).keys)
    ended = [notice.key for notice in found if notice.key.startswith(("done-", "reply-"))]
    assert [notice.key for notice in found if not notice.is_need] == ended, "what makes no sound"
    return [(notice.title, notice.body) for notice in found]


def test_a_call_that_asks_names_its_tool_and_no_argument():
    c = plain()
    assert told() == [
        (f"{agent_name(c.agent_id)} waits for you", "write it: may it use write_file?")
    ]


def test_a_shell_command_is_not_shown():
    plain()
    ToolCall.objects.update(tool="shell", arguments={"command": "rm -rf build"})
    [(_, body)] = told()
    assert body == "write it: may it run a shell command?"


def test_a_question_is_told_in_its_words():
    c, _ = story(
        [*PLANNED, call("ask_user", question="Which half?"), done(), done(), say("ok")], END
    )
    tell(c, "go")
    [(title, body)] = told()
    assert title.endswith(" asks") and body.endswith(": “Which half?”")


def test_a_proposal_of_the_agent_is_told_and_ones_own_change_is_not():
    c = proposed("One", "Two")
    assert told() == [("A plan waits for your start", "Tidy the docs, 2 subtasks")]
    actions.update_subtask(plan_of(c), "s1", {"name": "Uno"}, "alice")
    assert told() == []


def test_a_failure_says_where_and_after_how_many_attempts():
    failing()
    assert told() == [("Tidy the docs failed", "Subtask 1, One, after 1 attempt")]


def finished():
    c = approved("One", "Two")
    scripted(call("finish_subtask", outcome="Did it."), call("finish_subtask", outcome="Too."))
    actions.run_plan(plan_of(c), "alice")
    drive()
    return c


def test_a_finished_plan_is_told_with_what_was_left_out():
    finished()
    [(title, body)] = told()
    assert title == "Tidy the docs is finished" and body.startswith("2 by word, 0:0")


def test_a_document_that_one_approved_oneself_is_not_told():
    c = conversation()
    scripted(call("create_plan", title="A letter", content="Dear all", subtasks=[]), say("Here."))
    tell(c, "/plan write a letter")
    actions.approve_plan(plan_of(c), 1, "alice")
    assert told() == []


def test_a_reply_is_told_only_if_that_was_asked_for():
    c = conversation(plan={"enabled": False})
    scripted(say("Hello."))
    tell(c, "hi")
    assert told() == []
    set_preferences(person("alice"), tells_replies=True)
    assert told() == [(f"{agent_name(c.agent_id)} has answered", "hi")]


def test_a_kind_that_was_switched_off_is_not_told():
    failing()
    plain()
    finished()
    off = {"tells_needs": False, "tells_failed": False, "tells_finished": False}
    set_preferences(person("alice"), **off)
    assert told() == []


def test_nobody_is_told_of_anothers(alice):
    by_a_helper()
    key = waiting_for(person("alice").pk, Preferences()).keys[0]
    assert alice.get(f"/needs/notices?key={key}").json()["notices"]
    assert signed_in(person("bob")).get(f"/needs/notices?key={key}").json() == {"notices": []}
    assert alice.get("/needs/notices?key=done-x&key=nonsense-1").json() == {"notices": []}


def test_hidden_signs_in_a_question_are_named_and_a_long_one_is_cut():
    asked = "a\u202eb " + "long " * 100
    c, _ = story([*PLANNED, call("ask_user", question=asked), done(), done(), say("ok")], END)
    tell(c, "go")
    [(_, body)] = told()
    assert "\u202e" not in body and len(body) == 140 and body.endswith("…")


def test_the_switches_are_kept_and_the_title_follows(alice):
    page = alice.get("/settings/notifications/").content.decode()
    assert page.count('role="switch"') == 7 and page.count("checked") >= 4
    answer = alice.post("/settings/notifications/set", {"tells_failed": "on"}, headers=HTMX)
    assert "Saved." in answer.content.decode() and "data-in-title" not in answer.content.decode()
    now = preferences_of(person("alice").pk)
    assert (now.tells_failed, now.tells_needs, now.counts_in_title) == (True, False, False)
    assert now.lists_keys, "what other pages set stays"
