"""The gate at work: rows in, offer out. agents asks at each listing and at each call."""

from __future__ import annotations

from typing import Literal

from agents.grants import is_off
from agents.models import Turn
from agents.toolset import Instruction, Offer, agent_of
from agents.turns import journal
from plans.documents import plan_agent
from plans.gate import GATED, PLAN_TOOLS, Row, Situation, row_of
from plans.models import Plan
from plans.prompts import (
    AFTER_START,
    BESIDE,
    FORMAT,
    PLAN_FIRST,
    READ_ONLY,
    REFUSALS,
    REMINDER,
    REPLAN,
    WAIT,
)
from plans.rows import pointed_at
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


def offer(turn: Turn) -> Offer:
    """What this turn may do now. Meeting row 1 or 2 is remembered on the turn, for good."""
    asked, plan = situation_rows(turn)
    row = row_of(situation(turn, asked, plan))
    if row in GATED and not turn.checkpoint.get("gated"):
        journal.checkpoint(turn, gated=True)
    config = turn.config.get("plan") or {}
    tools = PlanTools(turn, plan, str(config.get("template") or ""))
    names = allowed(row, config, turn)
    return Offer(
        role=ROLES.get(row, "chat"),
        tools=tools.named(names),
        agent_tools=AGENT_TOOLS.get(row, "none"),
        instructions=instructions(row, plan, turn, names),
        refusal=REFUSALS.get(row, ""),
    )


def situation_rows(turn: Turn) -> tuple[bool, Plan | None]:
    """A run's turn is about its own plan, whatever is in the drawer meanwhile."""
    if own := turn.checkpoint.get("plan"):
        return False, Plan.objects.get(pk=own)
    plan, goal = pointed_at(turn.conversation_id)
    return bool(goal), plan


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
    agent = agent_of(turn)
    by_a_person = turn.conversation.parent_call_id is None
    if row == Row.NO_PLAN and not (config.get("enabled") and by_a_person):
        return ()
    names = tuple(name for name in PLAN_TOOLS[row] if not is_off(agent, name))
    if turn.kind == "chat" and row != Row.PLAN_FIRST and agent.file.chat_may_only_read_plans:
        return tuple(name for name in names if name == "get_plan")
    return names


def instructions(
    row: Row, plan: Plan | None, turn: Turn, names: tuple[str, ...]
) -> tuple[Instruction, ...]:
    """How to behave in this row, the format of a plan to be made, and the plan as it stands."""
    config = turn.config.get("plan") or {}
    template = str(config.get("template") or "").strip()
    said = [Instruction(90, words)] if (words := behaviour(row, turn, names)) else []
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
    return {
        Row.PLAN_FIRST: PLAN_FIRST,
        Row.UNCONFIRMED: REPLAN.format(key=anew) if anew else WAIT,
        Row.ATTEMPT: REMINDER,
        Row.BESIDE_A_RUN: BESIDE,
        Row.CONFIRMED: AFTER_START,
    }.get(row, "")


def in_prompt(
    row: Row, plan: Plan, config: dict[str, object], readable: bool
) -> Instruction | None:
    """The plan as agent.json wants it shown.

    The closing turn has nothing else to go by: there it is whole, and stays. A reference is of
    no use to a model that cannot follow it.
    """
    if row == Row.CLOSING:
        return plan_agent(plan.pk, "full").as_context(95)
    wanted = str(config.get("context") or "auto")
    if wanted == "template":
        wanted = str(config.get("context_template") or "").strip() or "auto"
    if wanted in ("auto", "reference") and not readable:
        wanted = "full"
    return plan_agent(plan.pk, wanted).as_context(int(str(config.get("priority", 80))))
