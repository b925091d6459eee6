"""The gate at work: rows in, offer out. agents asks at each listing and at each call.

Nothing is written here; that a turn has met row 1 or 2 is noted by plans.turn_handlers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agents.config.store import AgentRecord
from agents.engine.handlers import Instruction, Offer, Role
from agents.llm.catalog import window_for
from agents.models import Turn
from agents.tools.base import READING_TOOLS
from agents.tools.permissions import allows, is_off
from plans import prompts
from plans.comments import sent_with
from plans.documents import get_plan
from plans.gate import GATED, PLAN_TOOLS, Row, Situation, row_of
from plans.in_force import documents_in_force
from plans.models import Plan, State
from plans.prompts import BESIDE_WORK, IN_FORCE, SMALL, TO_CHANGE
from plans.queries import in_drawer, is_answered, pointers
from plans.text import ANY, approved_text, documents_text, text_of
from plans.tools import PlanTools, reads_other_plans

ROLES: dict[Row, Role] = {
    Row.PLAN_FIRST: "planner",
    Row.UNCONFIRMED: "planner",
    Row.ATTEMPT: "executor",
    Row.CLOSING: "executor",
}
AGENT_TOOLS: dict[Row, Literal["all", "read"]] = {
    Row.ATTEMPT: "all",
    Row.BESIDE_A_RUN: "read",
    Row.CONFIRMED: "all",
    Row.NO_PLAN: "all",
    Row.IN_FORCE: "all",
}


READING = ("get_plan", "get_changes")
CHANGED_IN_CHAT = (Row.UNCONFIRMED, Row.BESIDE_A_RUN, Row.CONFIRMED)


def situation_of(turn: Turn) -> tuple[Row, Plan | None, list[Plan]]:
    """The turn's row of the gate, the plan that it is about, and the documents that are in force
    where the person is.

    A run's turn is about its own plan, whatever is in the drawer meanwhile. So is one that has
    made a plan; and a plan is asked of those who were asked for it.
    """
    asked = is_over = False
    may_be_in_force = True
    plan: Plan | None
    if turn.plan:
        plan = get_plan(turn.plan)
    elif made := turn.checkpoint.get("made"):
        plan = Plan.objects.filter(pk=made).first()
    else:
        pointer = pointers.first(conversation=turn.conversation_id)
        may_be_in_force = pointer is not None or turn.conversation.parent_call_id is not None
        plan, goal = in_drawer(pointer)
        asking = pointer[1] if pointer and goal else None
        own_asking = turn.checkpoint.get("asked")
        asked = bool(goal) and own_asking == asking
        # Cancelled or left, and tried once more since: it was never asked for more than a plan.
        is_over = own_asking is not None and not asked and not is_answered(own_asking)
    top = turn.conversation.top
    documents = documents_in_force.models(conversation=top) if may_be_in_force else []
    now = Situation(
        kind=turn.kind,
        asked=asked,
        open_plan=plan is not None and plan.is_open,
        confirmed=plan is not None and plan.is_confirmed,
        live=plan is not None and plan.is_live,
        gated=is_over or bool(turn.checkpoint.get("gated")),
        in_force=bool(documents),
    )
    return row_of(now), plan, documents


def offer_for(
    turn: Turn,
    agent: AgentRecord,
    words: Sequence[str],
    row: Row,
    plan: Plan | None,
    documents: Sequence[Plan],
) -> Offer:
    """What a turn in this row may do now: its plan tools that the list of the chain's task allows,
    less what agent.json takes away.

    What the person allowed for a run is read from the plan's row: it ends with the run.
    """
    config = turn.config.get("plan") or {}
    tools = PlanTools(turn, plan, str(config.get("template") or ""))
    listed = PLAN_TOOLS[row]
    if row in (Row.NO_PLAN, Row.IN_FORCE):
        # An agent called by another agent has nobody to say yes to a plan.
        by_a_person = turn.conversation.parent_call_id is None
        may_plan = bool(config.get("enabled")) and by_a_person
        wanted = {
            "create_plan": may_plan,
            "get_changes": may_change_files(agent),
            "revise_current_plan": may_plan and plan in documents,
        }
        listed = tuple(name for name in listed if wanted.get(name, True))
    if row in (Row.NO_PLAN, Row.PLAN_FIRST) and reads_other_plans(agent):
        listed += ("get_plan",)
    names = tuple(name for name in listed if allows(words, name) and not is_off(agent, name))
    if turn.kind == "chat" and row != Row.PLAN_FIRST and agent.file.chat_may_only_read_plans:
        names = tuple(name for name in names if name in READING)
    of_run = plan.run_options if plan is not None and row in (Row.ATTEMPT, Row.CLOSING) else {}
    return Offer(
        tools=tools.named(names),
        agent_tools=AGENT_TOOLS.get(row, "none"),
        instructions=instructions(row, plan, turn, names, documents),
        refusal=prompts.REFUSALS.get(row, ""),
        lifted=tuple(str(name) for name in of_run.get("allow") or ()),
    )


def plan_tools_by_role(words: Sequence[str]) -> dict[Role, list[str]]:
    """The plan tools that a list lets through, whichever row a turn of that role may be in."""
    found: dict[Role, list[str]] = {"chat": [], "planner": [], "executor": []}
    for row, names in PLAN_TOOLS.items():
        before = found[ROLES.get(row, "chat")]
        before += [name for name in names if allows(words, name) and name not in before]
    return found


def may_change_files(agent: AgentRecord) -> bool:
    """Whether agent.json grants anything that writes: of others nothing is recorded, and a model
    that takes no tools is sent none."""
    granted = (name for name, grant in agent.file.tools.items() if grant in ("allow", "ask"))
    return any(name.partition(":")[0] not in READING_TOOLS for name in granted)


def instructions(
    row: Row, plan: Plan | None, turn: Turn, names: tuple[str, ...], documents: Sequence[Plan]
) -> tuple[Instruction, ...]:
    """How to behave in this row, the format of a plan to be made, and the plan as it stands."""
    config = turn.config.get("plan") or {}
    template = str(config.get("template") or "").strip()
    anew, by_output = turn.checkpoint.get("replan"), turn.checkpoint.get("by_output")
    replanning = prompts.REPLAN_AS_TEXT if by_output else prompts.REPLAN
    behaviour = {
        Row.PLAN_FIRST: prompts.PLAN_AS_TEXT if by_output else prompts.PLAN_FIRST,
        Row.UNCONFIRMED: replanning.format(key=anew, steps=prompts.STEPS) if anew else prompts.WAIT,
        Row.ATTEMPT: reminder(turn, names),
        Row.BESIDE_A_RUN: prompts.BESIDE,
        Row.CONFIRMED: prompts.AFTER_START,
        Row.IN_FORCE: prompts.NEXT_VERSION if "revise_current_plan" in names else "",
    }.get(row, "")
    if row in CHANGED_IN_CHAT and not anew and set(names) <= set(READING):
        behaviour = prompts.READ_ONLY if "get_plan" in names else prompts.NOT_OPEN
    wanted: list[Instruction | None] = []
    if documents:
        readable = "get_plan" in names
        room = IN_FORCE if readable else window_for(turn.config) // 4
        wanted.append(Instruction(90, documents_text(documents, room, reads_on=readable)))
    if behaviour:
        wanted.append(Instruction(95 if row in GATED else 90, behaviour))
    if row == Row.UNCONFIRMED and (comments := sent_with(turn)):
        wanted.append(Instruction(95, prompts.commented_text(comments)))
    if template and (row == Row.PLAN_FIRST or "create_plan" in names):
        wanted.append(Instruction(90, f"{prompts.FORMAT}\n{template}"))
    if plan is not None and row not in (Row.PLAN_FIRST, Row.NO_PLAN, Row.IN_FORCE):
        wanted.append(plan_in_prompt(row, plan, turn, config, "get_plan" in names))
    return tuple(each for each in wanted if each)


def reminder(turn: Turn, names: tuple[str, ...]) -> str:
    """How an attempt ends, of which not every task of its chain may be the one that ends it."""
    if turn.checkpoint.get("by_output"):
        return prompts.REMINDER_OF_OUTPUT
    return prompts.REMINDER if "finish_subtask" in names else prompts.REMINDER_OF_PART


def plan_in_prompt(
    row: Row, plan: Plan, turn: Turn, config: dict[str, object], readable: bool
) -> Instruction | None:
    """The plan as agent.json wants it shown, in a part of the model's window.

    The closing turn has nothing else to go by: there it stays. A reference is of no use to a model
    that cannot follow it. An attempt is shown what was approved; its assignment brings what it is
    about and what came of the others.
    """
    wanted = str(config.get("context") or "auto")
    priority = int(str(config.get("priority", 80)))
    if wanted == "template":
        wanted = str(config.get("context_template") or "").strip() or "auto"
    if row == Row.CLOSING or (wanted == "reference" and not readable):
        wanted = "auto"
    priority = 95 if row == Row.CLOSING else priority
    at_work = row == Row.ATTEMPT
    text = approved_text(plan) if at_work else text_of(plan)
    room = TO_CHANGE if row == Row.UNCONFIRMED else BESIDE_WORK
    if not text.fits(SMALL):  # else any model has room for it, which nobody need be asked
        window = window_for(turn.config)
        room = min(room, window // 4) if readable else window // 2
    states = (State.TODO,) if at_work else ANY
    shown = prompts.plan_context(text, wanted, room, states=states, reads_on=readable)
    return Instruction(priority, shown, changes=True) if shown.strip() else None
