"""Undos of what one turn changed, as the thread says them beside it."""

from __future__ import annotations

from agents.models import Recording, Turn, Undo
from plans.changes import Document, summary, undos_in, undos_of
from plans.models import Attempt, Plan, Subtask


def changes_of_turns(turns: list[Turn], subtask: Subtask | None) -> Document | None:
    """How much these changed, and what is left of it: a reply, or attempts at one subtask."""
    found: list[Recording] = [turn.recording for turn in turns if hasattr(turn, "recording")]
    if not any(each.files for each in found):
        return summary(found, [])
    last = turns[-1]
    if subtask is None:
        return summary(found, undos_of_turn(last))
    undone = undos_of(Plan(pk=subtask.plan_id, conversation_id=last.conversation_id))
    return summary(found, [*undone.get("", []), *undone.get(subtask.key, [])])


def turns_of_undo(pk: int) -> set[int]:
    """Whose changes it took back, or brought back: of a plan, all that have worked for it."""
    row = Undo.objects.filter(pk=pk).first()
    while row is not None and row.reverses is not None:
        row = row.reverses
    kind, _, about = row.subject.partition(":") if row is not None else ("", "", "")
    if kind == "turn":
        return {int(about)}
    if kind not in ("plan", "subtask"):
        return set()
    attempts = Attempt.objects.filter(subtask__plan=int(about.partition("/")[0]))
    return set(attempts.values_list("turn", flat=True))


def undos_of_turn(turn: Turn) -> list[Undo]:
    """Those of this reply that were not undone themselves."""
    rows = undos_in.models(conversation=turn.conversation_id)

    def stands(row: Undo) -> bool:
        return not any(stands(each) for each in rows if each.reverses_id == row.pk)

    own = [row for row in rows if row.subject == f"turn:{turn.pk}" and row.files]
    return [row for row in own if stands(row)]
