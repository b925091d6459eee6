"""A document, once approved, is in force: readable, in the prompt, changeable, until it is taken out."""

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from agents.actors import AGENT
from agents.errors import Conflict, Refused
from agents.models import Message, Turn
from plans import actions
from plans.models import Plan
from plans.schemas import PlanEdit, Revision, SubtaskDraft
from tests.builders import document_in_force, propose, propose_document, proposed_document
from tests.console import test_expected_version as doors
from tests.fake_model import call, calls, say
from tests.fake_script import texts_of
from tests.inner import (
    AGENT_TOOLS,
    Row,
    Situation,
    documents_in_force,
    documents_text,
    plan_snapshot,
    row_of,
)
from tests.inner import GATE_PLAN_TOOLS as PLAN_TOOLS
from tests.world import (
    agent,
    calls_of,
    conversation,
    done,
    drive,
    files_of,
    person,
    plan_of,
    proposal,
    scripted,
    scripted_agents,
    signed_in,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)

READS = {"get_plan", "revise_current_plan"}


@pytest.fixture
def alice():
    return signed_in(person("alice"))


def prompt_of(c):
    """What a model is told of the documents of this conversation."""
    return documents_text(documents_in_force.models(conversation=c.pk), 4000, reads_on=True)


def request_of(c, text="Write docs/undo.md."):
    """The first request of the answer to this: its system messages, and the tools it offers."""
    model = scripted(say("Written."))
    tell(c, text)
    request = model.requests[0]
    tools = {each["function"]["name"] for each in request.get("tools", ())}
    return texts_of(request["messages"], "system"), tools


def next_version(c, content="Say task."):
    plan = plan_of(c)
    return actions.edit_plan(plan, PlanEdit(content=content), "alice", plan.version)


# The gate


def test_a_document_in_force_opens_and_closes_nothing_for_tools():
    flags = ("asked", "open_plan", "confirmed", "live", "gated")
    for kind in ("chat", "plan", "subtask", "closing"):
        for given in product((False, True), repeat=len(flags)):
            without = Situation(kind, **dict(zip(flags, given, strict=True)))
            row, beside = row_of(without), row_of(replace(without, in_force=True))
            assert (beside == row) == (row != Row.NO_PLAN)
            assert AGENT_TOOLS.get(beside) == AGENT_TOOLS.get(row)
            assert {*PLAN_TOOLS[beside]} - {*PLAN_TOOLS[row]} <= READS


def test_a_message_beside_it_is_an_ordinary_message():
    c, plain = document_in_force(), conversation()
    _, tools = request_of(c)
    _, as_without = request_of(plain)
    assert tools - READS == as_without
    assert Turn.objects.filter(conversation=c).get().kind == "chat"
    scripted(call("write_file", path="a.md", content="job"), say("Written."))
    tell(c, "Write it.")
    assert (files_of(c) / "a.md").read_text() == "job"


def test_a_model_that_proposes_a_version_has_no_other_tool_from_then_on():
    c = document_in_force()
    harm = call("write_file", path="harm.txt", content="now")
    revision = call("revise_current_plan", content="Say task.")
    scripted(calls(revision, harm), say("It waits for you."))
    tell(c, "Say task there.")
    plan = plan_of(c)
    assert (plan.version, plan.approved_version, plan.state) == (2, 1, "todo")
    assert list(files_of(c).iterdir()) == []


@pytest.mark.parametrize(("path", "values", "_where"), doors.ALL)
def test_no_door_of_plans_does_anything_else_to_it(alice, path, values, _where):
    c = document_in_force()
    before = prompt_of(c)
    answer = doors.post(alice, c, path, values, doors.on_page(c))
    plan = plan_of(c)
    assert not Turn.objects.exclude(kind="chat").exists(), "nothing runs from it"
    assert not plan.subtasks.exists()
    if path == "take-out-of-force":
        assert (plan.state, prompt_of(c)) == ("abandoned", prompt_of(conversation()))
        return
    assert (plan.run, plan.approved_version, prompt_of(c)) == ("idle", 1, before)
    is_next = path == "edit"
    assert (plan.version, plan.state) == ((2, "todo") if is_next else (1, "done"))
    as_it_was = ("approve", "stop", "go-back", "revise")
    assert answer.status_code == 200 if is_next else path in as_it_was or answer.status_code > 400


