"""What waits for a person is seen from everywhere: the list, the status and the tab's title."""

import pytest

from agents.models import ToolCall
from tests.fake_model import call, say
from tests.inner import NEEDS_ME, Query, grouped, in_groups, search_plans
from tests.inner import agents_actions as talk
from tests.inner import conversation_state_read_state as read_state
from tests.plans.test_subplans import END, PLANNED, done, story
from tests.world import agent, conversation, drive, person, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

WRITE = call("write_file", path="a.txt", content="a")


def row(c):
    groups = grouped(person("alice"), [], by_date=True, current=None)
    return next(each.shape for group in groups for each in group.rows if each.pk == c.pk)


def needs_me():
    return set(in_groups(search_plans(person("alice").pk, Query()), NEEDS_ME))


def plain():
    """An ordinary chat whose call asks first."""
    c = conversation(tools={"write_file": "ask"}, plan={"enabled": False})
    scripted(WRITE, say("Written."))
    tell(c, "write it")
    return c


def by_a_helper():
    """An ordinary chat in which another agent's call asks first."""
    helper = agent(tools={"write_file": "ask"}, instructions="I am helper", plan={"enabled": False})
    c = conversation(
        tools={f"run_agent:{helper}": "allow"}, plan={"enabled": False}, instructions="I am boss"
    )
    script = {
        "I am boss": [call("run_agent", agent=helper, task="Write it."), say("It is written.")],
        "I am helper": [WRITE, say("Done.")],
    }
    scripted(
        lambda request: next(
            replies.pop(0)
            for name, replies in script.items()
            if name in request["messages"][0]["content"]
        )
    )
    tell(c, "have it written")
    return c


@pytest.mark.parametrize("begin", [plain, by_a_helper])
def test_a_question_of_a_tool_in_an_ordinary_chat_is_seen_from_everywhere(begin):
    c = begin()
    now = read_state(c.pk)
    assert now.needs_you
    assert now.status == "Needs you: Waiting for you: write_file"
    assert now.row_mark[0] == row(c) == "waiting"
    talk.decide_call(ToolCall.objects.get(tool="write_file"), "allow_once", "alice")
    drive()
    assert not read_state(c.pk).needs_you
    assert row(c) == ""


@pytest.mark.parametrize(
    ("ask", "allowed", "words", "shape"),
    [
        (WRITE, {"write_file": "ask"}, "Waiting for you: write_file", "waiting"),
        (call("ask_user", question="Which half?"), {}, "Waiting for your answer", "question"),
    ],
)
def test_what_an_agent_asks_that_works_for_a_plan_is_seen_from_everywhere(
    ask, allowed, words, shape
):
    c, _ = story([*PLANNED, ask, done(), done(), say("ok")], END, tools=allowed)
    tell(c, "go")
    now = read_state(c.pk)
    assert now.status == f"Needs you: {words}"
    assert (now.needs_you, row(c)) == (True, shape)
    assert {plan.conversation_id for plan in needs_me()} == {c.pk}


def test_the_list_is_drawn_anew_only_when_it_has_changed(client):
    client.force_login(person("alice"))
    elsewhere, _ = conversation(), plain()
    first = client.get(f"/sidebar?current={elsewhere.pk}")
    assert b"Waiting for you" in first.content
    again = client.get(f"/sidebar?current={elsewhere.pk}", headers={"If-None-Match": first["ETag"]})
    assert again.status_code == 304
    talk.decide_call(ToolCall.objects.get(tool="write_file"), "deny", "alice")
    changed = client.get(
        f"/sidebar?current={elsewhere.pk}", headers={"If-None-Match": first["ETag"]}
    )
    assert changed.status_code == 200 and b"Waiting for you" not in changed.content
