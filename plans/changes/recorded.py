"""The recordings of one folder, and what they come to together: sums, files, diffs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.models import QuerySet
from pydantic import BaseModel

from agents.changes.compare import Change, Sums, sums_of
from agents.changes.recording import MOST_DIFF
from agents.changes.store import Store
from agents.changes.unified import diff_text, fitting, in_words, patch_text
from agents.errors import NotFound
from agents.models import Recording, SkippedFile
from agents.statements import prepared
from agents.stored_text import gettext, gettext_lazy
from agents.tools.confinement import display_path
from plans.changes.held import composed_changes

Document = dict[str, object]


@dataclass
class Changes:
    """The recordings of one folder in their order, and what they come to together."""

    root: str
    recordings: list[Recording] = field(default_factory=list)

    @property
    def ended(self) -> list[Recording]:
        return [each for each in self.recordings if each.ended_at]

    @property
    def kept(self) -> list[Recording]:
        return [each for each in self.ended if each.is_kept]

    @property
    def began_at(self) -> datetime | None:
        return self.kept[0].began_at if self.kept else None

    @property
    def files(self) -> list[Change]:
        return list(composed_changes(self.root, tuple(each.changes for each in self.kept)))

    @property
    def sums(self) -> Sums:
        """Of what is not kept any more, those of the single recordings together."""
        if len(self.writing) > 1 and not self.is_bound:
            return sums_of(self.files)
        return added_up(
            Sums(**{name: getattr(each, name) for name in NAMES}) for each in self.writing
        )

    @property
    def writing(self) -> list[Recording]:
        """Those in which something was changed."""
        return [each for each in self.ended if each.files or each.outside or each.unsure]

    @property
    def is_bound(self) -> bool:
        """Whether it may be less than the sums say: a file that several changed counts for each
        where not all is kept any more."""
        return len(self.writing) > 1 and not all(each.is_kept for each in self.writing)

    @property
    def is_known(self) -> bool:
        """Whether the files are all that its turns changed, as far as these have ended."""
        return bool(self.recordings) and not self.stopped and len(self.kept) == len(self.ended)

    @property
    def stopped(self) -> str:
        """Why nothing, or not all of it, is known: files, bytes or failed."""
        return next((each.stopped for each in reversed(self.recordings) if each.stopped), "")

    @property
    def why_unknown(self) -> str:
        """In a sentence."""
        return str(NOT_KNOWN.get(self.stopped, ""))

    @property
    def skipped(self) -> list[SkippedFile]:
        """Files that the last of them did not record."""
        return self.recordings[-1].skipped if self.recordings else []

    @property
    def leaves_out(self) -> bool:
        """Whether the folder has files that are in no list, as rules of git's leave them out."""
        return any(each.leaves_out for each in self.recordings)

    def change_of(self, path: str, origin: str = "") -> Change:
        """Raises NotFound. The turns' own comes first, where others changed the file as well."""
        found = [c for c in self.files if c.path == path and origin in ("", c.origin)]
        if not found:
            raise NotFound(self.why_not(path))
        return min(found, key=lambda each: not each.is_own)

    def why_not(self, path: str) -> str:
        """Why there is no change of it: that is not known, or not any more, or there was none."""
        if self.stopped:
            return self.why_unknown
        if len(self.kept) < len(self.ended):
            return gettext("What was changed is not kept any more.")
        return gettext("{path} was not changed.").format(path=display_path(path))

    def diff(self, longest: int, changes: list[Change] | None = None) -> str:
        """As a unified diff of at most so many characters: the turns' own, or these."""
        with Store.of(Path(self.root)) as store:
            return diff_text(store, self.own if changes is None else changes, longest)

    def diffs(self, longest: int, changes: list[Change]) -> list[tuple[str, str]]:
        """Each file's, by path, of at most so many characters together; empty where one has none
        that is whole."""
        with Store.of(Path(self.root)) as store:
            found = fitting(store, changes, longest, longest)
            return [(each.path, text if is_whole else "") for each, text, is_whole in found]

    def patch(self) -> str:
        """The turns' own changes as git takes them."""
        with Store.of(Path(self.root)) as store:
            return patch_text(store, self.own, MOST_PATCH)

    @property
    def own(self) -> list[Change]:
        return [each for each in self.files if each.is_own]

    def document(self) -> Document:
        return {
            **sums_document(self.sums),
            "up_to": self.is_bound,
            "kept": len(self.kept) == len(self.ended),
            "stopped": self.stopped,
            "changes": [change_document(each) for each in self.files],
            "not_recorded": [
                {name: each.get(name) for name in ("path", "reason", "size")}
                for each in self.skipped
            ],
            "leaves_out": self.leaves_out,
        }


