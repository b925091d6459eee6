"""A person changes the text by hand. Each change is a new version that waits for a new yes."""

from __future__ import annotations

from collections.abc import Sequence

from agents.actors import Actor
from agents.config.json_text import merged
from agents.errors import Invalid, NotFound
from agents.models import Turn
from agents.stored_text import gettext
from plans.actions.comments import move_kept
from plans.actions.verb import text_verb
from plans.actions.versions import (
    changed_text,
    find,
    find_unstarted,
    new_subtasks,
    order_subtasks,
    rewrite,
    unstarted,
)
from plans.diff import words_of
from plans.models import PLAN_TEXT, SUBTASK_FIELDS, Plan, PlanText, State, Subtask
from plans.queries import checklist, record_event
from plans.schemas import (
    PlanChange,
    SubtaskChange,
    SubtaskDraft,
    SubtaskEdit,
    SubtaskText,
    demand_small,
)


@text_verb("edit_plan")
def edit_plan(plan: Plan, edit: PlanChange, by: Actor, version: int | None) -> Plan:
    """Title, content, expected outcome, and the whole list of what has not started.

    Metadata is no text: it makes no version and leaves the approval as it is.
    """
    with changed_text(plan, by) as change:
        change.set_text(edit)
        metadata = merged(plan.metadata, edit.metadata or {})
        if metadata != plan.metadata:
            demand_small(metadata)
            plan.metadata = metadata
            plan.save(update_fields=["metadata"])
            what = gettext("Metadata changed")
            record_event(plan, "plan.updated", by, version=plan.version, explanation=what)
        if edit.subtasks is not None:
            order_subtasks(plan, rewritten(plan, edit.subtasks))
        change.explanation = gettext("Edited by hand")
    return plan


def rewritten(plan: Plan, edits: Sequence[SubtaskChange]) -> list[Subtask]:
    """The subtasks of a person's list, in its order."""
    fresh = iter(new_subtasks(plan, [edit for edit in edits if edit.key is None]))
    order: list[Subtask] = []
    for edit in edits:
        if edit.key is None:
            order.append(next(fresh))
        else:
            subtask = find_unstarted(plan, edit.key)
            rewrite(subtask, edit.model_dump(include=edit.model_fields_set))
            order.append(subtask)
    if len({subtask.key for subtask in order}) != len(order):
        raise Invalid(gettext("The same subtask stands in the list twice."))
    return order


@text_verb("add_subtask")
def add_subtask(
    plan: Plan,
    fields: SubtaskText,
    by: Actor,
    version: int | None = None,
    after: str | None = None,
    turn: Turn | None = None,
) -> Plan:
    """At the end, or behind the subtask `after`."""
    with changed_text(plan, by, turn) as change:
        order = unstarted(plan)
        place = len(order) if after is None else place_behind(order, find(plan, after).position)
        order.insert(place, *new_subtasks(plan, [fields]))
        order_subtasks(plan, order)
        change.explanation = gettext("Added “{name}”").format(name=fields.name)
    return plan


def place_behind(order: list[Subtask], position: int | None) -> int:
    """The index among the unstarted ones that follows a place in the checklist."""
    return sum(1 for subtask in order if (subtask.position or 0) <= (position or 0))


@text_verb("update_subtask")
def update_subtask(
    plan: Plan, key: str, changes: dict[str, object], by: Actor, version: int | None = None
) -> Plan:
    with changed_text(plan, by) as change:
        subtask = find_unstarted(plan, key)
        before = subtask.name
        edit = SubtaskEdit.model_validate(changes)
        rewrite(subtask, edit.model_dump(exclude_unset=True))
        change.explanation = gettext("Changed “{name}”").format(name=subtask.name)
        if subtask.name != before:
            change.explanation = gettext("Renamed “{before}” to “{name}”").format(
                before=before, name=subtask.name
            )
    return plan


