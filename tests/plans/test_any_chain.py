"""Planner and executor may be any chain: one that writes its plan, one that merely answers."""

import json

import pytest

from agents.models import Message, Turn
from plans import actions
from plans.models import Plan
from tests.chains.chains import task, written
from tests.fake_model import say
from tests.growth import demand_proportion
from tests.inner import plan_in_text
from tests.world import (
    calls_of,
    conversation,
    drive,
    files_of,
    plan_of,
    proposal,
    proposed,
    scripted,
    shown,
    subtask_names,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)

ANSWERS = task("ask", "chat_completion", "end")
CALLS = [
    task(
        "ask",
        "chat_completion",
        ("equals", "tool-call", "run"),
        "end",
        execute_config={"tools": ["*"]},
    ),
    task("run", "execute_tool_calls", "ask", input_var="ask"),
]
NUMBERED = "Here is the plan:\n\n1. **Read the README**\n   Every line.\n2. Fix the links\n"
STEPS = '["Read the README", "Fix the links"]'
OBJECTS = json.dumps(
    [
        {"name": "Read the README", "description": "Every line.", "expected_outcome": "known"},
        {"title": "Fix the links"},
    ]
)
OBJECT = json.dumps({"title": "Tidy", "steps": ["Read the README", "Fix the links"]})


def fenced(text, language="json"):
    return f"Sure, here it is:\n\n```{language}\n{text}\n```\n\nTell me if it suits."


def planned(answer, *tasks, said="/plan tidy up"):
    chains = {"planner": written(*tasks, id="own-planner")} if tasks else {}
    c = conversation(chains=chains)
    scripted(say(answer))
    tell(c, said)
    return c


@pytest.mark.parametrize(
    "answer",
    [STEPS, OBJECTS, OBJECT, fenced(STEPS), fenced(OBJECTS, ""), f"  {STEPS}\n", NUMBERED],
)
def test_the_steps_a_planner_writes_are_the_plan_and_wait_for_the_yes(answer):
    c = planned(answer, ANSWERS)
    plan = plan_of(c)
    assert subtask_names(c) == ["Read the README", "Fix the links"]
    assert (plan.state, plan.version, plan.approved_version, plan.goal) == (
        "todo",
        1,
        None,
        "tidy up",
    )
    assert not Turn.objects.filter(kind="subtask").exists()
    assert Message.objects.filter(conversation=c, kind="plan").count() == 1


@pytest.mark.parametrize("answer", [STEPS, fenced(OBJECTS), OBJECT])
def test_the_planner_that_is_shipped_may_write_json_too(answer):
    assert subtask_names(planned(answer)) == ["Read the README", "Fix the links"]


@pytest.mark.parametrize("tasks", [[], CALLS])
def test_a_numbered_list_of_a_planner_that_has_create_plan_is_an_answer(tasks):
    c = planned(NUMBERED, *tasks)
    assert not Plan.objects.filter(conversation=c).exists()
    assert texts(c) == [NUMBERED]


@pytest.mark.parametrize(
    "answer",
    [
        "What do you want to tidy up?",
        "Which of these?\n1. The README\n2. The docs",
        "1. Read the README\n2. Fix the links\n\nI can do the first now.",
        "1. Only one thing",
        "1. One\n3. Three",
        "I would read first. Then:\nlook\nlisten\n1. a\n2. b",
        "[]",
        "[1, 2]",
        '["a", ""]',
        '{"answer": "no"}',
        "[not json]",
        fenced(STEPS) + fenced(OBJECTS),
        "",
    ],
)
def test_an_ordinary_answer_of_a_planner_is_no_plan(answer):
    c = planned(answer, ANSWERS)
    assert not Plan.objects.filter(conversation=c).exists()


def test_a_plan_that_was_made_by_its_tool_is_not_made_again():
    c = conversation()
    scripted(proposal("Read"), say(STEPS))
    tell(c, "/plan tidy up")
    assert subtask_names(c) == ["Read"]
    assert Plan.objects.filter(conversation=c).count() == 1


def test_a_list_in_an_ordinary_chat_is_no_plan():
    c = conversation(chains={"chat": written(ANSWERS, id="own-planner")})
    scripted(say(STEPS))
    tell(c, "what are the steps?")
    assert not Plan.objects.filter(conversation=c).exists()


def test_what_a_planner_asks_first_is_answered_and_then_it_plans():
    c = planned("What do you want to tidy up?", ANSWERS)
    scripted(say(STEPS))
    tell(c, "the README")
    assert (subtask_names(c), plan_of(c).goal) == (["Read the README", "Fix the links"], "tidy up")


