"""What each task of a chain is offered: what its list names, of what the gate and the grants allow."""

import re

import pytest

from agents.errors import Invalid
from agents.models import Turn
from plans import actions
from plans.models import Attempt, Plan
from tests.builders import approved_plan, proposed_plan, running_plan
from tests.chains.chains import task, written
from tests.fake_model import call, say
from tests.inner import change_agent, doctor, lint, queue_chain, read_agent, read_text
from tests.world import (
    agent,
    calls_of,
    conversation,
    done,
    drive,
    errors_of,
    plan_of,
    scripted,
    shown,
    signed_in,
    states,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)

ROLES = ("chat", "planner", "executor")
FILES = {"list_files", "read_file", "write_file", "edit_file", "search_files"}
READING = {"list_files", "read_file", "search_files"}
CHAT = {"get_plan", "get_changes", "revise_current_plan", "add_subtask", "finish_plan"}
ATTEMPT = {
    *("get_plan", "get_changes", "report_progress", "finish_subtask", "fail_subtask", "ask_user"),
    *("add_subtask", "update_subtask", "delete_subtask", "revise_current_plan"),
}


def plan_is_asked_for(**values):
    c = conversation(**values)
    return asked(c, lambda: tell(c, "/plan tidy up"))


def plan_waits_for_its_yes(**values):
    c = proposed_plan("Read", **values)
    return asked(c, lambda: tell(c, "what is it?"))


def an_attempt(**values):
    c = approved_plan("Read", run="next", **values)
    return asked(c, drive)


def the_end_of_a_run(**values):
    c = approved_plan("Read", **values)
    subtask = plan_of(c).subtasks.get()
    actions.skip_subtask(plan_of(c), subtask.key, "not needed", "alice")
    return asked(c, lambda: (actions.run_plan(plan_of(c), "alice"), drive()))


def chat_beside_a_run(**values):
    c, _ = running_plan("Read", **values)
    return asked(c, lambda: tell(c, "how far is it?"))


def chat_with_an_approved_plan(**values):
    c = approved_plan("Read", **values)
    return asked(c, lambda: tell(c, "what is it?"))


def chat_without_a_plan(**values):
    c = conversation(**values)
    return asked(c, lambda: tell(c, "hello"))


def asked(c, happens):
    """The tools in the first request that this leads to."""
    model = scripted(lambda request: say("Hello."))
    happens()
    if not model.requests:
        return None
    return {tool["function"]["name"] for tool in model.requests[0].get("tools") or []}