@text_verb("move_subtask")
def move_subtask(
    plan: Plan, key: str, to_position: int, by: Actor, version: int | None = None
) -> Plan:
    """To a place (1 is the first) in the checklist, as far as what has started allows."""
    with changed_text(plan, by) as change:
        subtask = find_unstarted(plan, key)
        others = [each for each in unstarted(plan) if each.key != key]
        goes_down = to_position > (subtask.position or 0)
        place = place_behind(others, to_position if goes_down else to_position - 1)
        others.insert(place, subtask)
        order_subtasks(plan, others)
        change.explanation = gettext("Moved “{name}”").format(name=subtask.name)
    return plan


@text_verb("remove_subtask")
def remove_subtask(plan: Plan, key: str, by: Actor, version: int | None = None) -> Plan:
    with changed_text(plan, by) as change:
        subtask = find_unstarted(plan, key)
        order_subtasks(plan, [each for each in unstarted(plan) if each.key != key])
        change.explanation = gettext("Removed “{name}”").format(name=subtask.name)
    return plan


@text_verb("restore_subtask")
def restore_subtask(plan: Plan, key: str, by: Actor, version: int | None = None) -> Plan:
    """A removed subtask comes back where it was, under a new key."""
    with changed_text(plan, by) as change:
        gone = plan.subtasks.filter(key=key, position=None).first()
        if gone is None:
            raise Invalid(
                gettext("There is no removed subtask {key} in this plan.").format(key=key[:20])
            )
        text = {field: getattr(gone, field) for field in SUBTASK_FIELDS}
        order = unstarted(plan)
        place = place_behind(order, position_before(plan, key))
        [back] = new_subtasks(plan, [SubtaskDraft.model_validate(text)])
        order.insert(place, back)
        order_subtasks(plan, order)
        move_kept(gone, back)
        change.explanation = gettext("Put back “{name}”").format(name=gone.name)
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


@text_verb("go_back")
def restore_version(plan: Plan, to: int, by: Actor, version: int | None = None) -> Plan:
    """Version n+1 with the text of version `to`, as far as what has started allows.

    What was removed since comes back under new keys; what was added since leaves the list.
    """
    with changed_text(plan, by) as change:
        row = plan.versions.filter(version=to).first()
        if row is None:
            raise NotFound(gettext("The plan has no version {version}.").format(version=to))
        for field in PLAN_TEXT:
            setattr(plan, field, row.snapshot[field])
        plan.save(update_fields=PLAN_TEXT)
        order = subtasks_as_in(plan, row.text)
        order_subtasks(plan, [subtask for subtask, _ in order])
        for subtask, key in order:
            if subtask.key != key and (gone := plan.subtasks.filter(key=key).first()):
                move_kept(gone, subtask)
        change.explanation = gettext("Went back to v{version}").format(version=to)
    return plan


def subtasks_as_in(plan: Plan, text: PlanText) -> list[tuple[Subtask, str]]:
    """The unstarted subtasks as they were, each with the key it had, in the order they had.

    What has started stays. One that came back before under another key needs no copy: it is
    found by its text.
    """
    here = {subtask.key: subtask for subtask in checklist(plan)}
    todo = {key: subtask for key, subtask in here.items() if subtask.state == State.TODO}
    wanted = [each for each in text["subtasks"] if each["key"] in todo or each["key"] not in here]
    keys = {each["key"] for each in wanted}
    spare = {
        words_of({field: getattr(subtask, field) for field in SUBTASK_FIELDS}): subtask
        for key, subtask in todo.items()
        if key not in keys
    }
    order: list[Subtask | SubtaskDraft] = []
    for each in wanted:
        subtask = todo.get(each["key"]) or spare.pop(words_of(each), None)
        if subtask is not None:
            rewrite(subtask, dict(each))
        order.append(subtask or SubtaskDraft.model_validate(each))
    fresh = iter(new_subtasks(plan, [each for each in order if isinstance(each, SubtaskDraft)]))
    now = [each if isinstance(each, Subtask) else next(fresh) for each in order]
    return [(subtask, each["key"]) for subtask, each in zip(now, wanted, strict=True)]
