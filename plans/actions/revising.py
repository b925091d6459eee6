"""A model changes the text: a patch, in which what is not mentioned keeps its place."""

from __future__ import annotations

from agents.errors import Invalid, NotNow
from agents.turns.endings import request_stop
from plans.actions.layout import find, lay_out, new_subtasks, rewrite, unstarted
from plans.actions.versions import changing
from plans.models import Plan, State, Subtask
from plans.operations import operation
from plans.rows import run_turn_of
from plans.shapes import Revision, SubtaskDraft, SubtaskRevision


@operation
def revise_plan(plan: Plan, revision: Revision, by: str) -> Plan:
    """Change, add, remove, reorder what has not started; only an explicit removal removes.

    Rewording or removing the running subtask stops its attempt, which does not count.
    """
    with changing(plan, by) as change:
        plan = change.plan
        for field in ("title", "content", "expected_outcome"):
            if (value := getattr(revision, field)) is not None:
                setattr(plan, field, value)
        plan.save(update_fields=["title", "content", "expected_outcome", "metadata"])
        if revision.subtasks:
            lay_out(plan, revised(plan, revision.subtasks, by))
        change.explanation = revision.explanation
    return plan


def revised(plan: Plan, words: list[SubtaskRevision], by: str) -> list[Subtask]:
    """The unstarted subtasks in their new order."""
    known = {word.key: find(plan, word.key) for word in words if word.key}
    for word in words:
        if word.key:
            change_one(plan, known[word.key], word, by)
    gone = {word.key for word in words if word.remove}
    order = [subtask for subtask in unstarted(plan) if subtask.key not in gone]
    mentioned = list(dict.fromkeys(word.key for word in words if word.key))
    return with_new_ones(plan, reordered(order, mentioned), words)


def change_one(plan: Plan, subtask: Subtask, word: SubtaskRevision, by: str) -> None:
    if subtask.is_settled:
        raise NotNow(f"{subtask.key} is {subtask.state} and cannot change any more.", plan.version)
    changed = rewrite(subtask, word.model_dump(include=word.model_fields_set))
    if subtask.state == State.IN_PROGRESS and (changed or word.remove):
        give_up_attempt(plan, subtask, by)


def give_up_attempt(plan: Plan, subtask: Subtask, by: str) -> None:
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