class ChangeCounts(BaseModel, extra="forbid"):
    """How much was changed, as the snapshot and the API have it."""

    files: int
    added: int
    removed: int
    outside: int
    unsure: int
    up_to: bool


NAMES = ("files", "added", "removed", "outside", "unsure")
NO_SUMS = Sums()


def added_up(sums: Iterable[Sums]) -> Sums:
    rows = [[getattr(each, name) for name in NAMES] for each in sums]
    return Sums(*map(sum, zip(*rows, strict=True))) if rows else NO_SUMS


def changes_of(recordings: Iterable[Recording]) -> Changes:
    """Those of the folder that the last of them was made of: an agent may have moved since."""
    recordings = list(recordings)
    if not recordings:
        return Changes("")
    root = recordings[-1].root
    return Changes(root, [each for each in recordings if each.root == root])


@prepared
def recordings_of(plan: int) -> QuerySet[Recording]:
    return Recording.objects.filter(turn__attempt__subtask__plan=plan).order_by("turn")


def sums_document(sums: Sums) -> dict[str, Any]:
    return {name: getattr(sums, name) for name in NAMES}


def change_document(change: Change) -> Document:
    old, new = change.old, change.new
    return {
        "path": change.path,
        "was": change.was,
        "kind": change.kind,
        "origin": change.origin,
        "why": change.why,
        "added": change.added,
        "removed": change.removed,
        "binary": change.is_binary,
        "old_size": old.size if old else None,
        "new_size": new.size if new else None,
        "old_mode": f"{old.mode:o}" if old else None,
        "new_mode": f"{new.mode:o}" if new else None,
        "changed_at": change.at or None,
    }


# As models and commands read it

MOST_NAMED = 500  # files
MOST_PATCH = 20_000_000  # characters
NOT_KNOWN = {
    "files": gettext_lazy("More than 50,000 files: changes are not recorded in this workspace."),
    "bytes": gettext_lazy("More than 1 GB of files: changes are not recorded in this workspace."),
    "failed": gettext_lazy("The workspace could not be recorded, so it is not known what changed."),
}
ORIGINS = {
    "both": "others changed it too",
    "outside": "changed outside this step",
    "unsure": "whose change this is cannot be told",
}


def changes_text(
    recorded: Changes, changes: list[Change], path: str | None = None, diff: bool = False
) -> str:
    """The files, one a line; with a path, or `diff`, their lines."""
    if path is not None:
        if named := [each for each in changes if path in (each.path, each.was)]:
            return recorded.diff(MOST_DIFF, named)
        return recorded.why_not(path)
    lines = [line_of(each) for each in changes[:MOST_NAMED]]
    if len(changes) > MOST_NAMED:
        lines.append(f"and {len(changes) - MOST_NAMED:,} more")
    if recorded.stopped:
        lines.append(recorded.why_unknown)
    if len(recorded.kept) < len(recorded.ended) and not recorded.stopped:
        lines.append("Some of it is not kept any more.")
    if diff and (own := [each for each in changes if each.is_own]):
        lines += ["", recorded.diff(MOST_DIFF, own)]
    return "\n".join(lines) or "No file was changed."


def line_of(change: Change) -> str:
    note = f" ({ORIGINS[change.origin]})" if change.origin in ORIGINS else ""
    return f"{change.path}: {in_words(change)}{note}"
