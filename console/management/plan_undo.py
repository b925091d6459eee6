"""What `plan undo` says before and after it takes changes back."""

from __future__ import annotations

import sys

from agents.changes.undo import Preview, Wanted
from agents.changes.undo_preview import Fate
from agents.errors import Conflict
from agents.models import Undo
from console.management.base import at_terminal
from plans import actions
from plans.changes.scope import Scope

WORDS = {
    Fate.BACK: "goes back",
    Fate.REMOVED: "removed, it was new",
    Fate.COMES_BACK: "comes back",
    Fate.CHANGED: "changed again since: stays, unless --force names it",
    Fate.UNSURE: "more than one wrote there: stays, unless --force names it",
    Fate.LOST: "not kept: stays",
}
LOST = {
    "not_recorded": "not recorded: stays",
    "unreadable": "what is there now cannot be read: stays",
    "folder_there": "cannot come back: a folder is in its place",
    "no_way": "cannot come back: its folder is a link or a file now",
    "in_the_way": "comes back only if what is in its way is restored too",
    "moved": "stays: what was moved with it cannot go back",
}


def preview_lines(preview: Preview, wanted: Wanted) -> list[str]:
    lines = []
    for row in preview.rows:
        forced = row.needs_word and wanted.takes(row)
        is_why_said = row.fate in (Fate.LOST, Fate.COMES_BACK)
        stays = LOST.get(row.why, WORDS[row.fate]) if is_why_said else WORDS[row.fate]
        words = "restored, changed again since" if forced else stays
        left = "" if wanted.takes(row) or row.needs_word else " (not named)"
        others = f", together with {', '.join(row.others)}" if row.others else ""
        lines.append(at_terminal(f"{row.path}: {words}{left}{others}"))
    return lines


def undo_by_command(scope: Scope, by: str, wanted: Wanted, ask: bool) -> Undo:
    """At a terminal after a yes to the preview."""
    preview = actions.preview_changes(scope)
    if ask and sys.stdin.isatty():
        print(*preview_lines(preview, wanted), sep="\n")  # noqa: T201
        if input("Undo these changes? [y/N] ").strip().casefold() not in ("y", "yes"):
            raise Conflict("Nothing was undone.")
        wanted = Wanted(wanted.paths, wanted.force, preview.digest)
    return actions.undo_changes(scope, by, wanted)
