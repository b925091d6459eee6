"""A finish that was checked, as the conversation and the drawer show it: check by check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, ngettext

from agents.models import Message, ToolCall, Turn
from plans.attempts import limit_of
from plans.check_results import CheckResultSnapshot, CheckSnapshot, finish_lines
from plans.check_text import CheckJson
from plans.models import Attempt, CheckResult, Subtask

FINISH = "finish_subtask"
HEAD = 12  # lines of what a check said before "Show all"
OPEN = ("", ToolCall.State.RUNNING)
# How a check went: the word in the place of its seconds, and its sign.
SIGNS: dict[str, tuple[str | Promise, str]] = {
    "passed": ("", "check"),
    "failed": ("", "x"),
    "could_not_run": (gettext_lazy("could not run"), "warn"),
    "asks": (gettext_lazy("asks you"), "shield"),
    "running": ("", "spin"),
    "next": (gettext_lazy("next"), "skipped"),
    "not_reached": (gettext_lazy("not reached"), "skipped"),
    "not_run": (gettext_lazy("not run yet"), "skipped"),
}
NAMES = {
    "passed": gettext_lazy("Passed"),
    "failed": gettext_lazy("Failed"),
    "running": gettext_lazy("Running"),
}


@dataclass(frozen=True)
class CheckRow:
    """One check of a finish; `since` is when the one before it was through."""

    check: CheckJson
    state: str
    result: CheckResultSnapshot | None
    since: str = ""

    @property
    def word(self) -> str:
        return str(SIGNS[self.state][0])

    @property
    def icon(self) -> str:
        return SIGNS[self.state][1]

    @property
    def name(self) -> str:
        """What a screen reader says for the sign where no word stands beside it."""
        return str(NAMES.get(self.state, ""))

    @cached_property
    def said(self) -> list[str]:
        return self.result.said.splitlines() if self.result else []

    @property
    def head(self) -> str:
        return "\n".join(self.said[:HEAD])

    @property
    def rest(self) -> str:
        return "\n".join(self.said[HEAD:])

    @property
    def by(self) -> str:
        return self.result.by if self.result else ""


def last_row(check: CheckSnapshot) -> CheckRow:
    """A check of a subtask as it came out last."""
    return CheckRow(check.asked, check.state, check.result)


def rows_of(call: ToolCall) -> list[CheckRow]:
    since = call.started_at.isoformat() if call.started_at else ""
    rows = []
    for check, state, result in finish_lines(call):
        rows.append(CheckRow(check, state, result, since))
        since = result.at if result else since
    return rows


@dataclass(frozen=True)
class FinishBlock:
    """A finish and its checks; `refused` says which of how many refusals it was."""

    call: ToolCall
    subtask: Subtask
    rows: list[CheckRow]
    refused: tuple[int, int] = (0, 0)

    @property
    def failed(self) -> list[CheckRow]:
        return [row for row in self.rows if row.state == "failed"]

    @property
    def is_running(self) -> bool:
        return self.call.state in OPEN

    @property
    def is_held(self) -> bool:
        """It waits for a person's word."""
        return self.is_running and any(row.state in ("could_not_run", "asks") for row in self.rows)

    @property
    def shape(self) -> str:
        if self.failed:
            return "check_failed"
        if self.is_held:
            return "waiting"
        return "in_progress" if self.is_running else "done"

    @property
    def words(self) -> str:
        if self.is_running and any(row.state == "could_not_run" for row in self.rows):
            return gettext("A check could not be run")
        if self.is_running and not self.failed:
            return gettext("Checking subtask {number}").format(number=self.subtask.position or "")
        if self.failed:
            return gettext("Not done yet: {what}").format(what=failed_words(self.failed))
        return gettext("Checked subtask {number}").format(number=self.subtask.position or "")

    @property
    def note(self) -> str:
        """check 2 of 3; refused 1 of 3; 3 of 3 passed"""
        count = len(self.rows)
        if self.is_running:
            n = min(1 + sum(row.result is not None for row in self.rows), count)
            return gettext("check {n} of {count}").format(n=n, count=count)
        if self.refused[0]:
            n, most = self.refused
            return gettext("refused {n} of {most}").format(n=n, most=most)
        passed = sum(row.state == "passed" for row in self.rows)
        return gettext("{n} of {count} passed").format(n=passed, count=count)