# Verbs


def test_the_yes_puts_it_in_force_and_the_conversation_says_so():
    c = document_in_force()
    now = plan_snapshot(plan_of(c))
    assert (now.state, now.in_force, now.standing, now.attention) == (
        "done",
        True,
        "In force",
        "none",
    )
    line = Message.objects.get(conversation=c, kind="notice")
    assert (line.meta, line.text) == ({"closing": now.id, "in_force": 1}, "Approved as v1.")


def test_below_a_document_that_waits_stands_no_button_for_subtasks(alice):
    c = proposed_document()
    assert 'id="add-subtask"' not in alice.get(f"/c/{c.pk}/").content.decode()
    propose(c, "Read")
    assert 'id="add-subtask"' in alice.get(f"/c/{c.pk}/").content.decode()


def test_until_the_yes_to_the_next_version_the_approved_one_is_in_force():
    c = document_in_force()
    next_version(c)
    now = plan_snapshot(plan_of(c))
    assert (now.version, now.approved_version, now.in_force) == (2, 1, True)
    assert (now.standing, now.attention) == ("Waiting for you to approve it", "confirm")
    assert "Say job." in prompt_of(c) and "Say task." not in prompt_of(c)
    actions.approve_plan(plan_of(c), 2, "alice")
    assert "Say task." in prompt_of(c) and "Say job." not in prompt_of(c)


@pytest.mark.parametrize("by", [AGENT, "alice"])
@pytest.mark.parametrize("confirm", ["create", "never"])
def test_no_setting_puts_a_version_in_force_that_nobody_said_yes_to(confirm, by):
    c = document_in_force("Say job.", plan={"enabled": True, "confirm": confirm})
    actions.revise_plan(plan_of(c), Revision(content="Say task."), by)
    plan = plan_of(c)
    assert (plan.version, plan.approved_version, plan.state) == (2, 1, "todo")
    assert "Say job." in prompt_of(c) and "Say task." not in prompt_of(c)


@pytest.mark.parametrize(
    "give_up",
    [
        lambda c: actions.cancel_plan(plan_of(c), "alice"),
        lambda c: actions.clear(c, "alice"),
        lambda c: actions.end_open_plans(c, "alice"),
        lambda c: tell(c, "cancel"),
    ],
    ids=["cancelled", "cleared", "left", "cancelled in words"],
)
def test_a_version_that_is_given_up_leaves_the_approved_one_in_force(give_up):
    c = document_in_force()
    plan = next_version(c)
    give_up(c)
    plan.refresh_from_db()
    assert (plan.version, plan.approved_version, plan.state) == (1, 1, "done")
    assert (plan.content, plan.finished_at) == ("Say job.", plan.approved_at)
    assert "Say job." in prompt_of(c)
    with pytest.raises(Conflict, match="The plan is now v1; you saw v2"):
        actions.edit_plan(plan, PlanEdit(content="Say thing."), "alice", 2)
    third = actions.edit_plan(plan, PlanEdit(content="Say thing."), "alice", 1)
    assert (third.version, third.approved_version) == (3, 1), "no number is given out twice"


def test_taken_out_of_force_it_is_in_no_prompt_and_never_changes():
    c = document_in_force()
    plan = actions.take_out_of_force(plan_of(c), "alice", 1)
    assert (plan.state, plan_snapshot(plan).standing) == ("abandoned", "Out of force")
    system, tools = request_of(c)
    assert "Say job." not in system and not tools & READS
    for verb in (next_version, lambda c: actions.take_out_of_force(plan_of(c), "alice")):
        with pytest.raises(Conflict):
            verb(c)
    assert texts(c, "notice", "system")[-1] == "v1 is out of force."


