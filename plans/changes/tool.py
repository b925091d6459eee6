"""The tool with which a model reads what was changed in the workspace's files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from agents.db import in_db
from agents.errors import NotFound
from agents.models import Turn
from agents.tools import permissions
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool
from plans.changes.scope import Scope
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

    def scope(wanted: GetChanges) -> Scope:
        # Lines that it wrote over, or that others wrote, are read like any other.
        if (wanted.path or wanted.diff) and permissions.of_turn(turn).grant("read_file") != "allow":
            raise ToolFailed(
                "The lines of files are for agents that may use read_file without asking. Without "
                "path and diff you get the list of files."
            )
        if wanted.of == "this_turn":
            return Scope(turn)
        is_plain = wanted.of is None and not wanted.subtask and not has_plan
        if wanted.of == "conversation" or is_plain:
            return Scope(turn.conversation)
        try:
            return Scope.named(current(), wanted.subtask or "")
        except NotFound as refusal:
            raise ToolFailed(str(refusal)) from None

    async def read(wanted: GetChanges) -> ToolResult:
        return ToolResult(await (await in_db(scope, wanted)).text(wanted.path, diff=wanted.diff))

    return typed_tool("get_changes", GetChanges, read, read_only=True)