def failed_words(rows: Sequence[CheckRow]) -> str:
    """npm run docs:lint failed; 2 checks failed"""
    if len(rows) == 1:
        return gettext("{check} failed").format(check=short_name(rows[0].check))
    words = ngettext("{n} check failed", "{n} checks failed", len(rows))
    return words.format(n=len(rows))


def short_name(check: CheckJson) -> str:
    """The one thing that it looks at, in few characters."""
    field = {"command": "command", "http": "url", "tool": "tool", "file": "path"}
    name = field.get(check["kind"])
    if name is None:
        return gettext("the review")
    line = " ".join(str(check[name]).split())
    return line if len(line) <= 40 else f"{line[:39]}…"


def finish_blocks(message: Message) -> list[FinishBlock]:
    """The finishes in a message that were checked; without checks nothing is read for it."""
    known: list[FinishBlock] | None = message.__dict__.get("_finish_blocks")
    if known is None:
        known = message.__dict__["_finish_blocks"] = list(read_blocks(message))
    return known


def read_blocks(message: Message) -> list[FinishBlock]:
    subtask = checked_subtask(message.turn)
    if subtask is None:
        return []
    calls = [call for call in message.tool_calls.all() if call.tool == FINISH and call.started_at]
    blocks = [block_of(call, subtask) for call in calls]
    return [block for block in blocks if block.is_running or any(row.result for row in block.rows)]


def checked_subtask(turn: Turn | None) -> Subtask | None:
    """The subtask that this turn works for, if that has or had a check."""
    attempt: Attempt | None = getattr(turn, "attempt", None)
    return attempt.subtask if attempt is not None and attempt.subtask.checks_made else None


def block_of(call: ToolCall, subtask: Subtask) -> FinishBlock:
    rows = rows_of(call)
    refused = (0, 0)
    if call.state == ToolCall.State.FAILED and any(row.state == "failed" for row in rows):
        refused = (refusals_up_to(call), limit_of(call.turn, "max_check_failures"))
    return FinishBlock(call, subtask, rows, refused)


def refusals_up_to(call: ToolCall) -> int:
    failed = CheckResult.objects.filter(call__turn=call.turn_id, passed=False, call__lte=call.pk)
    refused = failed.filter(call__state=ToolCall.State.FAILED)
    return refused.values("call").distinct().count()


def is_drawn_apart(call: ToolCall, message: Message) -> bool:
    """Whether its checks stand in its place."""
    if call.tool != FINISH:
        return False
    return any(block.call.pk == call.pk for block in finish_blocks(message))


# What the drawer says of the subtask that is worked on


@dataclass(frozen=True)
class Checking:
    """`rows` while a finish is looked at; `refused` of how many, and by what, the last time."""

    rows: list[CheckRow]
    refused: int = 0
    most: int = 0
    why: str = ""
    message: int = 0

    @property
    def is_running(self) -> bool:
        return bool(self.rows)


def checking_of(plan: int, key: str) -> Checking | None:
    """For the subtask in progress, from its newest attempt; None where nothing was checked yet."""
    attempts = Attempt.objects.filter(subtask__plan=plan, subtask__key=key)
    attempt = attempts.select_related("subtask").order_by("number").last()
    if attempt is None or not attempt.subtask.checks_made:
        return None
    calls = ToolCall.objects.filter(turn=attempt.turn_id, tool=FINISH, started_at__isnull=False)
    finishes = list(calls.order_by("pk"))
    if not finishes:
        return None
    last = finishes[-1]
    rows = rows_of(last) if last.state in OPEN else []
    refused = [call for call in finishes if call.state == ToolCall.State.FAILED]
    block = block_of(refused[-1], attempt.subtask) if refused else None
    if block is None or not block.failed:
        return Checking(rows)
    n, most = block.refused
    return Checking(rows, n, most, failed_words(block.failed), block.call.message_id)