def test_what_waits_goes_out_of_force_with_it():
    c = document_in_force()
    next_version(c)
    actions.take_out_of_force(plan_of(c), "alice", 2)
    assert not documents_in_force.models(conversation=c.pk)
    with pytest.raises(Conflict):
        actions.approve_plan(plan_of(c), 2, "alice")


def test_only_a_person_takes_it_out_of_force():
    c = document_in_force()
    with pytest.raises(Conflict, match="Only a person"):
        actions.take_out_of_force(plan_of(c), AGENT)
    scripted(call("finish_plan", state="abandoned"), say("It is gone."))
    tell(c, "Drop it.")
    next_version(c)
    scripted(call("finish_plan", state="abandoned"), call("finish_plan", outcome="x"), say("Hm."))
    tell(c, "Drop it.")
    assert "Say job." in prompt_of(c)
    assert plan_of(c).approved_version == 1


def test_a_model_cannot_finish_a_document_that_nobody_approved():
    c = proposed_document()
    scripted(call("finish_plan", outcome="It holds."), say("Hm."))
    tell(c, "What is this?")
    assert (plan_of(c).state, prompt_of(c)) == ("todo", prompt_of(conversation()))


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: actions.add_subtask(plan, SubtaskDraft(name="Read"), "alice"),
        lambda plan: actions.edit_plan(
            plan, PlanEdit.model_validate({"subtasks": [{"name": "Read"}]}), "alice", 1
        ),
        lambda plan: actions.revise_plan(
            plan, Revision.model_validate({"subtasks": [{"name": "Read"}]}), AGENT
        ),
    ],
)
def test_it_gets_no_subtasks(change):
    c = document_in_force()
    with pytest.raises(Refused, match="make a plan beside it"):
        change(plan_of(c))
    assert plan_of(c).version == 1


# What models read


def test_the_turn_after_the_yes_is_told_its_text_and_the_attempts_of_a_plan_beside_it_are():
    c = document_in_force("Say job.")
    system, _ = request_of(c)
    about = f"A document in force. Plan number {plan_of(c).pk}."
    assert f"Plan: House style (v1)\n{about}\nSay job." in system
    propose(c, "Read")
    model = scripted(call("finish_subtask", outcome="done"), call("finish_plan", outcome="all"))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    for request in model.requests:
        assert "Say job." in texts_of(request["messages"], "system")


def test_agents_that_are_called_are_told_what_is_in_force_where_the_person_is():
    long = "A rule of the house. " * 2_000
    deeper = agent(instructions="I am deeper", plan={"enabled": False})
    helper = agent(instructions="I am helper", tools={f"run_agent:{deeper}": "allow"})
    tools = {f"run_agent:{helper}": "allow"}
    c = document_in_force("Say job.", instructions="I am boss", tools=tools)
    propose_document(c, long, "Long style")
    actions.approve_plan(plan_of(c), 1, "alice")
    number = plan_of(c).pk
    scripts = {
        "I am boss": [call("run_agent", agent=helper, task="Tidy."), say("It is tidy.")],
        "I am helper": [call("run_agent", agent=deeper, task="Look."), say("It was looked at.")],
        "I am deeper": [call("get_plan", plan=number), say("Looked.")],
    }
    model = scripted_agents({name: [*each] for name, each in scripts.items()})
    tell(c, "Have it tidied.")
    assert not [call.result for call in calls_of(c) if call.state != "done"]
    told = [texts_of(request["messages"], "system") for request in model.requests]
    assert len(told) == 6 and all("Say job." in each for each in told)
    assert long[:5000] in texts_of(model.requests[3]["messages"], "tool")
    offered = [{each["function"]["name"] for each in r["tools"]} for r in model.requests]
    assert ["revise_current_plan" in each for each in offered] == [True, *[False] * 4, True]


def test_so_are_those_that_plan_their_part_of_a_subtask():
    helper = agent(instructions="I am helper")
    tools = {f"run_agent:{helper}": "allow"}
    c = document_in_force("Say job.", instructions="I am boss", tools=tools)
    propose(c, "Delegate")
    scripts = {
        "I am boss": [call("run_agent", agent=helper, task="Tidy."), done(), say("It is tidy.")],
        "I am helper": [proposal("Half"), say("I will."), done(), say("It is half done.")],
    }
    model = scripted_agents(scripts)
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    told = [texts_of(request["messages"], "system") for request in model.requests]
    assert len(told) == 7 and all("Say job." in each for each in told)


