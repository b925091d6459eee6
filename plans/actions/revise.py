"""A model changes the text: a patch, in which what is not mentioned keeps its place."""

from __future__ import annotations

from agents.actors import Actor
from agents.engine.lifecycle import request_stop
from agents.errors import Conflict, Invalid
from plans.actions.ordering import find, new_subtasks, order_subtasks, rewrite, unstarted
from plans.actions.versions import changed_text
from plans.models import Plan, State, Subtask
from plans.queries import run_turn_of
from plans.schemas import Revision, SubtaskDraft, SubtaskRevision
from plans.tracing import operation


@operation("revise_plan")
def revise_plan(plan: Plan, revision: Revision, by: Actor) -> Plan:
    """Change, add, remove, reorder what has not started; only an explicit removal removes.

    Rewording or removing the running subtask stops its attempt, which does not count.
    """
    with changed_text(plan, by) as change:
        plan = change.plan
        change.set_text(revision)
        if revision.subtasks:
            order_subtasks(plan, revised(plan, revision.subtasks, by))
        change.explanation = revision.explanation
    return plan


def revised(plan: Plan, words: list[SubtaskRevision], by: Actor) -> list[Subtask]:
    """The unstarted subtasks in their new order."""
    known = {word.key: find(plan, word.key) for word in words if word.key}
    for word in words:
        if word.key:
            change_one(plan, known[word.key], word, by)
    gone = {word.key for word in words if word.remove}
    order = [subtask for subtask in unstarted(plan) if subtask.key not in gone]
    mentioned = list(dict.fromkeys(word.key for word in words if word.key))
    return with_new_ones(plan, reordered(order, mentioned), words)


def change_one(plan: Plan, subtask: Subtask, word: SubtaskRevision, by: Actor) -> None:
    if subtask.is_settled:
        raise Conflict(
            f"{subtask.key} is {subtask.state} and cannot change any more.", plan.version
        )
    changed = rewrite(subtask, word.model_dump(include=word.model_fields_set))
    if subtask.state == State.IN_PROGRESS and (changed or word.remove):
        give_up_attempt(plan, subtask, by)


def give_up_attempt(plan: Plan, subtask: Subtask, by: Actor) -> None:
    """The running subtask is another one now: its attempt ends here and does not count."""
    if turn := run_turn_of(plan):
        request_stop(turn, by)
    subtask.state, subtask.started_at = State.TODO, None
    subtask.save(update_fields=["state", "started_at"])


def reordered(order: list[Subtask], mentioned: list[str]) -> list[Subtask]:
    """The mentioned ones change places among themselves, in the order they are mentioned in."""
    by_key = {subtask.key: subtask for subtask in order}
    moving = iter([by_key[key] for key in mentioned if key in by_key])
    names = set(mentioned) & set(by_key)
    return [next(moving) if subtask.key in names else subtask for subtask in order]


def with_new_ones(plan: Plan, order: list[Subtask], words: list[SubtaskRevision]) -> list[Subtask]:
    """A new subtask follows the one mentioned before it; without one, it goes to the end."""
    drafts = [draft_of(word) for word in words if not word.key]
    fresh = iter(new_subtasks(plan, drafts))
    previous: str | None = None
    for word in words:
        if word.key:
            previous = word.key
            continue
        subtask = next(fresh)
        keys = [each.key for each in order]
        order.insert(keys.index(previous) + 1 if previous in keys else len(order), subtask)
        previous = subtask.key
    return order


def draft_of(word: SubtaskRevision) -> SubtaskDraft:
    if not word.name:
        raise Invalid("Give each new subtask a name.")
    return SubtaskDraft(
        name=word.name,
        description=word.description or "",
        expected_outcome=word.expected_outcome or "",
    )
