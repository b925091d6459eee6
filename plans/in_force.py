"""Documents in force: plans of text alone that a person has approved.

One is in force from the yes on, in the version that was approved last, until it is taken out of
force. Meanwhile a next version may wait for its yes: then the plan's row has the text of that one.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from agents.statements import prepared
from plans.models import Plan, State, Subtask


def is_in_force(plan: Plan) -> bool:
    is_approved = plan.approved_version is not None and plan.state != State.ABANDONED
    return is_approved and not plan.subtasks.filter(position__isnull=False).exists()


@prepared
def documents_in_force(conversation: int) -> QuerySet[Plan]:
    """The oldest first."""
    rows = Plan.objects.filter(conversation=conversation, approved_version__isnull=False)
    listed = Subtask.objects.filter(plan=OuterRef("pk"), position__isnull=False)
    return rows.exclude(state=State.ABANDONED).exclude(Exists(listed)).order_by("pk")
