"""A person's yes to one version: the only thing that opens the gate."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents.errors import Invalid, NotNow
from plans.actions.running import set_off
from plans.models import Attempt, Plan, Run
from plans.operations import operation
from plans.rows import checklist, demand_open, lock, tell


@operation
@transaction.atomic
def approve(plan: Plan, version: int, by: str, run: str = "all") -> Plan:
    """Say yes to exactly this version, and start or resume the run (`all`, `next` or `no`).

    Another version is refused with the current one; the same yes twice gives the same answer.
    """
    if run not in ("all", "next", "no"):
        raise Invalid("run is all, next or no.")
    plan = lock(plan)
    demand_open(plan)
    if version != plan.version:
        raise NotNow(
            f"The plan is now v{plan.version}, not v{version}. Nothing was started.", plan.version
        )
    if not checklist(plan).exists():
        raise Invalid("A plan needs at least one subtask.")
    if not plan.is_confirmed:
        say_yes(plan, version, by)
    elif plan.is_live or was_tried(plan):
        return plan
    if run != "no":
        set_off(plan, by, run, {})
    return plan


def say_yes(plan: Plan, version: int, by: str) -> None:
    """One compare-and-set, so that two people cannot approve two different things."""
    approved = Plan.objects.filter(pk=plan.pk, version=version).update(
        approved_version=version, approved_by=by, approved_at=timezone.now()
    )
    if not approved:
        raise NotNow("The plan has just changed. Nothing was started.")
    plan.refresh_from_db(fields=["approved_version", "approved_by", "approved_at"])
    tell(plan, "plan.approved", by, version=version)


def was_tried(plan: Plan) -> bool:
    """A late double click must not start a run again that has failed or was stopped since."""
    attempts = Attempt.objects.filter(subtask__plan=plan, version=plan.version)
    return attempts.exists() or plan.run == Run.PAUSED
