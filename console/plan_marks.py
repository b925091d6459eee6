"""What the plan in the drawer has changed among the agent's files, as the panel shows it.

A subtask's changes are known when its attempt has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.utils.translation import gettext

from agents.changes.compare import Change
from agents.changes.store import Store
from agents.models import Conversation
from agents.tools.paths import path_bytes
from agents.workspace.files import AgentFiles
from console.changes.changed_files import diff_of
from console.changes.lines import Diff
from plans.changes.scope import Scope
from plans.models import Attempt, Plan, Subtask
from plans.queries import active_plan

MOST_DRAWN = 400_000  # characters
SHAPES = {"added": "added", "modified": "edited", "renamed": "edited", "deleted": "removed"}


@dataclass(frozen=True)
class LastChange:
    """The subtask that changed a file last, and what it changed there."""

    subtask: Subtask
    change: Change


@dataclass
class Marks:
    """By path below the workspace; empty without a plan, or where it worked in another folder."""

    plan: Plan | None = None
    scope: Scope | None = None  # of the plan, if it worked here

    @cached_property
    def by_path(self) -> dict[str, Change]:
        """Without what an undo has put back."""
        own = self.scope.standing if self.scope else []
        return {text_path(each.path): each for each in own if each.kind in SHAPES}

    @cached_property
    def folders(self) -> dict[str, set[str]]:
        """The shapes of what is in each folder, and below."""
        found: dict[str, set[str]] = {}
        for path, change in self.by_path.items():
            for folder in above(path):
                found.setdefault(folder, set()).add(SHAPES[change.kind])
        return found

    @property
    def tag(self) -> str:
        """Another one when there are other marks."""
        plan = self.plan.pk if self.plan else 0
        if self.scope is None:
            return f"{plan}-0"
        tag, undos = f"{plan}-{len(self.scope.changes.ended)}", self.scope.undos.rows
        return f"{tag}-{undos[-1].pk}" if undos else tag

    def shape(self, path: str, *, is_folder: bool) -> str:
        if not is_folder:
            change = self.by_path.get(path)
            # What is there again has been changed.
            return {"deleted": "edited"}.get(change.kind, SHAPES[change.kind]) if change else ""
        within = self.folders.get(path, set())
        return next(iter(within)) if len(within) == 1 else "edited" if within else ""

    def gone_in(self, folder: str) -> list[tuple[str, bool]]:
        """Files, and folders with files, that the plan removed from here: path, is it a folder."""
        start = f"{folder}/" if folder else ""
        gone = {}
        for path, change in self.by_path.items():
            if change.kind == "deleted" and path.startswith(start):
                first, between, _ = path.removeprefix(start).partition("/")
                gone[f"{start}{first}"] = bool(between)
        return sorted(gone.items())

    def last_change(self, path: str) -> LastChange | None:
        if self.scope is None or path not in self.by_path:
            return None
        turns = [each.turn_id for each in self.scope.changes.recordings if each.files]
        attempts = Attempt.objects.filter(turn__in=turns).select_related("subtask")
        for attempt in attempts.order_by("-turn"):
            for change in Scope(attempt.subtask).changes.files:
                if change.is_own and text_path(change.path) == path:
                    return LastChange(attempt.subtask, change)
        return None

    def diff(self, path: str) -> Diff:
        """What the plan changed in the file, line by line."""
        assert self.scope is not None, "it has no marks"
        with Store.of(Path(self.scope.changes.root)) as store:
            diff = diff_of(store, self.by_path[path])
        if sum(len(line.text) for line in diff.rows) > MOST_DRAWN:
            return Diff(note=gettext("It is too long to be compared here."))
        return diff


def marks_of(conversation: Conversation, files: AgentFiles) -> Marks:
    plan = active_plan(conversation)
    scope = Scope(plan) if plan else None
    root = scope.changes.root if scope else ""
    is_here = bool(root) and Path(root).resolve() == files.root.resolve()
    return Marks(plan, scope if is_here else None)


def text_path(path: str) -> str:
    """As the tree names it."""
    return path_bytes(path).decode(errors="replace")


def above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]
