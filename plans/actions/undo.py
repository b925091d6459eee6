"""Taking back what a subtask, a plan or a turn changed in its folder; and taking that back."""

from __future__ import annotations

from contextlib import suppress

from django.utils.translation import gettext

from agents.actors import Actor
from agents.changes.compare import Change
from agents.changes.undo import NothingToUndo, Preview, Wanted, steps_of, undo, undo_preview
from agents.changes.undo_steps import as_changes, modes_before, modes_in_tree
from agents.errors import Conflict
from agents.models import Conversation, Turn, Undo
from plans.actions.retry import demand_retriable, retry_subtask
from plans.changes.recorded import Changes, changes_named, changes_of_turn
from plans.changes.undone import UndoHistory, subject_of_plan, subject_of_turn
from plans.models import Plan, Subtask
from plans.queries import reload
from plans.tracing import operation

ALL = Wanted()

# Where a path is, and what the preview said of it, is read anew under the store's lock: two of
# these at once come one after the other.


@operation("undo_changes")
def undo_changes(plan: Plan, key: str, by: Actor, wanted: Wanted = ALL) -> Undo:
    """Of the subtask with the key, or without one of the plan. Never while it runs."""
    demand_rest(plan)
    changes = demand_kept(changes_named(plan, key))
    subject, words = subject_of_plan(plan.pk, key), words_for(plan, key)
    return take_back(plan.conversation, changes, subject, words, by, wanted)


@operation("preview_changes")
def preview_changes(plan: Plan, key: str) -> Preview:
    """Raises what `undo_changes` would raise."""
    demand_rest(plan)
    changes = demand_kept(changes_named(plan, key))
    return undo_preview(plan.conversation, changes.root, left_to_undo(plan.conversation, changes))


@operation("undo_turn")
def undo_turn(turn: Turn, by: Actor, wanted: Wanted = ALL) -> Undo:
    """Of one reply, once it has ended."""
    changes = demand_kept(changes_of_ended(turn))
    words = gettext("You undid the changes of a reply.")
    return take_back(turn.conversation, changes, subject_of_turn(turn.pk), words, by, wanted)


@operation("preview_turn")
def preview_turn(turn: Turn) -> Preview:
    changes = demand_kept(changes_of_ended(turn))
    return undo_preview(turn.conversation, changes.root, left_to_undo(turn.conversation, changes))


@operation("reverse_undo")
def reverse_undo(row: Undo, by: Actor, wanted: Wanted = ALL) -> Undo:
    """The files as they were before that undo. One that was cut off is finished first."""
    words = gettext("You undid an undo.")
    steps = steps_of(demand_finished(row))
    changes, subject = as_changes(steps), f"undo:{row.pk}"
    given = (row.conversation, row.root, changes, subject, words, by, wanted)
    return undo(*given, lambda store: modes_before(steps), reverses=row)


@operation("preview_undo")
def preview_undo(row: Undo) -> Preview:
    return undo_preview(row.conversation, row.root, as_changes(steps_of(demand_finished(row))))


@operation("retry_clean")
def retry_clean(plan: Plan, key: str, by: Actor, version: int | None = None) -> Plan:
    """Try a failed subtask again, once what its attempts changed is taken back; what was changed
    again since stays."""
    plan = reload(plan)
    demand_retriable(plan, key, version)
    if changes_named(plan, key).files:
        with suppress(NothingToUndo):
            undo_changes(plan, key, by)
    return retry_subtask(plan, key, by, version)


def demand_finished(row: Undo) -> Undo:
    if row.finished_at is None:
        raise Conflict(gettext("It is still being carried out."))
    if row.reversed_by.exists():
        raise Conflict(gettext("This was undone already."))
    return row


def demand_rest(plan: Plan) -> None:
    if reload(plan).is_live:
        raise Conflict(gettext("The plan is running in this folder. Pause or stop it first."))


def changes_of_ended(turn: Turn) -> Changes:
    if turn.is_open:
        raise Conflict(gettext("The reply has not ended yet."))
    return changes_of_turn(turn.pk)


def demand_kept(changes: Changes) -> Changes:
    """Raises Conflict where there is nothing that could be taken back."""
    if not changes.kept:
        if changes.ended and not changes.stopped:
            raise Conflict(gettext("What was changed is not kept any more."))
        raise Conflict(gettext("No changes are recorded here."))
    return changes


def words_for(plan: Plan, key: str) -> str:
    """A sentence for the conversation, which has one owner, who alone may undo."""
    if not key:
        return gettext("You undid the changes of the plan “{title}”.").format(title=plan.title)
    number = number_of(plan.subtasks.get(key=key))
    return gettext("You undid the changes of subtask {number}.").format(number=number)


def number_of(subtask: Subtask) -> int | str:
    return subtask.key if subtask.position is None else subtask.position


def take_back(
    conversation: Conversation,
    changes: Changes,
    subject: str,
    words: str,
    by: Actor,
    wanted: Wanted,
) -> Undo:
    before = bytes.fromhex(changes.kept[0].before)
    left = left_to_undo(conversation, changes)
    given = (conversation, changes.root, left, subject, words, by, wanted)
    return undo(*given, lambda store: modes_in_tree(store, before))


def left_to_undo(conversation: Conversation, changes: Changes) -> list[Change]:
    return UndoHistory(conversation.pk).to_undo(changes)
