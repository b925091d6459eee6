"""A person's yes to one version: the only thing that opens the gate."""

from __future__ import annotations

from collections.abc import Collection

from django.utils import timezone

from agents.actors import PERSON
from agents.errors import Conflict, Invalid
from agents.stored_text import gettext
from plans.actions.documents import put_in_force
from plans.actions.run import start_run
from plans.actions.verb import demand_in_view, verb
from plans.comments import demand_none_unseen
from plans.expected_version import NOT_STARTED, VersionConflict
from plans.models import Attempt, Plan, Run, State
from plans.queries import checklist, record_event, snapshot_text
from plans.schemas import demand_readable


def was_finished(plan: Plan, version: int | None) -> bool:
    """The same yes comes again, after the plan has finished."""
    return plan.state == State.DONE and plan.approved_version == version


@verb("approve", open=True, also=demand_in_view, version=NOT_STARTED, already=was_finished)
def approve_plan(
    plan: Plan,
    version: int,
    by: str,
    run: str = "",
    without_comments: Collection[str] | None = (),
) -> Plan:
    """Say yes to exactly this version, and start or resume the run (`all`, `next` or `no`).

    Without `run` it runs in the mode it ran in before, the first time to its end.
    Another version is refused with the current one. The same yes again changes nothing while the
    plan runs or after it has finished; where it rests, it says what would go on with it.
    Comments that went to nobody are in the way, but those of which `without_comments` has the
    digest (plans/comments.py); None stands for all of them.
    """
    if run not in ("", "all", "next", "no"):
        raise Invalid(gettext("run is all, next or no."))
    if not plan.is_confirmed:
        demand_none_unseen(plan, without_comments)
        demand_readable([plan.goal, snapshot_text(plan)])
        save_approval(plan, version, by)
        if not checklist(plan).exists():  # a document: there is nothing to run
            return put_in_force(plan, by)
    elif plan.is_live or run == "no":
        return plan
    else:
        demand_not_begun(plan, version)
    if run != "no":
        start_run(plan, by, run, {})
    return plan


def save_approval(plan: Plan, version: int, by: str) -> None:
    """One compare-and-set, so that two people cannot approve two different things."""
    approval = {"approved_version": version, "read_version": version, "approved_by": by}
    approval |= {"approved_kind": PERSON}
    same = Plan.objects.filter(pk=plan.pk, version=version)
    if not same.update(**approval, approved_at=timezone.now()):
        sentence = gettext("The plan has just changed. Nothing was started.")
        raise VersionConflict(sentence, plan.pk, None)
    plan.refresh_from_db(fields=[*approval, "approved_at"])
    record_event(plan, "plan.approved", by, version=version)


def demand_not_begun(plan: Plan, version: int) -> None:
    """A late double click must not start a run again that has failed or was stopped since."""
    if plan.run == Run.PAUSED:
        sentence = gettext("v{version} is approved already. The plan is paused: resume it.")
    elif Attempt.objects.filter(subtask__plan=plan, version=version).exists():
        sentence = gettext(
            "v{version} is approved already. The plan is not running any more: run it."
        )
    else:
        return
    raise Conflict(sentence.format(version=version), version)
