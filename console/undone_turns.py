"""What replies and attempts of the thread have changed, and which of them an undo concerns."""

from __future__ import annotations

from agents.models import Recording, Turn, Undo
from plans.changes.recorded import Document
from plans.changes.undone import UndoHistory, summary
from plans.models import Subtask

MOST = 200  # turns that are drawn again


def changes_of_turns(
    turns: list[Turn], subtask: Subtask | None, undos: UndoHistory
) -> Document | None:
    """How much these changed, and what is left of it: a reply, or attempts at one subtask."""
    found: list[Recording] = [turn.recording for turn in turns if hasattr(turn, "recording")]
    if not any(each.files for each in found):
        return summary(found)
    if subtask is None:
        return summary(found, undos.of_turn(turns[-1].pk, found))
    return summary(found, undos.of_plan(subtask.plan_id, found, subtask.key))


def turns_of_undo(pk: int) -> set[int]:
    """Of how many changes are left may read differently after it: the newest that changed files in
    its folder, since others than its own may have changed the same files."""
    row = Undo.objects.filter(pk=pk).first()
    if row is None:
        return set()
    rows = Recording.objects.filter(turn__conversation=row.conversation_id, root=row.root)
    return set(rows.filter(files__gt=0).order_by("-turn").values_list("turn", flat=True)[:MOST])
