"""The card with which the system tells how a plan, or a run of it, has ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils.translation import gettext

from agents.models import Message, ToolCall
from agents.statements import prepared
from console.status_labels import Snapshot

WRITES = ("write_file", "edit_file")
MOST_FILES, MOST_CALLS = 8, 2_000


@dataclass(frozen=True)
class Ending:
    """`words` say how; `is_current` while the plan still stands so, else one line is enough."""

    shape: str
    words: str
    at: datetime | str | None
    is_current: bool
    files: list[str]
    retry: str = ""  # the subtask's key
    error: str = ""
    starts_again: bool = False

    @property
    def first_files(self) -> list[str]:
        return self.files[:MOST_FILES]

    @property
    def further(self) -> int:
        return max(0, len(self.files) - MOST_FILES)


def ending_of(message: Message, plan: Snapshot, viewer: str) -> Ending:
    files = files_of(plan["id"])
    meta = message.meta
    if "ended" not in meta:  # of the plan itself
        is_done = plan["state"] == "done"
        words = gettext("Finished") if is_done else gettext("Ended without a result")
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


def stopped_by(name: object, viewer: str) -> str:
    if not name:
        return gettext("Stopped")
    if name == viewer:
        return gettext("Stopped by you")
    return gettext("Stopped by {name}").format(name=name)


def files_of(plan: int) -> list[str]:
    """What its attempts have written or edited, in the order in which they first did."""
    paths = (
        arguments.get("path") if isinstance(arguments, dict) else None
        for (arguments,) in writing_calls.rows(plan=plan)
    )
    return list(dict.fromkeys(path for path in paths if isinstance(path, str) and path))


@prepared
def writing_calls(plan: int) -> QuerySet[ToolCall, tuple[object]]:
    done = ToolCall.objects.filter(turn__attempt__subtask__plan=plan, tool__in=WRITES)
    rows = done.filter(state=ToolCall.State.DONE).order_by("pk")
    return rows.values_list("arguments")[:MOST_CALLS]
