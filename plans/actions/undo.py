"""Taking back what a subtask, a plan or a turn changed in its folder; and taking that back."""

from __future__ import annotations

from contextlib import suppress

from agents.actors import Actor, name_of
from agents.changes.undo import NothingToUndo, Preview, Wanted, undo, undo_preview
from agents.errors import Conflict
from agents.models import Undo
from agents.stored_text import gettext, parts_of
from plans.actions.retry import demand_retriable, retry_subtask
from plans.changes.scope import Scope
from plans.models import Plan
from plans.queries import reload
from plans.tracing import operation

ALL = Wanted()

# Where a path is, and what the preview said of it, is read anew under the store's lock: two of
# these at once come one after the other.


@operation("undo_changes")
def undo_changes(scope: Scope, by: Actor, wanted: Wanted = ALL) -> Undo:
    """The files as they were before it. Never of a plan that runs, or a turn that has not ended; of
    an undo until all of it is reversed, and one that was cut off is finished first."""
    demand_undoable(scope)
    row = Undo(conversation=scope.conversation, root=scope.changes.root, subject=scope.subject)
    row.sentence, row.by, row.reverses = parts_of(scope.sentence), name_of(by), scope.undo
    return undo(row, scope.to_undo(), wanted, scope.modes_then)


@operation("preview_changes")
def preview_changes(scope: Scope) -> Preview:
    """Raises what `undo_changes` would raise."""
    demand_undoable(scope)
    return undo_preview(scope.conversation, scope.changes.root, scope.to_undo())


@operation("retry_clean")
def retry_clean(plan: Plan, key: str, by: Actor, version: int | None = None) -> Plan:
    """Try a failed subtask again, once what its attempts changed is taken back; what was changed
    again since stays."""
    plan = reload(plan)
    retry_subtask.demands.check(plan, by, version)
    demand_retriable(plan, key)
    scope = Scope.named(plan, key)
    if scope.changes.files:
        with suppress(NothingToUndo):
            undo_changes(scope, by)
    return retry_subtask(plan, key, by, version)


def demand_undoable(scope: Scope) -> None:
    """Raises Conflict where it may not be taken back yet, or nothing is there that could be."""
    if (row := scope.undo) is not None:
        if row.finished_at is None:
            raise Conflict(gettext("It is still being carried out."))
        if row.is_reversed:
            raise Conflict(gettext("This was undone already."))
        return
    if scope.plan is not None and reload(scope.plan).is_live:
        raise Conflict(gettext("The plan is running in this folder. Pause or stop it first."))
    if scope.turn is not None and scope.turn.is_open:
        raise Conflict(gettext("The reply has not ended yet."))
    changes = scope.changes
    if not changes.kept:
        if changes.ended and not changes.stopped:
            raise Conflict(gettext("What was changed is not kept any more."))
        raise Conflict(changes.why_unknown or gettext("No changes are recorded here."))
