"""What a call that waits for a person's word would do to a file as it is now."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from agents.errors import Conflict, Refused
from agents.models import ToolCall
from agents.stored_text import gettext
from agents.tools import permissions
from agents.tools.base import ToolFailed
from agents.tools.confinement import Workspace
from agents.tools.file_changes import CONTEXT
from agents.tools.files import LARGEST_WRITE, decoded, edit_of

WRITING = {"write_file": ("path", "content"), "edit_file": ("path", "old", "new")}


class FileChanged(Conflict):
    """What is shown for a decision is not what would happen any more."""


@dataclass(frozen=True)
class PendingChange:
    """From `line` on the lines `old` would give way to `new`, all that the call names among them.

    `against` stands for the content that this was read from. Where the file cannot be shown, or
    the call would fail, `problem` says why.
    """

    old: str = ""
    new: str = ""
    line: int = 1
    against: str = ""
    problem: str = ""


def pending_change(call: ToolCall) -> PendingChange | None:
    """Nothing for calls of other tools, or without the texts."""
    values = call.arguments if isinstance(call.arguments, dict) else {}
    names = WRITING.get(call.tool, ())
    path, *texts = [text for name in names if isinstance(text := values.get(name), str)] or [""]
    if not names or len(texts) != len(names) - 1:
        return None
    try:
        workspace = Workspace(permissions.of_turn(call.turn).folder)
        is_there = workspace.is_there(path)
        raw = workspace.read(path, LARGEST_WRITE) if is_there else None
    except (Refused, ToolFailed) as reason:
        return PendingChange(problem=str(reason))
    against = hashlib.sha256(raw).hexdigest() if raw is not None else "new"
    try:
        if call.tool == "edit_file":
            if raw is None:  # the tool's own sentence
                raw = workspace.read(path, LARGEST_WRITE)
            return replaced_lines(raw, path, *texts, against=against)
        text, is_text = decoded(raw or b"", path)
    except ToolFailed as reason:
        return PendingChange(against=against, problem=str(reason))
    if not is_text:
        problem = gettext("What is there now is not UTF-8 text.")
        return PendingChange(against=against, problem=problem)
    return PendingChange(text, texts[0], 1, against)


def demand_same_file(call: ToolCall, against: str) -> None:
    """Raises FileChanged where the file is another one than was shown; nothing stands for any."""
    now = pending_change(call) if against else None
    if now is not None and now.against != against:
        raise FileChanged(
            gettext("The file has changed since this was shown. Nothing was allowed.")
        )


def replaced_lines(raw: bytes, path: str, old: str, new: str, *, against: str) -> PendingChange:
    """The piece in whole lines, with some around it. Raises ToolFailed."""
    edit = edit_of(raw, path, old, new)
    start, end = edit.place, edit.place + len(edit.old)
    for _ in range(CONTEXT + 1):
        start = edit.text.rfind("\n", 0, max(start, 0))
        end = edit.text.find("\n", end) + 1 or len(edit.text) + 1
    start, end = start + 1, end - 1
    before, after = edit.text[start : edit.place], edit.text[edit.place + len(edit.old) : end]
    line = edit.text.count("\n", 0, start) + 1
    return PendingChange(before + edit.old + after, before + edit.new + after, line, against)
