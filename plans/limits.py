"""Which of a plan's limits is used up."""

from __future__ import annotations

from agents.engine.budget import reached, used_by
from agents.errors import Conflict
from agents.models import Lane, Turn
from plans.expected_version import NOT_STARTED
from plans.models import Plan, Run


def why_over(plan: Plan) -> str:
    """The limit that is used up, in words; nothing while there is room."""
    turns = Turn.objects.filter(
        conversation_id=plan.conversation_id, lane=Lane.RUN, checkpoint__plan=plan.pk
    )
    return reached(plan.budget, used_by(turns))


def demand_room(plan: Plan) -> None:
    """A run that rests at a limit would only rest again: the limit is raised first."""
    halted = plan.run == Run.PAUSED and plan.pause_reason == Plan.PauseReason.BUDGET
    if halted and (what := why_over(plan)):
        raise Conflict(
            f"The budget is used up: {what}. {NOT_STARTED} Raise the limit in the drawer, "
            f"or with POST /api/plans/{plan.pk}/budget."
        )