def test_while_a_version_waits_a_model_is_told_what_is_in_force_and_what_waits():
    c = document_in_force("Say job.")
    next_version(c, "Say task.")
    system, _ = request_of(c, "What would change?")
    assert system.index("Say job.") < system.index("v2 waits for a yes") < system.index("Say task.")


def test_what_has_no_room_is_named_and_can_be_read():
    long = "A rule of the house. " * 2_000
    c = document_in_force("Say job.")
    first = plan_of(c)
    propose_document(c, long, "Long style")
    actions.approve_plan(plan_of(c), 1, "alice")
    propose(c, "Read")
    second = Plan.objects.get(title="Long style")
    model = scripted(
        calls(call("get_plan", plan=second.pk), call("get_plan", plan=first.pk)), say("Read.")
    )
    tell(c, "What holds here?")
    system = texts_of(model.requests[0]["messages"], "system")
    assert "Say job." in system and long.strip() not in system
    assert f"Plan: Long style (v1)\nA document in force. Plan number {second.pk}." in system
    assert "[+n]: n characters are not shown here." in system
    long_read, short_read = texts_of(model.requests[1]["messages"], "tool").split("Plan: House")
    assert long[:5000] in long_read and "Say job." in short_read


def test_two_documents_and_a_plan_stand_side_by_side():
    c = document_in_force("Say job.")
    propose_document(c, "Write to Ada.", "People")
    actions.approve_plan(plan_of(c), 1, "alice")
    propose(c, "Read")
    assert plan_of(c).title == "Tidy the docs"
    told = prompt_of(c)
    assert told.index("Say job.") < told.index("Write to Ada.")
    actions.clear(c, "alice")
    system, tools = request_of(c)
    assert "Say job." in system and "Write to Ada." in system
    assert "get_plan" in tools and "revise_current_plan" not in tools


# Any order of verbs

ACTS = ("propose", "edit", "revise", "go back", "approve", "cancel", "take out", "clear", "plan")


@pytest.mark.parametrize("seed", range(25))
def test_the_prompt_has_the_last_approved_version_of_each_document_in_force(seed):
    chance, c, wanted = Random(seed), conversation(), {}
    for step in range(25):
        rows = list(Plan.objects.filter(conversation=c))
        plan, act = (chance.choice(rows) if rows else None), chance.choice(ACTS)
        text = f"Rule {step} of {seed}."
        try:
            if act == "propose":
                propose_document(c, text, f"Style {step}")
            elif act == "plan":
                propose(c, "Read")
            elif act == "clear":
                actions.clear(c, "alice")
            elif plan is not None:
                do(act, plan, text, chance)
                if act == "approve" and not plan.subtasks.exists():
                    plan.refresh_from_db()
                    wanted[plan.pk] = plan.content
                elif act == "take out":
                    wanted.pop(plan.pk)
        except Refused:
            pass
        parts = [f"{each.title} (v" for each in documents_in_force.models(conversation=c.pk)]
        told = prompt_of(c)
        assert [told.count(f"\n{text}") for text in wanted.values()] == [1] * len(wanted), act
        assert told.count("(v") == len(wanted) == len(parts), act


def do(act, plan, text, chance):
    if act == "edit":
        actions.edit_plan(plan, PlanEdit(content=text), "alice", None)
    elif act == "revise":
        actions.revise_plan(plan, Revision(content=text), AGENT)
    elif act == "go back":
        actions.restore_version(plan, chance.randint(1, plan.version), "alice")
    elif act == "approve":
        actions.approve_plan(plan, plan.version, "alice", run="no")
    elif act == "cancel":
        actions.cancel_plan(plan, "alice")
    else:
        actions.take_out_of_force(plan, "alice", plan.version)
