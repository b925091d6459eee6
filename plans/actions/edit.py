"""A person changes the text by hand. Each change is a new version that waits for a new yes."""

from __future__ import annotations

from agents.actors import Actor
from agents.errors import Invalid
from plans.actions.ordering import (
    demand_unstarted,
    find,
    new_subtasks,
    order_subtasks,
    rewrite,
    unstarted,
)
from plans.actions.versions import changed_text
from plans.models import SUBTASK_TEXT, Plan, Subtask
from plans.queries import checklist, record_event
from plans.schemas import PlanEdit, SubtaskDraft, SubtaskEdit
from plans.tracing import operation


@operation("edit_plan")
def edit_plan(plan: Plan, edit: PlanEdit, by: Actor, version: int | None) -> Plan:
    """Title, content, expected outcome, and the whole list of what has not started."""
    with changed_text(plan, by, version) as change:
        plan = change.plan
        change.set_text(edit)
        if edit.metadata is not None:
            set_metadata(plan, edit.metadata, by)
        if edit.subtasks is not None:
            order_subtasks(plan, rewritten(plan, edit.subtasks))
        change.explanation = "Edited by hand"
    return plan


def set_metadata(plan: Plan, patch: dict[str, object], by: Actor) -> None:
    """Metadata is no text: it makes no version and leaves the approval as it is."""
    metadata = merged(plan.metadata, patch)
    if metadata != plan.metadata:
        plan.metadata = metadata
        plan.save(update_fields=["metadata"])
        record_event(plan, "plan.updated", by, version=plan.version, explanation="Metadata changed")


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


@operation("add_subtask")
def add_subtask(
    plan: Plan,
    fields: SubtaskDraft,
    by: Actor,
    version: int | None = None,
    after: str | None = None,
) -> Plan:
    """At the end, or behind the subtask `after`."""
    with changed_text(plan, by, version) as change:
        plan = change.plan
        order = unstarted(plan)
        order.insert(place_after(plan, order, after), *new_subtasks(plan, [fields]))
        order_subtasks(plan, order)
        change.explanation = f"Added “{fields.name}”"
    return plan


def place_after(plan: Plan, order: list[Subtask], after: str | None) -> int:
    """The index among the unstarted ones that follows the subtask `after`."""
    if after is None:
        return len(order)
    return place_behind(order, find(plan, after).position or 0)


def place_behind(order: list[Subtask], position: int) -> int:
    return sum(1 for subtask in order if (subtask.position or 0) <= position)


@operation("update_subtask")
def update_subtask(
    plan: Plan, key: str, changes: dict[str, object], by: Actor, version: int | None = None
) -> Plan:
    with changed_text(plan, by, version) as change:
        subtask = demand_unstarted(find(change.plan, key))
        before = subtask.name
        rewrite(subtask, dict(SubtaskEdit.model_validate({"name": before, **changes})))
        change.explanation = say_changed(before, subtask)
    return change.plan


def say_changed(before: str, subtask: Subtask) -> str:
    if subtask.name != before:
        return f"Renamed “{before}” to “{subtask.name}”"
    return f"Changed “{subtask.name}”"


@operation("move_subtask")
def move_subtask(
    plan: Plan, key: str, to_position: int, by: Actor, version: int | None = None
) -> Plan:
    """To a place (1 is the first) in the checklist, as far as what has started allows."""
    with changed_text(plan, by, version) as change:
        plan = change.plan
        subtask = demand_unstarted(find(plan, key))
        others = [each for each in unstarted(plan) if each.key != key]
        back = to_position > (subtask.position or 0)
        limit = to_position if back else to_position - 1
        others.insert(sum(1 for each in others if (each.position or 0) <= limit), subtask)
        order_subtasks(plan, others)
        change.explanation = f"Moved “{subtask.name}”"
    return plan


@operation("remove_subtask")
def remove_subtask(plan: Plan, key: str, by: Actor, version: int | None = None) -> Plan:
    with changed_text(plan, by, version) as change:
        plan = change.plan
        subtask = demand_unstarted(find(plan, key))
        order_subtasks(plan, [each for each in unstarted(plan) if each.key != key])
        change.explanation = f"Removed “{subtask.name}”"
    return plan


@operation("restore_subtask")
def restore_subtask(plan: Plan, key: str, by: Actor, version: int | None = None) -> Plan:
    """A removed subtask comes back where it was, under a new key."""
    with changed_text(plan, by, version) as change:
        plan = change.plan
        gone = plan.subtasks.filter(key=key, position=None).first()
        if gone is None:
            raise Invalid(f"There is no removed subtask {key[:20]} in this plan.")
        words = {field: getattr(gone, field) for field in SUBTASK_TEXT}
        order = unstarted(plan)
        place = place_behind(order, position_before(plan, key))
        order.insert(place, *new_subtasks(plan, [SubtaskDraft.model_validate(words)]))
        order_subtasks(plan, order)
        change.explanation = f"Put back “{gone.name}”"
    return plan


def position_before(plan: Plan, key: str) -> int:
    """That of the nearest subtask before a removed one which is still in the list; 0 for none."""
    positions = dict(checklist(plan).values_list("key", "position"))
    for version in plan.versions.order_by("-version").iterator():
        keys = [each["key"] for each in version.snapshot["subtasks"]]
        if key in keys:
            before = [positions[each] for each in keys[: keys.index(key)] if each in positions]
            return (before[-1] or 0) if before else 0
    return 0
