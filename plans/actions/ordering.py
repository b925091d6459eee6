"""The order of the checklist when text changes: what has started keeps its place."""

from __future__ import annotations

from agents.errors import Conflict, Invalid
from plans.models import SUBTASK_TEXT, Plan, State, Subtask
from plans.queries import checklist, new_keys
from plans.schemas import MOST_SUBTASKS, SubtaskDraft


def order_subtasks(plan: Plan, order: list[Subtask], reason: str = "removed") -> None:
    """Give the unstarted subtasks in `order` the places between those that have started.

    Unstarted ones that are not in `order` leave the checklist, for that reason. Positions become
    1..n.
    """
    todo = iter(order)
    laid: list[Subtask] = []
    before = list(checklist(plan))
    for subtask in before:
        if subtask.state != State.TODO:
            laid.append(subtask)
        elif (following := next(todo, None)) is not None:
            laid.append(following)
    laid.extend(todo)
    demand_room(len(laid), len(before))
    kept = {subtask.pk for subtask in laid if subtask.pk}
    remove([subtask for subtask in before if subtask.pk not in kept], reason)
    for position, subtask in enumerate(laid, 1):
        if subtask.pk is None or subtask.position != position:
            subtask.position = position
            subtask.save()


def demand_room(count: int, before: int) -> None:
    """A plan may be made without subtasks; one that has some keeps at least one."""
    if count == 0 and before:
        raise Invalid("A plan needs at least one subtask.")
    if count > MOST_SUBTASKS:
        raise Invalid(
            f"A plan has at most {MOST_SUBTASKS} subtasks; this one would have {count:,}."
        )


def remove(subtasks: list[Subtask], reason: str) -> None:
    """Out of the checklist; they live on in versions and timeline."""
    for subtask in subtasks:
        subtask.position, subtask.state, subtask.reason = None, State.ABANDONED, reason
        subtask.save(update_fields=["position", "state", "reason"])


def unstarted(plan: Plan) -> list[Subtask]:
    return list(checklist(plan).filter(state=State.TODO))


def new_subtasks(plan: Plan, drafts: list[SubtaskDraft]) -> list[Subtask]:
    """Rows with fresh keys, not saved yet: lay_out gives them their place."""
    return [
        Subtask(
            plan=plan,
            key=key,
            name=draft.name,
            description=draft.description,
            expected_outcome=draft.expected_outcome,
        )
        for key, draft in zip(new_keys(plan, len(drafts)), drafts, strict=True)
    ]


def find(plan: Plan, key: str) -> Subtask:
    """A subtask of the checklist. Raises Invalid where there is none of that key."""
    subtask = checklist(plan).filter(key=key).first()
    if subtask is None:
        raise Invalid(f"There is no subtask {key[:20]} in this plan.")
    return subtask


def demand_unstarted(subtask: Subtask) -> Subtask:
    if subtask.state != State.TODO:
        raise Conflict("Only subtasks that have not started can change.", subtask.plan.version)
    return subtask


def rewrite(subtask: Subtask, changes: dict[str, object]) -> bool:
    """Set the text fields that are given; True if anything is different now."""
    before = [getattr(subtask, field) for field in SUBTASK_TEXT]
    for field in SUBTASK_TEXT:
        if (value := changes.get(field)) is not None:
            setattr(subtask, field, value)
    if not subtask.name:
        raise Invalid("Give the subtask a name.")
    changed = before != [getattr(subtask, field) for field in SUBTASK_TEXT]
    if changed and subtask.pk:
        subtask.save(update_fields=SUBTASK_TEXT)
    return changed
