"""The card with which the system tells how a plan, or a run of it, has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from agents.models import Message, ToolCall
from agents.sentences import listed
from agents.timestamps import timestamp
from console.changes.changed_files import standing_files
from console.status_labels import STOPPED_BY, done_by
from plans.actions.endings import STOPPED
from plans.changes.scope import Scope
from plans.progress import checked_words
from plans.snapshot import PlanSnapshot
from plans.status import STATUSES, weakest_mark
from plans.verification import Word

WRITES = ("write_file", "edit_file")
MOST_FILES, MOST_CALLS = 8, 2_000


@dataclass(frozen=True)
class ClosingFile:
    """`note` says what became of it: new · +42 −3. `call` is the one in `message` that wrote it
    last, of a file that stands on no page of changes."""

    path: str
    leads_to: str
    note: str = ""
    message: int = 0
    call: int = 0


@dataclass(frozen=True)
class ClosingFiles:
    """The first of so many."""

    first: list[ClosingFile]
    count: int

    @property
    def further(self) -> int:
        return self.count - len(self.first)


@dataclass(frozen=True)
class CheckedLine:
    """What the system says of it beside the agent's words: `4 of 7 checked`, and when that was;
    empty where no check has run."""

    shape: str
    words: str
    at: str
    more: str


@dataclass(frozen=True)
class Ending:
    """`words` say how; `is_current` while the plan still stands so, else one line is enough.

    `checked` is what was checked when it ended, and stays; what came later is `since`.
    """

    shape: str
    words: str
    at: datetime | str | None
    is_current: bool
    retry: str = ""  # the subtask's key
    error: str = ""
    starts_again: bool = False
    checked: CheckedLine | None = None
    since: CheckedLine | None = None


def ending_of(message: Message, plan: PlanSnapshot, viewer: str) -> Ending:
    meta = message.meta
    if "ended" not in meta:
        return ending_of_plan(message, plan)
    is_current = plan.is_open and plan.run == "idle" and not meta.get("over")
    if meta["ended"] == STOPPED:
        words, at = done_by(STOPPED_BY, meta.get("by"), viewer), message.created_at
        return Ending("paused", words, at, is_current, starts_again=is_current)
    return ending_by_failure(message, plan, is_current=is_current)


def ending_by_failure(message: Message, plan: PlanSnapshot, *, is_current: bool) -> Ending:
    """All as it is now while that subtask still stands failed, since what is beside it is as well;
    else one line as it was then."""
    number, total, at = message.meta.get("number"), message.meta["total"], message.created_at
    for place, row in enumerate(plan.subtasks, 1) if is_current else ():
        if row.failed and row.key == message.meta.get("subtask"):
            words = failed_at(place, len(plan.subtasks))
            retry = row.key if plan.attention == "failed" else ""
            return Ending("failed", words, at, True, retry=retry, error=row.error)
    return Ending("failed", failed_at(number, total), at, False)


def failed_at(number: int | None, total: int) -> str:
    if number is None:
        return gettext("Failed")
    sentence = gettext("Failed at subtask {number} of {total}")
    return sentence.format(number=number, total=total)


def ending_of_plan(message: Message, plan: PlanSnapshot) -> Ending:
    """Of the plan itself; history where a subtask that was not true any more is done again."""
    then = message.meta.get("checked")
    now = plan.checked
    checked = checked_line(then or now, checked_then(message, plan)) if now["total"] else None
    if message.meta.get("over") or plan.is_open:
        shape = checked.shape if checked else "done"
        return Ending(shape, STATUSES["done"].word, message.created_at, False, checked=checked)
    status = plan.status  # as in the drawer
    if plan.state != "done":  # each of its subtasks was skipped
        return Ending(status.mark, status.word, plan.finished_at, True)
    is_other = then and any(then.get(word, 0) != now[word] for word in Word)
    since = checked_line(now, plan.checked_at) if is_other else None
    ending = Ending(status.mark, STATUSES["done"].word, plan.finished_at, True)
    return replace(ending, checked=checked, since=since)


def checked_then(message: Message, plan: PlanSnapshot) -> str:
    """When checks had run last as it ended; older messages do not say. For them the plan does, if
    no check has run since."""
    then = message.meta.get("checked") or {}
    if "at" in then:
        return str(then["at"])
    at = plan.checked_at
    return at if at <= timestamp(message.created_at) else ""


def checked_line(counts: Mapping[str, Any], at: str) -> CheckedLine:
    """`counts` as in a plan's progress, with the numbers of those that are done without a check,
    and of those that are not true any more; older messages have none."""
    shape = weakest_mark(counts)
    words = checked_words(counts["checked"], counts["total"])
    by_word, regressed = counts.get("by_word_at", ()), counts.get("regressed_at", ())
    more = (by_word_words(by_word), regressed_words(regressed))
    return CheckedLine(shape, words, at, " ".join(filter(None, more)))


def by_word_words(numbers: Sequence[int]) -> str:
    words = ngettext(
        "Subtask {numbers} is done by the agent’s word.",
        "Subtasks {numbers} are done by the agent’s word.",
        len(numbers),
    )
    return words.format(numbers=listed([*map(str, numbers)])) if numbers else ""


def regressed_words(numbers: Sequence[int]) -> str:
    words = ngettext(
        "Subtask {numbers} is no longer true.",
        "Subtasks {numbers} are no longer true.",
        len(numbers),
    )
    return words.format(numbers=listed([*map(str, numbers)])) if numbers else ""


def files_of(plan: PlanSnapshot, conversation: int) -> ClosingFiles:
    """What its attempts changed and no undo has taken back, as "View changes" beside it has it.
    Where that is not known, or not kept any more, what calls have written can still be read."""
    scope = Scope(plan.row)
    if not scope.changes.is_known and not scope.taken_back.at:
        return files_written(plan.id, conversation)
    files = islice(standing_files(scope), MOST_FILES)
    first = [ClosingFile(each.change.path, each.address, each.note) for each in files]
    return ClosingFiles(first, len(scope.standing))


def files_written(plan: int, conversation: int) -> ClosingFiles:
    """In the order in which calls first did, each with the call that did last."""
    found: dict[str, ClosingFile] = {}
    address = reverse("conversation", args=[conversation])
    done = ToolCall.objects.filter(turn__attempt__subtask__plan=plan, tool__in=WRITES)
    rows = done.filter(state=ToolCall.State.DONE).order_by("pk")
    calls = rows.values_list("pk", "message", "arguments", "file_change__is_new")
    for call, message, arguments, is_new in calls[:MOST_CALLS]:
        path = arguments.get("path") if isinstance(arguments, dict) else None
        if isinstance(path, str) and path:
            note = found[path].note if path in found else gettext("new") if is_new else ""
            found[path] = ClosingFile(path, f"{address}?at={message}", note, message, call)
    return ClosingFiles([*found.values()][:MOST_FILES], len(found))


def calls_of(plan: int) -> int:
    """How many tools its attempts have called."""
    return ToolCall.objects.filter(turn__attempt__subtask__plan=plan).count()
