"""A tool call as a person reads it: how it went, and all that it is run with.

A decision needs every argument whole: line by line, with numbers and nothing hidden. A long text
is folded by the page's script: without one all of it is shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

from django.utils.functional import Promise
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext

from agents.changes.preview import PendingChange, pending_change
from agents.hidden_characters import count_hidden
from agents.models import ToolCall
from console.changes.lines import Line, changed_lines, near_changes, without_windows_ends
from console.components import component
from console.language import cached, grouped
from console.visible_text import visible_code

State = ToolCall.State

LONGEST_COMMAND = 80  # characters of a command that is repeated below it
HEAD, TAIL = 8, 3  # lines of a long text that are shown before "Show all"
LONG_CHANGE, CHANGE_HEAD = 400, 200  # the same for lines of a change
MOST_BLANK = 2  # blank lines in a row that are drawn; more are counted
MOST_LINES = 5_000  # of one text; what is longer cannot be shown whole
MOST_CHARACTERS = 200_000
MOST_HIDDEN = 5_000
LONG_RESULT, RESULT_HEAD = 20, 12  # lines of a result; of more than the first, the second
LONGEST_RESULT = 2_000  # characters
SHORT_LINES, SHORT_CHARACTERS = 400, 20_000  # the same for what is decided already


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


def empty() -> Line:
    """Drawn where a text has no line."""
    return Line(escape(gettext("(empty)")), kind="fold", of=0)


@dataclass(frozen=True)
class WholeText:
    """The rows of one text; those of `rest` are shown by "Show all"."""

    head: Sequence[Line]
    rest: Sequence[Line]
    tail: Sequence[Line]
    lines: int
    hidden: int
    left_out: int = 0  # lines that are not drawn at all, as there are too many
    is_change: bool = False

    @property
    def folded(self) -> int:
        return sum(line.of for line in self.rest)

    @property
    def is_whole(self) -> bool:
        return not self.left_out

    @property
    def rows(self) -> Iterator[Line]:
        return chain(self.head, self.rest, self.tail)


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
        return all(each.drawing.is_whole for each in self.arguments)

    @property
    def covers(self) -> SafeString | str:
        """What “Always allow” covers: this call and no other."""
        if self.command is not None and self.lines == 1 and len(self.command) <= LONGEST_COMMAND:
            return component("mono", text=self.arguments[0].drawing.head[0].html)
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
    first: list[Argument] = []
    last: list[Argument] = []
    if is_shell(call):
        command = str(rest.pop("command"))
        drawing = whole_text(command, is_short=is_short)
        first.append(Argument(gettext("Command"), drawing, is_named=False))
    names = {"edit_file": ("old", "new"), "write_file": ("content",)}.get(call.tool, ())
    change = [text for name in names if isinstance(text := rest.get(name), str)]
    note = against = ""
    if names and len(change) == len(names):
        rest = {name: value for name, value in rest.items() if name not in names}
        old, new = change if len(change) == 2 else ("", change[0])
        drawing = whole_change(old, new, is_short=is_short)
        if call.state == State.ASKED and (pending := pending_change(call)):
            drawing, note = change_of_file(pending) or drawing, note_on(pending)
            against = pending.against
        last.append(Argument(pgettext("part of a call", "Change"), drawing, is_named=False))
    for name, value in rest.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        first.append(Argument(str(name), whole_text(text, is_short=is_short)))
    return CallDrawing([*first, *last], command, note, against)


def change_of_file(pending: PendingChange) -> WholeText | None:
    """The change in the file as it is now; nothing where that cannot be shown whole."""
    old, new = pending.old, pending.new
    if pending.problem or is_too_long(old):
        return None
    return whole_change(*without_windows_ends(old, new), pending.line)


def note_on(pending: PendingChange) -> str:
    if pending.problem:
        return gettext("As the file is now: {problem}").format(problem=pending.problem)
    if is_too_long(pending.old):
        return gettext("What it would replace is too long to be shown beside it.")
    return ""


def is_too_long(text: str) -> bool:
    return within_limits(text, is_short=False)[1] > 0


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


@cached(128)
def whole_text(text: str, *, is_short: bool = False) -> WholeText:
    """A command, a path, any argument of a call."""
    lines, left_out = within_limits(text, is_short)
    rows: list[Line] = []
    numbered = groupby(enumerate(lines, 1), lambda line: not line[1].strip(" \t"))
    for is_blank, group in numbered:
        run = list(group)
        if is_blank and len(run) > MOST_BLANK:
            rows.append(blank_lines(len(run)))
        else:
            rows += [Line(visible_code(line), str(number)) for number, line in run]
    rows = rows if text else [empty()]
    head, tail = (HEAD, TAIL) if len(rows) > HEAD + TAIL else (len(rows), 0)
    return folded(rows, head, tail, len(lines) + left_out, count_hidden(text), left_out)


def blank_lines(count: int) -> Line:
    words = ngettext("{n} blank line", "{n} blank lines", count).format(n=grouped(count))
    return Line(escape(words), kind="fold", of=count)


def folded(
    rows: list[Line], head: int, tail: int, lines: int, hidden: int, left_out: int = 0
) -> WholeText:
    end = len(rows) - tail
    is_change = any(row.kind in ("new", "gone") for row in rows)
    return WholeText(rows[:head], rows[head:end], rows[end:], lines, hidden, left_out, is_change)


def within_limits(text: str, is_short: bool) -> tuple[list[str], int]:
    """The lines that can be drawn, and how many are left out."""
    lines = text.split("\n")
    drawn = text[: SHORT_CHARACTERS if is_short else MOST_CHARACTERS].split("\n")
    drawn = drawn[: SHORT_LINES if is_short else MOST_LINES]
    if count_hidden(text) > MOST_HIDDEN:
        drawn = drawn[:HEAD]
        drawn = [line[: MOST_HIDDEN // HEAD] for line in drawn]
    is_cut = len(drawn) < len(lines) or len(drawn[-1]) < len(lines[len(drawn) - 1])
    return drawn, max(len(lines) - len(drawn), int(is_cut))


@cached(128)
def whole_change(old: str, new: str, first: int = 1, *, is_short: bool = False) -> WholeText:
    """From one text to the other, line by line; `is_short` counts what is far from any change."""
    before, left_out_before = within_limits(old, is_short) if old else ([], 0)
    after, left_out_after = within_limits(new, is_short) if new else ([], 0)
    rows = list(changed_lines(before, after, first))
    if is_short:
        rows = [row for block in near_changes(rows) for row in block.counted]
    rows = rows or [empty()]
    head = CHANGE_HEAD if len(rows) > LONG_CHANGE else len(rows)
    left_out = left_out_before + left_out_after
    lines = sum(row.of for row in rows) + left_out
    return folded(rows, head, 0, lines, count_hidden(old) + count_hidden(new), left_out)
