"""Which plan a command without an ID means: the one that cannot be mistaken, or none."""

from __future__ import annotations

from django.db.models import F

from agents.errors import Conflict, NotFound
from console.auth.users import local_owner
from plans.models import OPEN, Plan

MOST = 20  # candidates listed


def plan_named(id: int | None, *, to_read: bool = False) -> Plan:
    """The plan with this number; without one, the only open plan in a drawer.

    To read one, any plan does if there is only one.
    """
    plans = Plan.objects.filter(conversation__owner=local_owner())
    if id is not None:
        plan = plans.filter(pk=id).first()
        if plan is None:
            raise NotFound(f"There is no plan {id}.")
        return plan
    mine = plans.filter(conversation__parent_call=None).order_by("pk")
    possible = list(mine.filter(state__in=OPEN, conversation__active_plan__plan__pk=F("pk")))
    if not possible and to_read:
        possible = list(mine)
    return only_one(possible, list(mine))


def only_one(possible: list[Plan], plans: list[Plan]) -> Plan:
    if len(possible) == 1:
        return possible[0]
    if not plans:
        raise NotFound("There is no plan yet.")
    listed = "; ".join(f"{plan.pk} “{plan.title}” (v{plan.version})" for plan in possible[-MOST:])
    if not possible:
        last = plans[-1]
        raise Conflict(f"No plan is open. Name one by its ID, such as {last.pk} “{last.title}”.")
    raise Conflict(f"{len(possible)} plans are possible: name one by its ID. {listed}.")