# The rows of the gate, by what a person sees, and what they have on offer without any list.
ROWS = {
    plan_is_asked_for: {"create_plan"},
    plan_waits_for_its_yes: {"get_plan", "revise_current_plan", "finish_plan"},
    an_attempt: ATTEMPT | FILES,
    the_end_of_a_run: {"finish_plan"},
    chat_beside_a_run: CHAT | READING,
    chat_with_an_approved_plan: CHAT | FILES,
    chat_without_a_plan: {"create_plan", "get_changes"} | FILES,
}
SHIPPED = {
    "default-chain": ROWS,
    "default-run-chain": ROWS,
    "planner": ROWS,
    "executor": ROWS,
    "reviewer": {row: set() for row in ROWS} | {the_end_of_a_run: None},  # runs no calls at all
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("chain", SHIPPED)
def test_a_shipped_chain_is_offered_all_that_the_gate_opens(chain, row):
    assert row(chains=dict.fromkeys(ROLES, chain)) == SHIPPED[chain][row]


# Chains whose lists want to be got around.


def listing(tools=None, hidden=(), run=None):
    """A chain whose one model has this list, and the task that runs its calls another one."""
    config = {"hide_tools": list(hidden)} | ({} if tools is None else {"tools": tools})
    ways = [("equals", "tool-call", "run"), "end"]
    return [
        task("ask", "chat_completion", *ways, execute_config=config),
        task("run", "execute_tool_calls", "ask", input_var="ask", execute_config=run or {}),
    ]


CHAINS = {
    "an empty list": listing([]),
    "a tool, and no plan": listing(["read_file", "!create_plan"]),
    "all but the end": listing(["*", "!finish_subtask", "!create_plan"]),
    "named and hidden at once": listing(["plan.tools", "read_file"], ["plan.tools"]),
    "hidden twice": listing(["*"], ["!create_plan", "!finish_subtask", "local_fs"]),
    "calls run by a narrower list": listing(["*"], run={"tools": ["get_plan", "read_file"]}),
    "no list": listing(),
    "a plan's tools by one word": listing(["plan.tools", "read_file"]),
}
OFFERED = {  # asked for a plan, in an attempt, in a chat without a plan; None: it says why it cannot
    "an empty list": (None, None, set()),
    "a tool, and no plan": (None, None, {"read_file"}),
    "all but the end": (None, None, {"get_changes"} | FILES),
    "named and hidden at once": (None, None, {"read_file"}),
    "hidden twice": (None, None, {"get_changes"}),
    "calls run by a narrower list": (None, None, {"read_file"}),
    "no list": ({"create_plan"}, ATTEMPT, {"create_plan", "get_changes"}),
    "a plan's tools by one word": (
        {"create_plan"},
        ATTEMPT | {"read_file"},
        {"create_plan", "get_changes", "read_file"},
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_is_offered_nothing_that_its_list_does_not_name(name):
    chain = written(*CHAINS[name])
    rows = (plan_is_asked_for, an_attempt, chat_without_a_plan)
    assert tuple(row(chains=dict.fromkeys(ROLES, chain)) for row in rows) == OFFERED[name]


@pytest.mark.parametrize("name", CHAINS)
def test_what_was_not_offered_is_refused_when_it_is_called(name):
    offered = OFFERED[name][2]
    c = conversation(chains={"chat": written(*CHAINS[name])})
    wanted = ["create_plan", "read_file", "write_file", "finish_subtask"]
    scripted({"calls": [[tool, {}] for tool in wanted]}, say("ok"))
    tell(c, "do it all")
    states = {made.tool: made.state for made in calls_of(c)}
    assert {tool for tool in wanted if states[tool] != "refused"} == offered & {*wanted}
    assert not Plan.objects.filter(conversation=c).exists()


def test_a_refusal_says_that_it_is_the_list():
    c = conversation(chains={"chat": written(*CHAINS["a tool, and no plan"])})
    scripted(call("create_plan", title="T", subtasks=["One"]), say("ok"))
    tell(c, "plan it")
    [made] = calls_of(c)
    assert made.result == (
        "create_plan was not carried out. The list of this task of the chain does not allow it. "
        "Tools on offer now: read_file."
    )


def test_a_run_without_a_page_makes_no_plan_where_the_list_names_none():
    c = conversation(chains={"chat": written(*CHAINS["an empty list"])})
    scripted(call("create_plan", title="T", subtasks=["One"]), say("ok"))
    turn = queue_chain(c.owner, "mine", "plan it", c.agent_id)
    drive()
    turn.refresh_from_db()
    assert (turn.state, Plan.objects.count()) == ("done", 0)


PLANNER = "The chain mine cannot be used: No task is offered create_plan: as a planner it can make"
EXECUTOR = "The chain mine cannot be used: No task is offered finish_subtask: as an executor it can"


def test_a_planner_that_may_make_no_plan_says_so_and_asks_nobody():
    c = conversation(chains={"planner": written(*CHAINS["a tool, and no plan"])})
    model = scripted()
    tell(c, "/plan tidy up")
    assert (len(model.requests), errors_of(c)[0].startswith(PLANNER)) == (0, True)


def test_an_executor_that_may_finish_nothing_fails_at_once_and_says_why():
    chain = written(*CHAINS["a tool, and no plan"])
    c = approved_plan("Read", run="all", chains={"executor": chain}, plan={"enabled": True})
    model = scripted()
    drive()
    [attempt] = Attempt.objects.all()
    assert (len(model.requests), attempt.error.startswith(EXECUTOR)) == (0, True)
    assert states(c) == ["todo"]


def test_settings_and_doctor_name_such_an_executor_beforehand():
    c = conversation(chains={"executor": written(*CHAINS["a tool, and no plan"])})
    found = doctor.agent_file(read_agent(c.agent_id))
    assert (found.grade, found.sentence.startswith(EXECUTOR)) == ("wrong", True)
    page = signed_in(c.owner).get(f"/settings/agents/?agent={c.agent_id}").content.decode()
    assert EXECUTOR in page
    change_agent(c.agent_id, {"plan": {"enabled": False}})
    assert "No task is offered" not in doctor.agent_file(read_agent(c.agent_id)).sentence


def test_a_run_by_such_an_executor_is_refused_before_anything_starts():
    c = approved_plan("Read")
    chain = written(*CHAINS["a tool, and no plan"])
    with pytest.raises(Invalid, match="No task is offered finish_subtask"):
        actions.run_plan(plan_of(c), "alice", "all", {"executor": chain})
    assert not Turn.objects.filter(kind="subtask").exists()


def test_a_plan_that_is_over_is_closed_without_the_chain_that_may_not_close_it():
    chain = written(*listing(["finish_subtask", "fail_subtask"]))
    approved_plan("Read", run="all", chains={"executor": chain})
    model = scripted(done("It is read."))
    drive()
    assert (len(model.requests), Plan.objects.get().state) == (1, "done")
    assert "It is read." in Plan.objects.get().outcome


def test_each_task_of_a_chain_has_its_own_list_and_is_told_of_no_other():
    ways = [("equals", "tool-call", "run"), "report"]
    chain = written(
        task("look", "chat_completion", *ways, execute_config={"tools": ["read_file"]}),
        task("run", "execute_tool_calls", "look", input_var="look"),
        task(
            *("report", "chat_completion", ("equals", "tool-call", "note"), "end"),
            execute_config={"tools": ["finish_subtask", "fail_subtask"]},
        ),
        task("note", "execute_tool_calls", "report", input_var="report"),
    )
    c = approved_plan("Read", run="all", chains={"executor": chain})
    model = scripted(say("It says ink."), done("It says ink."))
    drive()
    tools = [{tool["function"]["name"] for tool in each["tools"]} for each in model.requests]
    assert tools == [{"read_file"}, {"finish_subtask", "fail_subtask"}]
    systems = [each["messages"][0]["content"] for each in model.requests]
    assert ["finish_subtask" in each for each in systems] == [False, True]
    assert shown(c)["subtasks"][0]["outcome"] == "It says ink."


LACKS = {
    "planner": ["create_plan", "revise_current_plan"],
    "executor": ["finish_subtask", "fail_subtask"],
}


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("an empty list", LACKS),
        ("a tool, and no plan", LACKS),
        ("all but the end", {"planner": ["create_plan"], "executor": ["finish_subtask"]}),
        ("named and hidden at once", LACKS),
        ("hidden twice", {"planner": ["create_plan"], "executor": ["finish_subtask"]}),
        ("calls run by a narrower list", LACKS),
        ("no list", {"planner": [], "executor": []}),
        ("a plan's tools by one word", {"planner": [], "executor": []}),
    ],
)
def test_the_linter_names_what_those_who_use_a_chain_cannot_do_without(name, lacks):
    chain = written(*CHAINS[name], id=re.sub(r"\W+", "-", name))
    assert not [fault for fault in said_of(chain) if "No task is offered" in fault], (
        "nobody uses it"
    )
    for role, tools in lacks.items():
        agent(id="one-of-it", chains={role: chain})
        named = [fault for fault in said_of(chain) if fault.startswith("warning: tasks: No task")]
        assert [fault.split()[6].rstrip(":") for fault in named] == tools


def said_of(chain):
    return [str(fault) for fault in lint(read_text(chain), chain)]
