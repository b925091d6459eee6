"""A plan's budget: reached = paused with the reason, raised = it goes on."""

from __future__ import annotations

from django.db import transaction

from agents.actors import Actor
from agents.config.store import read_agent
from agents.engine.budget import NAMES
from agents.errors import Invalid, NotFound
from agents.models import Conversation, Turn
from agents.turn_exceptions import TurnWaits
from plans.actions.run import start_run
from plans.expected_version import demand_version
from plans.limits import why_over
from plans.models import Plan, Run
from plans.queries import demand_open, lock_plan, record_event, reload
from plans.tracing import operation


def first_budget(conversation: Conversation) -> dict[str, object]:
    """What agent.json sets for each of the agent's plans."""
    try:
        limits = read_agent(conversation.agent_id).file.budget.model_dump()
    except NotFound:
        return {}
    return {name: limit for name, limit in limits.items() if limit is not None}


def check_budget(turn: Turn) -> None:
    """Before a model call of a run: a budget that is used up pauses it."""
    plan = reload(Plan(pk=turn.checkpoint["plan"]))
    if plan.budget and (what := why_over(plan)):
        raise TurnWaits(Turn.WaitingFor.PAUSE, because=f"budget: {what}")


@operation("raise_budget")
@transaction.atomic
def raise_budget(
    plan: Plan, by: Actor, limits: dict[str, object], version: int | None = None
) -> Plan:
    """Set new limits (None = none any more) and go on, if the old ones had halted the run."""
    plan = lock_plan(plan)
    demand_open(plan)
    demand_version(plan, version)
    for name, limit in limits.items():
        if name not in NAMES or (limit is not None and not is_positive(limit)):
            raise Invalid(f"A budget is a positive number of {', '.join(NAMES)}.")
    budget = {**plan.budget, **limits}
    plan.budget = {name: limit for name, limit in budget.items() if limit is not None}
    plan.save(update_fields=["budget"])
    record_event(plan, "plan.updated", by, budget=plan.budget)
    halted = plan.run == Run.PAUSED and plan.pause_reason == Plan.PauseReason.BUDGET
    if halted and plan.is_confirmed and not why_over(plan):
        start_run(plan, by)
    return plan


def is_positive(limit: object) -> bool:
    return isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0
