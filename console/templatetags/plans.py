"""A plan, its subtasks and its versions, from the snapshot that the API gives too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext

from agents.actors import actor_of
from agents.models import Conversation, Message
from console.endings import Ending, calls_of, ending_of
from console.language import cached, commas
from console.plan_page import SubtaskTiming
from console.plan_versions import VersionNews, news_of
from console.status_labels import (
    Snapshot,
    StatusLabel,
    is_pausing,
    label_of_plan,
    name_for,
    name_of_shape,
    parts_of,
    shape_of_subtask,
    why_left_out,
)
from console.templatetags.formats import tokens_used
from plans.comments import digest_of
from plans.models import SUBTASK_TEXT, Plan, PlanVersion

MOST_ROWS, LONG_ROW = 2_000, 2_000  # rows that are remembered; none with more characters of text
# Of a row that rests: its template gets these and no others.
AT_REST = (
    *("key", "state", *SUBTASK_TEXT, "reason", "outcome", "comment"),
    *("started_at", "counts_from", "seconds", "tokens", "tokens_cached", "usage_estimated"),
)

register = template.Library()


@dataclass(frozen=True)
class SubtaskButton:
    """What can be done about a failed subtask: posted at once, or asked about in a dialog first.

    `name` and `asks` have a place for the subtask's number.
    """

    verb: str
    icon: str
    label: str | Promise
    name: str | Promise = ""
    kind: str = "quiet"
    dialog: str = ""
    asks: str | Promise = ""


SUBTASK_BUTTONS = {
    "retry": SubtaskButton(
        "subtask-retry",
        "retry",
        gettext_lazy("Retry"),
        gettext_lazy("Retry subtask {number}"),
        kind="go",
    ),
    "retry-now": SubtaskButton(
        "subtask-retry",
        "retry",
        gettext_lazy("Retry now"),
        gettext_lazy("Retry now, subtask {number}"),
        kind="go",
    ),
    "skip": SubtaskButton(
        "subtask-skip",
        "skip",
        gettext_lazy("Skip"),
        gettext_lazy("Skip subtask {number}"),
        dialog="skip-dialog",
        asks=gettext_lazy("Skip subtask {number}?"),
    ),
    "replan": SubtaskButton(
        "subtask-replan",
        "route",
        gettext_lazy("Replan from here"),
        dialog="replan-dialog",
        asks=gettext_lazy("Replan from subtask {number}?"),
    ),
}


@register.filter
def mark_of(plan: Snapshot, conversation: Conversation) -> StatusLabel:
    return label_of_plan(plan, conversation)


@register.filter
def comment_digest(row: Snapshot) -> str:
    """What a start from this page names the comment of this subtask by."""
    return digest_of(row["key"], row["comment"])


@register.filter
def pauses_next(plan: Snapshot) -> bool:
    return is_pausing(plan)


@register.filter
def shape(row: Snapshot) -> str:
    return shape_of_subtask(row)


@register.filter
def settled(plan: Snapshot) -> int:
    """Done and abandoned ones both count."""
    return int(plan["progress"]["done"]) + int(plan["progress"]["abandoned"])


@register.filter
def progress_words(plan: Snapshot) -> str:
    """2 of 3 settled, 67 %: 1 done, 1 abandoned."""
    counts = plan["progress"]
    words = gettext("{settled} of {total} settled, {percent} %")
    if settled(plan):
        words = gettext("{settled} of {total} settled, {percent} %: {parts}")
    return words.format(settled=settled(plan), parts=settled_parts(plan), **counts)


@register.filter
def takes_edits(plan: Snapshot) -> bool:
    """By hand, while nothing runs."""
    return plan["state"] in ("todo", "in_progress") and plan["run"] in ("idle", "paused")


class RestingRow(NamedTuple):
    """All that a row is drawn from in which nothing happens: equal ones read the same."""

    conversation: int
    plan: int
    number: int
    anchor: str
    editable: bool
    commentable: bool
    skippable: bool
    texts: tuple[object, ...]  # of AT_REST, in its order


@register.simple_tag(takes_context=True)
def subtask(context: template.Context, row: Snapshot, number: int) -> SafeString:
    """A row of the checklist."""
    plan, now = context["plan"], context["now"]
    is_next = bool(now.current) and now.current["key"] == row["key"]
    texts = tuple(row[name] for name in AT_REST)
    resting = RestingRow(
        conversation=now.conversation.pk,
        plan=plan["id"],
        number=number,
        anchor=now.anchors.get(row["key"], ""),
        editable=is_editable(row, plan),
        commentable=row["state"] == "todo" and is_proposed(plan),
        skippable=is_next and may_be_skipped(row, plan),
        texts=texts,
    )
    if row["state"] == "in_progress" or row["plan"] or row["failed"]:
        whole = {"now": now, "conversation": now.conversation, "plan": plan, "row": row}
        return render_to_string("plans/_subtask.html", resting._asdict() | whole)
    is_long = sum(len(text) for text in texts if isinstance(text, str)) > LONG_ROW
    return draw_resting(resting) if is_long else drawn_resting(resting)


def draw_resting(resting: RestingRow) -> SafeString:
    row = dict(zip(AT_REST, resting.texts, strict=True)) | {"plan": None, "failed": False}
    values = {"conversation": {"pk": resting.conversation}, "plan": {"id": resting.plan}}
    return render_to_string("plans/_subtask.html", resting._asdict() | values | {"row": row})


# Each event of a run draws the whole list, at 0.3 ms a row (4 ms for 20).
drawn_resting = cached(MOST_ROWS)(draw_resting)


@register.inclusion_tag("plans/_subtask_button.html", takes_context=True)
def subtask_button(context: template.Context, name: str) -> dict[str, object]:
    button = SUBTASK_BUTTONS[name]
    address = reverse(button.verb, args=[context["conversation"].pk, context["row"]["key"]])
    number = context["number"]
    return {
        "button": button,
        "address": address,
        "name": str(button.name).format(number=number),
        "asks": str(button.asks).format(number=number),
    }


def is_editable(row: Snapshot, plan: Snapshot) -> bool:
    return row["state"] == "todo" and takes_edits(plan)


@register.filter
def subtask_text(row: Snapshot) -> list[tuple[str, str]]:
    """Each field with its text, for the editor to begin with."""
    return [(field, row[field]) for field in SUBTASK_TEXT]


@register.filter
def is_described(row: Snapshot) -> bool:
    """Whether there is more to read of it than its name."""
    return any(row[field] for field in SUBTASK_TEXT if field != "name")


def may_be_skipped(row: Snapshot, plan: Snapshot) -> bool:
    """From its row, once the plan has started and rests; a failed one has a button below."""
    return bool(plan["approved_version"]) and plan["run"] == "idle" and not row["failed"]


@register.simple_tag
def ending(message: Message, plan: Snapshot, viewer: str) -> Ending:
    """How a plan, or a run of it, has ended."""
    return ending_of(message, plan, viewer)


@register.filter
def calls_made(plan: Snapshot) -> str:
    """What follows the tokens: , 58 calls."""
    count = calls_of(plan["id"])
    return ngettext(", {n} call", ", {n} calls", count).format(n=count) if count else ""


@register.filter
def settled_words(plan: Snapshot) -> str:
    """7 of 7 · 6 done, 1 abandoned; nothing for a document."""
    if not plan["subtasks"]:
        return ""
    counts = plan["progress"]
    words = gettext("{settled} of {total}").format(settled=settled(plan), total=counts["total"])
    return " · ".join(filter(None, [words, settled_parts(plan)]))


@register.filter
def settled_parts(plan: Snapshot) -> str:
    """6 done, 1 abandoned; what is zero is left out."""
    return commas(parts_of(plan["progress"]))


@register.filter
def left_out(plan: Snapshot) -> list[Snapshot]:
    return [row for row in plan["subtasks"] if row["state"] == "abandoned"]


@register.filter
def is_open_plan(plan: Snapshot) -> bool:
    return plan["state"] in ("todo", "in_progress")


@register.filter
def is_proposed(plan: Snapshot) -> bool:
    """Whether its present version waits for a yes: then all of its text is shown."""
    return is_open_plan(plan) and plan["version"] != plan["approved_version"]


@register.filter
def state_name(row: Snapshot) -> str:
    return name_of_shape(shape_of_subtask(row), str(row["reason"]))


@register.filter
def why_abandoned(row: Snapshot) -> str:
    """As the drawer says it."""
    return why_left_out(str(row["reason"]))


@register.filter
def at(table: Mapping[str, object], key: str) -> object:
    return table.get(key)


@register.simple_tag
def news(plan: Snapshot) -> VersionNews | None:
    """How much changed since you approved, or since the version before; None for the first."""
    if plan["version"] == 1:
        return None
    return compared(plan["id"], plan["created_at"], plan["version"], plan["approved_version"])


@lru_cache(maxsize=256)  # two versions never change again, and every drawing compares them
def compared(pk: int, created_at: str, version: int, approved: int | None) -> VersionNews:
    return news_of(Plan(pk=pk, version=version, approved_version=approved))


@register.filter
def author(version: PlanVersion, viewer: str) -> str:
    return name_for(actor_of(version.author_kind, version.author), viewer)


@register.filter
def used_words(timing: SubtaskTiming) -> str:
    """0:42 working, 0:10 paused · 6.1k tokens · $0.02."""
    used = timing.used
    words = [used.times.words, tokens_used(used.document())]
    words += [gettext("${n}").format(n=number_format(used.cost, 2))] if used.cost else []
    return " · ".join(filter(None, words))