def test_a_planner_that_calls_no_tools_is_told_to_write_its_plan():
    c = conversation(chains={"planner": written(ANSWERS, id="own-planner")})
    model = scripted(say(STEPS))
    tell(c, "/plan tidy up")
    system = model.requests[0]["messages"][0]["content"]
    assert "JSON list" in system
    assert "create_plan" not in system


def test_too_many_steps_are_said_and_no_plan_is_made():
    c = planned(json.dumps([f"step {n}" for n in range(501)]), ANSWERS)
    assert not Plan.objects.filter(conversation=c).exists()
    assert "at most 500" in texts(c, "notice", "system")[-1]


def test_a_planner_that_only_writes_plans_the_rest_anew():
    c = planned(STEPS, ANSWERS)
    scripted(say('["Ask a friend"]'))
    actions.replan_rest(plan_of(c), "alice", "s2", "no links")
    drive()
    assert (subtask_names(c), plan_of(c).approved_version) == (
        ["Read the README", "Ask a friend"],
        None,
    )


def test_the_rest_of_a_plan_that_has_left_the_drawer_is_not_put_into_another():
    c = planned(STEPS, ANSWERS)
    first = plan_of(c)
    other = actions.use_again(first, "alice")
    actions.activate_plan(first, "alice")
    actions.replan_rest(first, "alice", "s2", "no links")
    actions.activate_plan(other, "alice")
    scripted(say('["Ask a friend"]'))
    drive()
    assert (plan_of(c).pk, plan_of(c).version) == (other.pk, 1)
    assert subtask_names(c) == ["Read the README", "Fix the links"]


def test_no_text_takes_long_to_look_through():
    for part in ("1. a\n", "```\n", "[", "**", "1."):
        short, long = (part * (size // len(part)) for size in (20_000, 200_000))
        demand_proportion(lambda text: plan_in_text(text, numbered=True), short, long)


def run_by(*tasks):
    """A plan of one subtask, approved, whose executor is a chain of these tasks."""
    chain = written(*tasks, id="own-executor")
    c = proposed("Read the README", chains={"executor": chain})
    (files_of(c) / "a.txt").write_text("ink")
    return c


def started(c, *replies):
    model = scripted(*replies)
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    return model


READ = {"name": "read_file", "args": {"path": "a.txt"}}


@pytest.mark.parametrize(
    ("tasks", "replies", "outcome"),
    [
        ([ANSWERS], [say("It says ink.")], "It says ink."),
        ([task("read", "tools", "end", tools=READ)], [], "ink"),
        ([task("read", "tools", "say", tools=READ), task("say", "noop", "end")], [], "ink"),
        (
            [
                task(
                    "read",
                    "tools",
                    "end",
                    tools={"name": "finish_subtask", "args": {"outcome": "by tool"}},
                )
            ],
            [],
            "by tool",
        ),
    ],
)
def test_an_executor_that_just_answers_is_done_with_its_output(tasks, replies, outcome):
    c = run_by(*tasks)
    started(c, *replies)
    subtask = shown(c)["subtasks"][0]
    assert (subtask["state"], subtask["outcome"], subtask["attempts"]) == ("done", outcome, 1)
    assert plan_of(c).state == "done"
    assert outcome in plan_of(c).outcome


@pytest.mark.parametrize(
    ("tasks", "error"),
    [
        (
            [task("no", "raise_error", prompt_template="Not today.")],
            "Not today.",
        ),
        (
            [task("read", "tools", "end", tools={"name": "read_file", "args": {"path": "b.txt"}})],
            "b.txt",
        ),
    ],
)
def test_an_executor_that_fails_is_no_success(tasks, error):
    c = run_by(*tasks)
    started(c)
    subtask = shown(c)["subtasks"][0]
    assert subtask["state"] == "todo"
    assert error in subtask["error"]
    assert plan_of(c).state != "done"


def test_an_executor_that_may_call_tools_still_has_to_finish_by_one():
    c = run_by(*CALLS)
    model = started(c, say("I am done."), say("Really."))
    assert shown(c)["subtasks"][0]["state"] == "todo"
    assert "finish_subtask" in model.requests[1]["messages"][-1]["content"]


def test_a_chain_that_answers_does_its_work_once_and_not_again_at_the_end():
    c = run_by(task("read", "tools", "end", tools=READ))
    started(c)
    assert [made.tool for made in calls_of(c)] == ["create_plan", "read_file"]
