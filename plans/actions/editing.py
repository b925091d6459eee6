"""A person changes the text by hand. Each change is a new version that waits for a new yes."""

from __future__ import annotations

from agents.errors import Invalid
from plans.actions.layout import (
    demand_unstarted,
    find,
    lay_out,
    new_subtasks,
    rewrite,
    unstarted,
)
from plans.actions.versions import changing
from plans.models import Plan, Subtask
from plans.operations import operation
from plans.rows import tell
from plans.shapes import PlanEdit, SubtaskDraft, SubtaskEdit


@operation
def edit_plan(plan: Plan, edit: PlanEdit, by: str, version: int | None) -> Plan:
    """Title, content, expected outcome, and the whole list of what has not started."""
    with changing(plan, by, version) as change:
        plan = change.plan
        for field in ("title", "content", "expected_outcome"):
            if (value := getattr(edit, field)) is not None:
                setattr(plan, field, value)
        if edit.metadata is not None:
            describe(plan, edit.metadata, by)
        plan.save(update_fields=["title", "content", "expected_outcome", "metadata"])
        if edit.subtasks is not None:
            lay_out(plan, rewritten(plan, edit.subtasks))
        change.explanation = "Edited by hand"
    return plan


def describe(plan: Plan, patch: dict[str, object], by: str) -> None:
    """Metadata is no text: it makes no version and leaves the yes as it is."""
    metadata = merged(plan.metadata, patch)
    if metadata != plan.metadata:
        plan.metadata = metadata
        tell(plan, "plan.updated", by, version=plan.version, explanation="Metadata changed")


def merged(old: object, patch: dict[str, object]) -> dict[str, object]:
    """RFC 7396: null removes a key, an object merges, anything else replaces."""
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value) if isinstance(value, dict) else value
    return result


def rewritten(plan: Plan, edits: list[SubtaskEdit]) -> list[Subtask]:
    """The subtasks of a person's list, in its order."""
    fresh = iter(new_subtasks(plan, [edit for edit in edits if edit.key is None]))
    order: list[Subtask] = []
    for edit in edits:
        if edit.key is None:
            order.append(next(fresh))
            continue
        subtask = demand_unstarted(find(plan, edit.key))
        rewrite(subtask, edit.model_dump(include=edit.model_fields_set))
        order.append(subtask)
    if len({subtask.key for subtask in order}) != len(order):
        raise Invalid("The same subtask stands in the list twice.")
    return order


@operation
def add_subtask(
    plan: Plan, fields: SubtaskDraft, by: str, version: int | None = None, after: str | None = None
) -> Plan:
    """At the end, or behind the subtask `after`."""
    with changing(plan, by, version) as change:
        plan = change.plan
        order = unstarted(plan)
        order.insert(place_after(plan, order, after), *new_subtasks(plan, [fields]))
        lay_out(plan, order)
        change.explanation = f"Added “{fields.name}”"
    return plan


def place_after(plan: Plan, order: list[Subtask], after: str | None) -> int:
    """The index among the unstarted ones that follows the subtask `after`."""
    if after is None:
        return len(order)
    position = find(plan, after).position or 0
    return sum(1 for subtask in order if (subtask.position or 0) <= position)


@operation
def update_subtask(
    plan: Plan, key: str, changes: dict[str, object], by: str, version: int | None = None
) -> Plan:
    with changing(plan, by, version) as change:
        subtask = demand_unstarted(find(change.plan, key))
        before = subtask.name
        rewrite(subtask, dict(SubtaskEdit.model_validate({"name": before, **changes})))
        change.explanation = say_changed(before, subtask)
    return change.plan


def say_changed(before: str, subtask: Subtask) -> str:
    if subtask.name != before:
        return f"Renamed “{before}” to “{subtask.name}”"
    return f"Changed “{subtask.name}”"


@operation
def move_subtask(
    plan: Plan, key: str, to_position: int, by: str, version: int | None = None
) -> Plan:
    """To a place (1 is the first) in the checklist, as far as what has started allows."""
    with changing(plan, by, version) as change:
        plan = change.plan
        subtask = demand_unstarted(find(plan, key))
        others = [each for each in unstarted(plan) if each.key != key]
        back = to_position > (subtask.position or 0)
        limit = to_position if back else to_position - 1
        others.insert(sum(1 for each in others if (each.position or 0) <= limit), subtask)
        lay_out(plan, others)
        change.explanation = f"Moved “{subtask.name}”"
    return plan


@operation
def remove_subtask(plan: Plan, key: str, by: str, version: int | None = None) -> Plan:
    with changing(plan, by, version) as change:
        plan = change.plan
        subtask = demand_unstarted(find(plan, key))
        lay_out(plan, [each for each in unstarted(plan) if each.key != key])
        change.explanation = f"Removed “{subtask.name}”"
    return plan
