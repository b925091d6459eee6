"""The plan as it was approved, for work that goes on under that while another version waits.

What a model or a person has changed since was not agreed to: it neither instructs the attempt that
is under way nor can that attempt read it.
"""

from __future__ import annotations

from copy import copy

from plans.models import PLAN_TEXT, SUBTASK_TEXT, Plan, PlanVersion, State, Subtask
from plans.queries import checklist


def approved_text(plan: Plan) -> tuple[Plan, list[Subtask]]:
    """Copies of the plan and its checklist: the approved version's text, today's states.

    Not to be saved. Where the approval holds, they are the plan and checklist as they are.
    """
    if plan.is_confirmed or plan.approved_version is None:
        return plan, list(checklist(plan))
    kept = PlanVersion.objects.get(plan=plan, version=plan.approved_version).snapshot
    approved = copy(plan)
    approved.version = plan.approved_version
    for field in PLAN_TEXT:
        setattr(approved, field, kept[field])
    now = {subtask.key: subtask for subtask in plan.subtasks.all()}
    return approved, [with_text(now[text["key"]], text) for text in kept["subtasks"]]


def with_text(subtask: Subtask, text: dict[str, str]) -> Subtask:
    then = copy(subtask)
    for field in SUBTASK_TEXT:
        setattr(then, field, text[field])
    if then.position is None and then.state != State.DONE:
        then.state = State.ABANDONED
    return then
