"""The rows of the dialog that asks before an undo: what it would do to each file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext, gettext_lazy

from agents.changes.undo import Preview
from agents.changes.undo_preview import Row
from agents.models import Recording
from agents.sentences import commas
from console.changes.changed_files import in_order, place_of
from console.language import format_size
from plans.changes.scope import Scope

WHY_LOST = {
    "not_recorded": gettext_lazy("stays as it is: it was not recorded"),
    "unreadable": gettext_lazy("stays: what is there now cannot be read"),
    "folder_there": gettext_lazy("cannot come back: a folder is in its place"),
    "no_way": gettext_lazy("cannot come back: its folder is a link or a file now"),
    "moved": gettext_lazy("stays: what was moved with it cannot go back"),
}
MOST_ROWS = 200  # that are drawn at a time


@dataclass(frozen=True)
class UndoRow:
    """One row of the preview. `later` is where the change since can be read; `chosen_at` the path
    at which it is chosen for all that was moved with it, if that is another one."""

    number: int
    row: Row
    later: str = ""
    chosen_at: str = ""

    @property
    def words(self) -> str:
        if not self.together:
            return self.what_becomes
        together = gettext("only together with {paths}, as it was moved")
        return commas([self.what_becomes, together.format(paths=self.together)])

    @property
    def what_becomes(self) -> str:
        to = self.row.to
        if self.row.fate == "removed":
            return gettext("removed, it was new")
        if self.row.fate == "comes_back":
            only = gettext("comes back only if what is in its way is restored too")
            return only if self.row.why == "in_the_way" else gettext("comes back")
        if self.row.fate == "not_kept":
            return str(WHY_LOST.get(self.row.why, gettext("stays: what it was is not kept")))
        if to is not None and self.row.now is not None and to.oid == self.row.now.oid:
            return gettext("permissions go back")
        return gettext("goes back, {size}").format(size=format_size(to.size if to else 0))

    @property
    def together(self) -> str:
        """The paths that go back with it or not at all."""
        return commas(self.row.others[:3]) + "…" * (len(self.row.others) > 3)

    @property
    def icon(self) -> str:
        icons = {"removed": "skipped", "comes_back": "plus", "not_kept": "off"}
        return icons.get(str(self.row.fate), "undo")

    @property
    def changed_at(self) -> datetime | None:
        return (
            datetime.fromtimestamp(self.row.changed_at / 1e9).astimezone() if self.row.now else None
        )


def undo_rows(preview: Preview, scope: Scope, start: int = 0) -> list[UndoRow]:
    """A part of them. What needs a word comes last, as it is the longest; of so many that some are
    not drawn at first, it is drawn first."""
    is_long = len(preview.rows) > MOST_ROWS
    rows = sorted(preview.rows, key=lambda row: (row.needs_word != is_long, row.path))
    rows = rows[start : start + MOST_ROWS]
    later = later_changes(scope, {row.path for row in rows if row.needs_word})
    chosen_at = choices(preview)
    return [
        UndoRow(n, row, later.get(row.path, ""), chosen_at.get(row.path, ""))
        for n, row in enumerate(rows, start + 1)
    ]


def choices(preview: Preview) -> dict[str, str]:
    """Of what needs a word only together with others: the path at which that is said for all, where
    somebody changed it since."""
    asking = {row.path: row for row in preview.rows if row.needs_word}
    found = {}
    for path, row in asking.items():
        together = [path, *(each for each in row.others if each in asking)]
        first = min(together, key=lambda each: (asking[each].why == "moved", each))
        if first != path:
            found[path] = first
    return found


def later_changes(scope: Scope, paths: set[str]) -> dict[str, str]:
    """By path, where this conversation has recorded the next change of it; what a person saved
    between two turns stands nowhere."""
    found: dict[str, str] = {}
    last = scope.changes.recordings[-1].pk if paths else 0
    rows = Recording.objects.filter(root=scope.changes.root, pk__gt=last).exclude(changes="")
    rows = rows.filter(turn__conversation=scope.conversation)
    for each in rows.select_related("turn__attempt__subtask__plan").order_by("pk") if paths else ():
        attempt = getattr(each.turn, "attempt", None)
        about = Scope(attempt.subtask if attempt else each.turn)
        for place, change in enumerate(in_order(about), 1):
            if change.path in paths and change.path not in found:
                found[change.path] = place_of(about, place)
        if len(found) == len(paths):
            break
    return found
