"""The arguments of a tool call as a person reads them: every one, whole."""

from __future__ import annotations

import json
from dataclasses import dataclass

from agents.models import ToolCall
from console.whole_text import WholeText, whole_change, whole_text

MOST_SAID = 80  # characters of a command that are said again below it


@dataclass(frozen=True)
class Argument:
    """One argument, drawn; a command and a change need no name above them."""

    name: str
    drawing: WholeText
    is_named: bool = True


@dataclass(frozen=True)
class CallDrawing:
    """All that a call would be run with."""

    arguments: list[Argument]
    is_shell: bool

    @property
    def lines(self) -> int:
        return sum(each.drawing.lines for each in self.arguments)

    @property
    def hidden(self) -> int:
        return sum(each.drawing.hidden for each in self.arguments)

    @property
    def is_whole(self) -> bool:
        """Whether a person can see all of it, and so may allow it."""
        return all(each.drawing.is_whole for each in self.arguments)


def draw_call(call: ToolCall, *, is_short: bool = False) -> CallDrawing:
    """Its arguments by name; a command first, a change of a file as one."""
    values = values_of(call)
    drawn: list[Argument] = []
    rest = dict(values)
    if is_shell(call):
        command = whole_text(str(rest.pop("command")), is_short=is_short)
        drawn.append(Argument("Command", command, is_named=False))
    if change := change_of(call):
        rest = {name: value for name, value in rest.items() if name not in change}
        old, new = change.get("old", ""), change.get("new", change.get("content", ""))
        drawn.append(Argument("Change", whole_change(old, new, is_short=is_short), is_named=False))
    named = [
        Argument(str(name), whole_text(readable(value), is_short=is_short))
        for name, value in rest.items()
    ]
    return CallDrawing([*drawn, *named] if is_shell(call) else [*named, *drawn], is_shell(call))


def is_shell(call: ToolCall) -> bool:
    return call.tool == "shell" and isinstance(values_of(call).get("command"), str)


def values_of(call: ToolCall) -> dict[str, object]:
    values = call.arguments
    return dict(values) if isinstance(values, dict) else {"arguments": values}


def change_of(call: ToolCall) -> dict[str, str]:
    """The arguments that are a text before and after, if the tool writes a file."""
    names = {"edit_file": ("old", "new"), "write_file": ("content",)}.get(call.tool, ())
    values = values_of(call)
    change = {name: text for name in names if isinstance(text := values.get(name), str)}
    return change if len(change) == len(names) else {}


def readable(value: object) -> str:
    """Texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def covered_words(drawing: CallDrawing) -> str:
    """How “Always allow” names a call that is too long to be said again."""
    is_command = drawing.is_shell and len(drawing.arguments) == 1
    return f"exactly this {'command' if is_command else 'call'}, whole,"
