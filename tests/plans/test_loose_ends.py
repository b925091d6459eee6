"""What is told of a plan stands where somebody reads it, and is told once."""

import pytest
from django.utils import translation

from agents.models import Event, Message, ToolCall
from plans import actions
from plans.models import Plan
from tests.builders import done_plan, failed_plan, proposed_plan
from tests.fake_model import call, say
from tests.inner import create_plan
from tests.world import (
    agent,
    conversation,
    done,
    drive,
    news,
    person,
    plan_of,
    proposal,
    proposed,
    scripted,
    scripted_agents,
    shown,
    signed_in,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)


def asked_by_a_helper(**helper_file):
    """A plan whose only subtask is a helper's work, and the helper's script; not yet started."""
    helper = agent(instructions="I am helper", name="Helper", **helper_file)
    c = proposed("Delegate", tools={f"run_agent:{helper}": "allow"}, instructions="I am boss")
    plan = plan_of(c)
    work = call("run_agent", agent=helper, task=f"Do your half of plan {plan.pk}.")
    boss = [work, done("it is tidy"), say("All is tidy.")]
    return c, plan, boss


def test_a_called_agent_that_plans_first_reads_the_plan_it_works_for_by_its_number():
    c, plan, boss = asked_by_a_helper(tools={"get_plan": "allow"})
    read = [call("get_plan", plan=plan.pk), proposal("Half", title="Mine"), say("I will.")]
    scripted_agents({"I am boss": boss, "I am helper": [*read, done(), say("Both.")]})
    tell(c, "go")
    got = ToolCall.objects.get(tool="get_plan")
    assert got.state == "done" and f"Plan number {plan.pk}." in got.result


def test_a_called_agent_without_the_grant_reads_no_plan():
    c, plan, boss = asked_by_a_helper()
    read = [call("get_plan", plan=plan.pk), proposal("Half", title="Mine"), say("I will.")]
    scripted_agents({"I am boss": boss, "I am helper": [*read, done(), say("Both.")]})
    tell(c, "go")
    assert ToolCall.objects.get(tool="get_plan").state != "done"


def test_a_helpers_question_is_headed_by_its_name_and_names_the_plan():
    c, plan, boss = asked_by_a_helper()
    asks = [proposal("Half", title="Mine"), say("I will."), call("ask_user", question="Which?")]
    scripted_agents({"I am boss": boss, "I am helper": asks})
    tell(c, "go")
    alice = signed_in(person())
    assert "Helper asks" in news(alice, c)
    [need] = [n for n in alice.get("/api/needs").json()["items"] if n["kind"] == "question"]
    assert (need["plan"], need["title"]) == (plan.pk, plan.title)


def test_what_an_agent_says_of_the_plan_it_gives_up_is_kept_and_told_to_models():
    c = proposed_plan("Read")
    scripted(
        call("finish_plan", state="abandoned", outcome="The pages are gone."), say("It is gone.")
    )
    tell(c, "give it up")
    plan = Plan.objects.get(conversation=c)
    assert (plan.state, plan.outcome) == ("abandoned", "The pages are gone.")


def test_metadata_at_the_beginning_is_no_change_of_the_plan():
    plan = create_plan(conversation(), title="T", content="x", metadata={"a": {"b": 1, "c": None}})
    plan.refresh_from_db()
    assert plan.metadata == {"a": {"b": 1}}
    events = Event.objects.filter(subject=f"plan:{plan.pk}").values_list("type", flat=True)
    assert "plan.updated" not in events


def test_a_plan_whose_first_step_failed_has_begun():
    c = failed_plan("Read", "Write")
    assert shown(c)["state"] == "in_progress"


def test_the_api_tells_the_words_that_close_a_run_once():
    c = done_plan("Read", outcome="All is read, word for word.")
    items = signed_in(person()).get(f"/api/conversations/{c.pk}/messages").json()["items"]
    told = [each["text"] for each in items if "word for word" in each["text"]]
    assert told == ["All is read, word for word."]
    assert plan_of(c).outcome == "All is read, word for word."


def test_the_data_of_a_finish_stand_in_the_drawer_and_on_the_plans_page():
    c = proposed_plan("Count")
    actions.approve_plan(plan_of(c), 1, "alice")
    scripted(call("finish_subtask", outcome="Counted.", result={"pages": 12}), say("All."))
    drive()
    alice = signed_in(person())
    for page in (f"/c/{c.pk}/", f"/plans/{plan_of(c).pk}/"):
        assert "{&quot;pages&quot;: 12}" in alice.get(page).content.decode(), page


def test_that_comments_came_back_is_said_in_the_readers_language():
    c = proposed_plan("Read")
    actions.keep_comment(plan_of(c), "s1", "Less.", "alice")
    scripted(say("Hm."))
    actions.send_comments(plan_of(c), "alice")
    drive()
    notice = Message.objects.filter(conversation=c, kind="notice").last()
    assert notice.text.startswith("No new version came of your comment.")
    with translation.override("zh-hans"):
        assert Message.objects.get(pk=notice.pk).text != notice.text
