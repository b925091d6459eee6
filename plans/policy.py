"""The gate at work: rows in, offer out. agents asks at each listing and at each call."""

from __future__ import annotations

from typing import Literal

from agents.engine import persistence
from agents.engine.handlers import Instruction, Offer
from agents.models import Turn
from agents.statements import by_key
from agents.tools import permissions
from agents.tools.permissions import is_off
from plans.approved_version import approved_text
from plans.context import plan_context
from plans.documents import get_plan, plan_agent
from plans.gate import GATED, PLAN_TOOLS, Row, Situation, row_of
from plans.models import Plan
from plans.prompts import (
    AFTER_START,
    BESIDE,
    FORMAT,
    PLAN_AS_TEXT,
    PLAN_FIRST,
    READ_ONLY,
    REFUSALS,
    REMINDER,
    REMINDER_OF_OUTPUT,
    REPLAN,
    REPLAN_AS_TEXT,
    WAIT,
)
from plans.queries import active_plan_and_goal, requested_by
from plans.text_tools import reads_other_plans
from plans.tools import PlanTools

ROLES: dict[Row, Literal["planner", "executor"]] = {
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
}


def offer_for(turn: Turn) -> Offer:
    """What this turn may do now. Meeting row 1 or 2 is remembered on the turn, for good."""
    asked, plan = situation_rows(turn)
    row = row_of(situation(turn, asked, plan))
    if row in GATED and not turn.checkpoint.get("gated"):
        persistence.checkpoint(turn, gated=True)
    config = turn.config.get("plan") or {}
    tools = PlanTools(turn, plan, str(config.get("template") or ""))
    names = allowed(row, config, turn)
    return Offer(
        role=ROLES.get(row, "chat"),
        tools=tools.named(names),
        agent_tools=AGENT_TOOLS.get(row, "none"),
        instructions=instructions(row, plan, turn, names),
        refusal=REFUSALS.get(row, ""),
        lifted=lifted(row, plan),
    )


def lifted(row: Row, plan: Plan | None) -> tuple[str, ...]:
    """What the person allowed for this run, read from its row: it ends with the run."""
    if plan is None or row not in (Row.ATTEMPT, Row.CLOSING):
        return ()
    return tuple(str(name) for name in plan.run_options.get("allow") or ())


def situation_rows(turn: Turn) -> tuple[bool, Plan | None]:
    """A run's turn is about its own plan, whatever is in the drawer meanwhile.

    So is one that has made a plan; and a plan is asked of those who were asked for it.
    """
    if own := turn.checkpoint.get("plan"):
        return False, get_plan(int(own))
    if made := turn.checkpoint.get("made"):
        return False, by_key(Plan, made)
    plan, goal = active_plan_and_goal(turn.conversation_id)
    return bool(goal) and turn.checkpoint.get("asked") == requested_by(turn.conversation_id), plan


def situation(turn: Turn, asked: bool, plan: Plan | None) -> Situation:
    return Situation(
        kind=turn.kind,
        asked=asked,
        open_plan=plan is not None and plan.is_open,
        confirmed=plan is not None and plan.is_confirmed,
        live=plan is not None and plan.is_live,
        gated=bool(turn.checkpoint.get("gated")),
    )


def allowed(row: Row, config: dict[str, object], turn: Turn) -> tuple[str, ...]:
    """The row's plan tools, less what agent.json takes away.

    An agent called by another agent has nobody to say yes to a plan.
    """
    agent = permissions.of_turn(turn).agent
    by_a_person = turn.conversation.parent_call_id is None
    listed = PLAN_TOOLS[row]
    if row == Row.NO_PLAN:
        listed = listed if config.get("enabled") and by_a_person else ()
        listed += ("get_plan",) if reads_other_plans(agent) else ()
    names = tuple(name for name in listed if not is_off(agent, name))
    if turn.kind == "chat" and row != Row.PLAN_FIRST and agent.file.chat_may_only_read_plans:
        return tuple(name for name in names if name == "get_plan")
    return names


def instructions(
    row: Row, plan: Plan | None, turn: Turn, names: tuple[str, ...]
) -> tuple[Instruction, ...]:
    """How to behave in this row, the format of a plan to be made, and the plan as it stands."""
    config = turn.config.get("plan") or {}
    template = str(config.get("template") or "").strip()
    said = (
        [Instruction(95 if row in GATED else 90, words)]
        if (words := behaviour(row, turn, names))
        else []
    )
    if template and "create_plan" in names:
        said.append(Instruction(90, f"{FORMAT}\n{template}"))
    if plan is not None and row not in (Row.PLAN_FIRST, Row.NO_PLAN):
        shown = in_prompt(row, plan, config, readable="get_plan" in names)
        said.extend([shown] if shown else [])
    return tuple(said)


def behaviour(row: Row, turn: Turn, names: tuple[str, ...]) -> str:
    anew = turn.checkpoint.get("replan")
    if row in (Row.BESIDE_A_RUN, Row.CONFIRMED) and names == ("get_plan",):
        return READ_ONLY
    by_output = turn.checkpoint.get("by_output")
    replanning = REPLAN_AS_TEXT if by_output else REPLAN
    return {
        Row.PLAN_FIRST: PLAN_AS_TEXT if by_output else PLAN_FIRST,
        Row.UNCONFIRMED: replanning.format(key=anew) if anew else WAIT,
        Row.ATTEMPT: REMINDER_OF_OUTPUT if by_output else REMINDER,
        Row.BESIDE_A_RUN: BESIDE,
        Row.CONFIRMED: AFTER_START,
    }.get(row, "")


def in_prompt(
    row: Row, plan: Plan, config: dict[str, object], readable: bool
) -> Instruction | None:
    """The plan as agent.json wants it shown.

    The closing turn has nothing else to go by: there it is whole, and stays. A reference is of
    no use to a model that cannot follow it. An attempt is shown what was approved.
    """
    if row == Row.CLOSING:
        return plan_agent(plan.pk, "full").as_context(95)
    wanted = str(config.get("context") or "auto")
    if wanted == "template":
        wanted = str(config.get("context_template") or "").strip() or "auto"
    if wanted in ("auto", "reference") and not readable:
        wanted = "full"
    priority = int(str(config.get("priority", 80)))
    if row == Row.ATTEMPT:
        approved, subtasks = approved_text(plan)
        text = plan_context(approved, wanted, subtasks)
        return Instruction(priority, text) if text.strip() else None
    return plan_agent(plan.pk, wanted).as_context(priority)
