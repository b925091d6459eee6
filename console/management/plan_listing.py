"""The lines of `manage.py plan list`."""

from __future__ import annotations

from collections.abc import Sequence

from plans.models import ActivePlan, Plan
from plans.search import Row, rows_of


def active_among(plans: Sequence[Plan]) -> set[int]:
    """Those in the drawer of their conversation."""
    pointers = ActivePlan.objects.filter(plan__in=[plan.pk for plan in plans])
    return {pk for pk in pointers.values_list("plan_id", flat=True) if pk}


def lines_of(plans: Sequence[Plan]) -> list[str]:
    """One a plan: its number, how it stands, how many subtasks are settled, the active ones marked.

    The order is that of the plans.
    """
    active, rows = active_among(plans), {row.id: row for row in rows_of([p.pk for p in plans])}
    return [line_of(rows[plan.pk], plan.pk in active) for plan in plans if plan.pk in rows]


def line_of(row: Row, is_active: bool) -> str:
    settled = f"{row.settled}/{row.total}"
    active = "*" if is_active else " "
    return f"{row.id}  {row.standing.word:28}  {settled:>7}  {active} {row.title}"
