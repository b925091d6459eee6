"""What a plan is found by: its own text and goal, and of each subtask text and outcome."""

from __future__ import annotations

from collections.abc import Iterator

from agents import search
from plans.models import SUBTASK_TEXT, Plan, Subtask


def index_plan(plan: Plan) -> None:
    """After each change of what it is found by, in the same transaction."""
    rows = Subtask.objects.filter(plan=plan, position__isnull=False).order_by("position")
    subtasks = rows.values_list(*SUBTASK_TEXT, "outcome")
    texts = [*texts_of(plan), *(text for subtask in subtasks for text in subtask)]
    search.index_plan(plan.conversation_id, plan.pk, "\n".join(texts))


def texts_of(plan: Plan) -> Iterator[str]:
    yield from (plan.title, plan.goal, plan.content, plan.expected_outcome, plan.outcome)
