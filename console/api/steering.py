"""/api/plans/{id}: replanning the rest, and the budget."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Router
from ninja.responses import Status
from pydantic import Field

from console.api.auth import person
from console.api.lookup import plan_of
from console.api.plan_shapes import PlanShape
from console.api.plans import Version, shown, version_seen
from console.api.shapes import Body, TurnShape, answers
from console.api.turns import turn_shape
from plans import actions

router = Router(tags=["plans"])


class Anew(Body):
    """`from` is the key of the first subtask to be replanned; without it the next open one."""

    from_key: str | None = Field(default=None, alias="from")
    hint: str = ""


class Limits(Body):
    """New limits; what is not named stays, null takes a limit away."""

    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    model_calls: int | None = None


@router.post("/{id}/replan", response=answers(TurnShape, 404, 409, 412, status=202))
def replan(
    request: HttpRequest, id: int, body: Anew | None = None, if_match: Version = None
) -> Status[dict[str, object] | None]:
    """Ask the planner for another way; done subtasks stay, the new version waits for a yes."""
    wanted = body or Anew()
    plan = plan_of(request, id)
    version = version_seen(plan, if_match)
    turn = actions.replan_rest(
        plan, person(request).username, wanted.from_key, wanted.hint, version
    )
    return Status(202, turn_shape(turn))


@router.post("/{id}/budget", response=answers(PlanShape, 404, 409, 412))
def raise_budget(
    request: HttpRequest, id: int, body: Limits, if_match: Version = None
) -> HttpResponse:
    """Set limits, and go on if the old ones had halted the run."""
    plan = plan_of(request, id)
    limits, version = body.model_dump(exclude_unset=True), version_seen(plan, if_match)
    return shown(actions.raise_budget(plan, person(request).username, limits, version))
