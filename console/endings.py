"""The card with which the system tells how a plan, or a run of it, has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext

from agents.models import FileChange, Message, ToolCall
from agents.statements import prepared
from console.file_diffs import change_signs, drawn_change
from console.status_labels import Snapshot, stopped_by
from plans.standing import of_document

WRITES = ("write_file", "edit_file")
MOST_FILES, MOST_CALLS = 8, 2_000
MOST_COUNTED = 40  # changes whose lines are counted for one card


@dataclass
class ChangedFile:
    """`message` is the one whose call changed it last; `signs` are the lines that came and went,
    such as +42 −3, where they are known."""

    path: str
    is_new: bool
    calls: list[int] = field(default_factory=list)
    message: int = 0
    signs: str = ""

    @property
    def last_call(self) -> int:
        return self.calls[-1]


@dataclass(frozen=True)
class Ending:
    """`words` say how; `is_current` while the plan still stands so, else one line is enough."""

    shape: str
    words: str
    at: datetime | str | None
    is_current: bool
    files: list[ChangedFile]
    retry: str = ""  # the subtask's key
    error: str = ""
    starts_again: bool = False

    @cached_property
    def first_files(self) -> list[ChangedFile]:
        files = self.files[:MOST_FILES]
        count_lines(files)
        return files

    @property
    def further(self) -> int:
        return max(0, len(self.files) - MOST_FILES)


def ending_of(message: Message, plan: Snapshot, viewer: str) -> Ending:
    files = files_of(plan["id"])
    meta = message.meta
    if "ended" not in meta:  # of the plan itself
        words = of_document(plan).word  # as in the drawer
        return Ending(plan["state"], words, plan["finished_at"], True, files)
    is_open = plan["state"] in ("todo", "in_progress")
    is_current = is_open and plan["run"] == "idle" and not meta.get("over")
    if meta["ended"] == "stopped":
        words, at = stopped_by(meta.get("by"), viewer), message.created_at
        return Ending("paused", words, at, is_current, files, starts_again=is_current)
    failed = next((row for row in plan["subtasks"] if row["key"] == meta.get("subtask")), None)
    words = gettext("Failed at subtask {number} of {total}").format(
        number=meta.get("number"), total=meta.get("total")
    )
    is_failed = is_current and failed is not None and failed["failed"]
    return Ending(
        "failed",
        words,
        message.created_at,
        is_current,
        files,
        retry=str(meta.get("subtask")) if is_failed else "",
        error=str(failed["error"]) if is_failed and failed else "",
    )


def files_of(plan: int) -> list[ChangedFile]:
    """What its attempts have written or edited, in the order in which they first did."""
    found: dict[str, ChangedFile] = {}
    for call, message, arguments, is_new in writing_calls.rows(plan=plan):
        path = arguments.get("path") if isinstance(arguments, dict) else None
        if isinstance(path, str) and path:
            file = found.setdefault(path, ChangedFile(path, is_new=bool(is_new)))
            file.calls.append(call)
            file.message = message
    return list(found.values())


@prepared
def writing_calls(plan: int) -> QuerySet[ToolCall, Any]:
    done = ToolCall.objects.filter(turn__attempt__subtask__plan=plan, tool__in=WRITES)
    rows = done.filter(state=ToolCall.State.DONE).order_by("pk")
    return rows.values_list("pk", "message", "arguments", "file_change__is_new")[:MOST_CALLS]


def count_lines(files: list[ChangedFile]) -> None:
    """Put in how many lines came and went, where that does not take long."""
    changes = FileChange.objects.filter(call__in=[call for file in files for call in file.calls])
    if sum(len(file.calls) for file in files) > MOST_COUNTED:
        return
    known = {each.pk: each for each in changes}
    for file in files:
        own = [known[call] for call in file.calls if call in known]
        if len(own) < len(file.calls) or any(change.left_out for change in own):
            continue
        diffs = [drawn_change(change.old, change.new, change.line) for change in own]
        file.signs = change_signs(sum(d.added for d in diffs), sum(d.removed for d in diffs))


def calls_of(plan: int) -> int:
    """How many tools its attempts have called."""
    return ToolCall.objects.filter(turn__attempt__subtask__plan=plan).count()
