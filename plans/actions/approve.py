"""A person's yes to one version: the only thing that opens the gate."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents.actors import PERSON
from agents.errors import Conflict, Invalid
from plans.actions.close import finish_plan
from plans.actions.run import start_run
from plans.expected_version import NOT_STARTED, VersionConflict, demand_version
from plans.models import Attempt, Plan, Run, State
from plans.queries import checklist, demand_open, lock_plan, record_event
from plans.tracing import operation


@operation("approve")
@transaction.atomic
def approve_plan(plan: Plan, version: int, by: str, run: str = "") -> Plan:
    """Say yes to exactly this version, and start or resume the run (`all`, `next` or `no`).

    Without `run` it runs in the mode it ran in before, the first time to its end.
    Another version is refused with the current one. The same yes again changes nothing while the
    plan runs or after it has finished; where it rests, it says what would go on with it.
    """
    if run not in ("", "all", "next", "no"):
        raise Invalid("run is all, next or no.")
    plan = lock_plan(plan)
    if plan.state == State.DONE and plan.approved_version == version:
        return plan  # the same yes again, after the plan has finished
    demand_open(plan)
    demand_version(plan, version, NOT_STARTED)
    if not plan.is_confirmed:
        record_approval(plan, version, by)
        if not checklist(plan).exists():  # a document: there is nothing to run
            return finish_plan(plan, f"Approved as v{version}.", by)
    elif plan.is_live or run == "no":
        return plan
    else:
        demand_untried(plan)
    if run != "no":
        start_run(plan, by, run, {})
    return plan


def record_approval(plan: Plan, version: int, by: str) -> None:
    """One compare-and-set, so that two people cannot approve two different things."""
    approved = Plan.objects.filter(pk=plan.pk, version=version).update(
        approved_version=version,
        approved_by=by,
        approved_kind=PERSON,
        approved_at=timezone.now(),
    )
    if not approved:
        raise VersionConflict("The plan has just changed. Nothing was started.", plan.pk, None)
    plan.refresh_from_db(fields=["approved_version", "approved_by", "approved_kind", "approved_at"])
    record_event(plan, "plan.approved", by, version=version)


def demand_untried(plan: Plan) -> None:
    """A late double click must not start a run again that has failed or was stopped since."""
    if plan.run == Run.PAUSED:
        how = "paused: resume it"
    elif Attempt.objects.filter(subtask__plan=plan, version=plan.version).exists():
        how = "not running any more: run it"
    else:
        return
    raise Conflict(f"v{plan.version} is approved already. The plan is {how}.", plan.version)
