"""The gate at work: rows in, offer out. agents asks at each listing and at each call."""

from __future__ import annotations

from typing import Literal

from agents import journal
from agents.models import Turn
from agents.toolset import Instruction, Offer
from plans.gate import GATED, PLAN_TOOLS, Row, Situation, row_of
from plans.models import ActivePlan, Plan
from plans.prompts import (
    AFTER_START,
    BESIDE,
    NUDGE,
    PLAN_FIRST,
    REFUSALS,
    REMINDER,
    REPLAN,
    WAIT,
    plan_text,
)
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
    pointer = ActivePlan.objects.filter(conversation_id=turn.conversation_id)
    asked, plan = situation_rows(turn, pointer.select_related("plan").first())
    row = row_of(situation(turn, asked, plan))
    if row in GATED and not turn.checkpoint.get("gated"):
        journal.checkpoint(turn, gated=True)
    config = turn.config.get("plan") or {}
    tools = PlanTools(turn, plan, str(config.get("template") or ""))
    return Offer(
        role=ROLES.get(row, "chat"),
        tools=tools.named(allowed(row, config, turn.conversation.parent_call_id is None)),
        agent_tools=AGENT_TOOLS.get(row, "none"),
        instructions=instructions(row, plan, config, turn),
        nudge=NUDGE if row == Row.ATTEMPT else "",
        refusal=REFUSALS.get(row, ""),
    )


def situation_rows(turn: Turn, pointer: ActivePlan | None) -> tuple[bool, Plan | None]:
    """A run's turn is about its own plan, whatever is in the drawer meanwhile."""
    if own := turn.checkpoint.get("plan"):
        return False, Plan.objects.get(pk=own)
    if pointer is None:
        return False, None
    return bool(pointer.asked_goal), pointer.plan


def situation(turn: Turn, asked: bool, plan: Plan | None) -> Situation:
    return Situation(
        kind=turn.kind,
        asked=asked,
        open_plan=plan is not None and plan.is_open,
        confirmed=plan is not None and plan.is_confirmed,
        live=plan is not None and plan.is_live,
        gated=bool(turn.checkpoint.get("gated")),
    )


def allowed(row: Row, config: dict[str, object], by_a_person: bool) -> tuple[str, ...]:
    """The row's plan tools, less what agent.json takes away.

    An agent called by another agent has nobody to say yes to a plan.
    """
    names = PLAN_TOOLS[row]
    if row == Row.NO_PLAN and not (config.get("enabled") and by_a_person):
        return ()
    if row >= Row.BESIDE_A_RUN and config.get("tools") == "read":
        return tuple(name for name in names if name == "get_plan")
    return names


def instructions(
    row: Row, plan: Plan | None, config: dict[str, object], turn: Turn
) -> tuple[Instruction, ...]:
    """How to behave in this row, and the plan as it stands."""
    anew = turn.checkpoint.get("replan")
    words = {
        Row.PLAN_FIRST: PLAN_FIRST,
        Row.UNCONFIRMED: REPLAN.format(key=anew) if anew else WAIT,
        Row.ATTEMPT: REMINDER,
        Row.BESIDE_A_RUN: BESIDE,
        Row.CONFIRMED: AFTER_START,
    }
    said = [Instruction(90, words[row])] if row in words else []
    if plan is None or row in (Row.PLAN_FIRST, Row.NO_PLAN):
        return tuple(said)
    return (Instruction(int(str(config.get("priority") or 80)), plan_text(plan)), *said)
