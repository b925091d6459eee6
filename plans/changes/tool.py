"""The tool with which a model reads what was changed in the workspace's files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from agents.changes.recording import changes_so_far
from agents.db import in_db
from agents.errors import NotFound
from agents.models import Turn
from agents.pools import FILES
from agents.tools import permissions
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool
from plans.changes.recorded import (
    Changes,
    changes_named,
    changes_of_conversation,
    changes_of_turn,
    changes_text,
)
from plans.models import Plan


class GetChanges(BaseModel):
    """Read what was changed in the workspace's files: by the plan, by its subtask with the key
    `subtask`, in this turn so far, or in the whole conversation before it. It gives the list of
    files; with `path` the diff of one, with `diff` that of all.
    """

    model_config = ConfigDict(extra="forbid")

    subtask: str | None = None
    of: Literal["plan", "this_turn", "conversation"] | None = None
    path: str | None = None
    diff: bool = False


def changes_tool(turn: Turn, current: Callable[[], Plan], has_plan: bool) -> Tool:
    """For a turn; `current` gives its plan, or raises ToolFailed. What is asked for without a word
    on whose it is, is the plan's, and where there is none the conversation's."""

    def recorded(wanted: GetChanges) -> Changes:
        # Lines that it wrote over, or that others wrote, are read like any other.
        if (wanted.path or wanted.diff) and permissions.of_turn(turn).grant("read_file") != "allow":
            raise ToolFailed(
                "The lines of files are for agents that may use read_file without asking. Without "
                "path and diff you get the list of files."
            )
        if wanted.of == "this_turn":
            return changes_of_turn(turn.pk)
        is_plain = wanted.of is None and not wanted.subtask and not has_plan
        if wanted.of == "conversation" or is_plain:
            return changes_of_conversation(turn.conversation_id)
        try:
            return changes_named(current(), wanted.subtask or "")
        except NotFound as refusal:
            raise ToolFailed(str(refusal)) from None

    async def read(wanted: GetChanges) -> ToolResult:
        changes = await in_db(recorded, wanted)
        if wanted.of == "this_turn":
            files = await changes_so_far(turn.pk)
        else:
            files = await FILES.run(lambda: changes.files)
        read = (changes, files, wanted.path, wanted.diff)
        return ToolResult(await FILES.run(changes_text, *read))

    return typed_tool("get_changes", GetChanges, read, read_only=True)
