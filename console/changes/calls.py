"""A tool call as a person reads it: how it went, and all that it is run with.

A decision needs every argument whole: line by line, with numbers and nothing hidden. A long text
is folded by the page's script: without one all of it is shown.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext

from agents.changes.preview import PendingChange, pending_change
from agents.models import FileChange, ToolCall
from console.changes.lines import Diff, diff_of_pieces, limited, text_lines
from console.components import component
from console.language import format_size, grouped

State = ToolCall.State

LONGEST_COMMAND = 80  # characters of a command that is repeated below it
LONG_RESULT, RESULT_HEAD = 20, 12  # lines of a result; of more than the first, the second
LONGEST_RESULT = 2_000  # characters


@dataclass(frozen=True)
class CallStatus:
    """`words` are empty where a duration stands in their place; `alt` is what a screen reader
    says for the icon."""

    words: str | Promise
    icon: str
    status: str = ""
    alt: str | Promise = ""


DENIED = CallStatus(gettext_lazy("Denied by you"), "x")
# It has no state before it is its turn.
NOT_RUN_YET = CallStatus(gettext_lazy("Not run yet"), "clock")
BY_STATE: dict[str, CallStatus] = {
    State.DONE: CallStatus("", "check", alt=gettext_lazy("Succeeded")),
    State.RUNNING: CallStatus("", "spin", "running", alt=gettext_lazy("Running")),
    State.ASKED: CallStatus(gettext_lazy("Going on"), "clock"),
    State.DENIED: DENIED,
    State.REFUSED: CallStatus(gettext_lazy("Not allowed"), "x", "failed"),
    State.FAILED: CallStatus(gettext_lazy("Failed"), "warn", "failed"),
    State.INTERRUPTED: CallStatus(gettext_lazy("Interrupted"), "x"),
}


def call_status(call: ToolCall) -> CallStatus:
    if call.state == State.ASKED and call.decision == "deny":
        return DENIED
    if call.state == State.INTERRUPTED and call.started_at is None:
        return CallStatus(gettext("Not run"), "x")
    return BY_STATE.get(call.state, NOT_RUN_YET)


def argument(call: ToolCall) -> str:
    """The one argument that says most: a path, a pattern, a command."""
    values = call.arguments if isinstance(call.arguments, dict) else {}
    if "pattern" in values:
        return gettext("{pattern} in {path}").format(
            pattern=values["pattern"], path=values.get("path", ".")
        )
    named = (values[name] for name in ("path", "command", "url", "name") if name in values)
    texts = (value for value in values.values() if isinstance(value, str))
    first = next(named, None) or next(texts, "")
    return " ".join(str(first).split())[:200]


@dataclass(frozen=True)
class Argument:
    """One argument, drawn; a command and a change need no name above them."""

    name: str
    drawing: Diff
    is_named: bool = True


@dataclass(frozen=True)
class CallDrawing:
    """All that a call would be run with."""

    arguments: list[Argument]
    command: str | None = None  # of a shell
    note: str = ""  # why the change is not shown against the file
    against: str = ""  # what the file was when it was (PendingChange.against)

    @property
    def is_shell(self) -> bool:
        return self.command is not None

    @property
    def lines(self) -> int:
        return sum(each.drawing.lines for each in self.arguments)

    @property
    def hidden(self) -> int:
        return sum(each.drawing.hidden for each in self.arguments)

    @property
    def hidden_words(self) -> str:
        words = ngettext(
            "{n} hidden character is drawn as a box.",
            "{n} hidden characters are drawn as boxes.",
            self.hidden,
        )
        return words.format(n=grouped(self.hidden))

    @property
    def is_whole(self) -> bool:
        """Whether a person can see all of it, and so may allow it."""
        return not any(each.drawing.cut for each in self.arguments)

    @property
    def covers(self) -> SafeString | str:
        """What “Always allow” covers: this call and no other."""
        if self.command is not None and self.lines == 1 and len(self.command) <= LONGEST_COMMAND:
            return component("mono", text=self.arguments[0].drawing.rows[0].html)
        if self.is_shell and len(self.arguments) == 1:
            return gettext("exactly this command, whole,")
        return gettext("exactly this call, whole,")


@dataclass(frozen=True)
class Result:
    """What a call gave back, as far as it is shown; `lines` is how many it has in all."""

    text: str
    lines: int
    is_cut: bool


def result_of(call: ToolCall, *, is_whole: bool = False) -> Result:
    """A long one begins with its first lines: a page holds many, and few are read."""
    lines = call.result.split("\n")
    is_long = len(lines) > LONG_RESULT or len(call.result) > LONGEST_RESULT
    if is_whole or not is_long:
        return Result(call.result, len(lines), is_cut=False)
    head = "\n".join(lines[:RESULT_HEAD])[:LONGEST_RESULT]
    return Result(head, len(lines), is_cut=True)


def draw_call(call: ToolCall, *, is_short: bool = False) -> CallDrawing:
    """Its arguments by name; a command comes first, the change of a file last and as one.

    `is_short` counts what is far from a change instead of drawing it: for calls already decided.
    """
    rest, command = values_of(call), None
    drawn: list[Argument] = []
    if is_shell(call):
        command = str(rest.pop("command"))
        drawn.append(Argument(gettext("Command"), text_lines(command), is_named=False))
    names = {"edit_file": ("old", "new"), "write_file": ("content",)}.get(call.tool, ())
    texts = [text for name in names if isinstance(text := rest.get(name), str)]
    is_change = bool(names) and len(texts) == len(names)
    for name, value in rest.items():
        if not (is_change and name in names):
            drawn.append(Argument(str(name), text_lines(as_text(value))))
    note = against = ""
    if is_change:
        old, new = texts if len(texts) == 2 else ("", texts[0])
        drawing = whole_change(old, new)
        if call.state == State.ASKED and (pending := pending_change(call)):
            drawing, note = change_of_file(pending) or drawing, note_on(pending)
            against = pending.against
        drawn.append(Argument(pgettext("part of a call", "Change"), drawing, is_named=False))
    if is_short:
        drawn = [replace(each, drawing=each.drawing.counted().shortened()) for each in drawn]
    return CallDrawing(drawn, command, note, against)


def as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def whole_change(old: str, new: str, first: int = 1, *, is_file: bool = False) -> Diff:
    """From one text to the other, line by line."""
    (before, cut), (after, more) = limited(old), limited(new)
    diff = diff_of_pieces("\n".join(before), "\n".join(after), first, is_file=is_file)
    return replace(diff, lines=diff.lines + cut + more, cut=cut + more)


def change_of_file(pending: PendingChange) -> Diff | None:
    """The change in the file as it is now; nothing where that cannot be shown whole."""
    if pending.problem or limited(pending.old)[1]:
        return None
    return whole_change(pending.old, pending.new, pending.line, is_file=True)


def note_on(pending: PendingChange) -> str:
    if pending.problem:
        return gettext("As the file is now: {problem}").format(problem=pending.problem)
    if limited(pending.old)[1]:
        return gettext("What it would replace is too long to be shown beside it.")
    return ""


def question_of(call: ToolCall) -> str:
    """What a person is asked about it, in one line."""
    if call.message.meta.get("check"):
        return gettext("Run this check?")
    if is_shell(call):
        return gettext("Run this shell command?")
    return gettext("Let it use {tool}?").format(tool=call.tool)


def is_shell(call: ToolCall) -> bool:
    return call.tool == "shell" and isinstance(values_of(call).get("command"), str)


def values_of(call: ToolCall) -> dict[str, object]:
    values = call.arguments
    return dict(values) if isinstance(values, dict) else {"arguments": values}


# What became of a file


def diff_of(call: ToolCall, *, is_whole: bool = False) -> Diff | None:
    """Nothing for a call that changed no file, or where it is not known what it changed."""
    change = call.change
    if change is None:
        return None
    words = why_no_lines(change)
    if change.left_out:
        return Diff(note=words)
    diff = diff_of_pieces(change.old, change.new, change.line).or_note(words)
    return diff if is_whole else diff.shortened()


def why_no_lines(change: FileChange) -> str:
    if change.left_out == FileChange.LeftOut.BINARY:
        words = gettext("Binary file, {now}, was {was}.")
        if change.is_new:
            words = gettext("Binary file, {now}, new.")
    elif change.left_out == FileChange.LeftOut.TOO_LONG:
        words = gettext("What changed is too long to be kept line by line: {now}, was {was}.")
        if change.is_new:
            words = gettext("The new file is too long to be kept line by line: {now}.")
    elif change.left_out:
        words = gettext("What was there before could not be read. The file has {now} now.")
    elif change.is_new:
        words = gettext("A new file, empty.")
    else:
        words = gettext("The file was the same already.")
    return words.format(now=format_size(change.new_size), was=format_size(change.old_size))
