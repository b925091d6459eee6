"""Documents in force: plans of text alone that a person has approved.

One is in force from the yes on, in the version that was approved last, until it is taken out of
force. Meanwhile a next version may wait for its yes: then the plan's row has the text of that one.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from django.db.models import Exists, OuterRef, QuerySet

from agents.statements import prepared
from agents.text.tokens import estimate_tokens
from plans.models import PLAN_TEXT, Plan, PlanVersion, State, Subtask

MOST_TOKENS = 4000  # of all documents that a prompt has whole, where the rest can be read

KEEP_TO = "The person has approved what follows. Keep to it in all that you do here."
TO_READ = "Document {n}, “{title}” (v{version}), is in force and not shown: read it with get_plan."


def is_in_force(plan: Plan) -> bool:
    is_approved = plan.approved_version is not None and plan.state != State.ABANDONED
    return is_approved and not plan.subtasks.filter(position__isnull=False).exists()


@prepared
def documents_in_force(conversation: int) -> QuerySet[Plan]:
    """The oldest first."""
    rows = Plan.objects.filter(conversation=conversation, approved_version__isnull=False)
    listed = Subtask.objects.filter(plan=OuterRef("pk"), position__isnull=False)
    return rows.exclude(state=State.ABANDONED).exclude(Exists(listed)).order_by("pk")


def as_approved(document: Plan) -> Plan:
    """With the text that is in force: a copy, not to be saved, where another version waits."""
    if document.is_confirmed:
        return document
    kept = PlanVersion.objects.get(plan=document, version=document.approved_version or 0)
    approved = copy(document)
    approved.version = kept.version
    for field in PLAN_TEXT:
        setattr(approved, field, kept.snapshot[field])
    return approved


def in_prompt(documents: Iterable[Plan], *, readable: bool) -> str:
    """Each whole while there is room; where `readable` by a tool, the others are named."""
    parts, room = [KEEP_TO], MOST_TOKENS
    for each in map(as_approved, documents):
        text = document_text(each)
        needed = estimate_tokens(text)
        if readable and needed > room:
            text = TO_READ.format(n=each.pk, title=each.title, version=each.version)
        else:
            room -= needed
        parts.append(text)
    return "\n\n".join(parts)


def document_text(document: Plan) -> str:
    head = f"Document {document.pk}: {document.title} (v{document.version}, in force)"
    outcome = f"Expected outcome: {document.expected_outcome}" if document.expected_outcome else ""
    return "\n".join(filter(None, (head, document.content, outcome)))
