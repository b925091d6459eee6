"""A plan's budget: reached = paused with the reason, raised = it goes on."""

from __future__ import annotations

from django.db import transaction

from agents.agent_file.record import read_agent
from agents.errors import Invalid, Missing
from agents.models import Conversation, Lane, Turn
from agents.turns.budget import NAMES, reached, used_by
from agents.turns.interruptions import TurnWaits
from plans.actions.running import set_off
from plans.models import Plan, Run
from plans.operations import operation
from plans.rows import demand_open, lock, tell


def first_budget(conversation: Conversation) -> dict[str, object]:
    """What agent.json sets for each of the agent's plans."""
    try:
        limits = read_agent(conversation.agent_id).file.budget.model_dump()
    except Missing:
        return {}
    return {name: limit for name, limit in limits.items() if limit is not None}


def check_budget(turn: Turn) -> None:
    """Before a model call of a run: a budget that is used up pauses it."""
    plan = Plan.objects.get(pk=turn.checkpoint["plan"])
    if plan.budget and (what := why_over(plan)):
        raise TurnWaits(Turn.WaitingFor.PAUSE, because=f"budget: {what}")


def why_over(plan: Plan) -> str:
    """The limit that is used up, in words; nothing while there is room."""
    turns = Turn.objects.filter(
        conversation_id=plan.conversation_id, lane=Lane.RUN, checkpoint__plan=plan.pk
    )
    return reached(plan.budget, used_by(turns))


@operation
@transaction.atomic
def raise_budget(plan: Plan, by: str, limits: dict[str, object]) -> Plan:
    """Set new limits (None = none any more) and go on, if the old ones had halted the run."""
    plan = lock(plan)
    demand_open(plan)
    for name, limit in limits.items():
        if name not in NAMES or (limit is not None and not is_positive(limit)):
            raise Invalid(f"A budget is a positive number of {', '.join(NAMES)}.")
    budget = {**plan.budget, **limits}
    plan.budget = {name: limit for name, limit in budget.items() if limit is not None}
    plan.save(update_fields=["budget"])
    tell(plan, "plan.updated", by, budget=plan.budget)
    halted = plan.run == Run.PAUSED and plan.pause_reason == Plan.PauseReason.BUDGET
    if halted and plan.is_confirmed and not why_over(plan):
        set_off(plan, by, str(plan.run_options.get("mode") or "all"))
    return plan


def is_positive(limit: object) -> bool:
    return isinstance(limit, int | float) and not isinstance(limit, bool) and limit > 0
