"""A plan and its subtasks, from the snapshot that the API gives too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext

from agents.models import Conversation, Message
from agents.sentences import commas, first_line
from console.closing_buttons import closing_buttons
from console.endings import Ending, calls_of, ending_of, files_of
from console.language import cached
from console.plan_buttons import PlanButtons
from console.plan_page import SubtaskTiming
from console.status_labels import (
    Snapshot,
    StatusLabel,
    is_pausing,
    label_of_plan,
    name_of_shape,
    shape_of_subtask,
    why_left_out,
)
from console.templatetags.changes import has_changes, link_words
from console.templatetags.formats import tokens_used
from plans.comments import digest_of
from plans.models import SUBTASK_TEXT
from plans.progress import progress_parts, progress_words
from plans.schemas import why_too_few, why_too_many
from plans.status import status_of_document

MOST_ROWS, LONG_ROW = 2_000, 2_000  # rows that are remembered; none with more characters of text
# Of a row that rests: its template gets these and no others.
AT_REST = (
    *("key", "state", *SUBTASK_TEXT, "reason", "outcome", "comment"),
    *("verified", "looked_by", "looked_at"),
    *("started_at", "counts_from", "seconds", "tokens", "tokens_cached", "usage_estimated"),
)

LINES_OF_OUTCOME, CHARACTERS_OF_LINE = 3, 45  # in the drawer, as narrow as it is beside a chat

SHAPES_OF_COUNTS = {
    "done": "checked",
    "by_word": "by_word",
    "regressed": "regressed",
    "abandoned": "abandoned",
}

register = template.Library()
register.filter(first_line)


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
    "retry-changed": SubtaskButton(
        "subtask-retry",
        "retry",
        gettext_lazy("Retry"),
        gettext_lazy("Retry subtask {number}"),
        kind="go",
        dialog="retry-dialog",
        asks=gettext_lazy("Retry subtask {number}?"),
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
def id_within(row: Snapshot, plan: int) -> str:
    """How the ids of what belongs to a subtask end: its key is its own within the plan alone."""
    return f"{plan}-{row['key']}"


@register.filter
def shape(row: Snapshot) -> str:
    return shape_of_subtask(row)


@register.filter
def settled(plan: Snapshot) -> int:
    """Done and abandoned ones both count."""
    return int(plan["progress"]["done"]) + int(plan["progress"]["abandoned"])


@register.filter
def settled_words(plan: Snapshot) -> str:
    """7 of 7 · 4 checked, 2 by word, 1 abandoned; nothing for a document."""
    return progress_words(plan["progress"]) if plan["progress"]["total"] else ""


@register.filter
def takes_edits(plan: Snapshot) -> bool:
    """By hand, while nothing runs."""
    return plan["state"] in ("todo", "in_progress") and plan["run"] in ("idle", "paused")


@register.filter
def takes_retry(plan: Snapshot, row: Snapshot) -> bool:
    """Whether what is not true any more may be done again: nothing runs or comes first."""
    is_confirmed = plan["approved_version"] == plan["version"] and plan["run"] == "idle"
    before = plan["subtasks"][: plan["subtasks"].index(row)]
    return is_confirmed and all(each["state"] != "todo" for each in before)


@register.filter
def why_full(plan: Snapshot) -> str:
    """Why no subtask is added; empty where one may be."""
    return why_too_many(len(plan["subtasks"]) + 1)


class RestingRow(NamedTuple):
    """All that a row is drawn from in which nothing happens: equal ones read the same."""

    conversation: int
    plan: int
    number: int
    anchor: str
    editable: bool
    commentable: bool
    skippable: bool
    why_it_stays: str  # in the list; empty where it may be removed
    is_proposed: bool
    is_finished: bool
    is_checking: bool
    viewer: str
    checks: str  # as JSON
    changed: str  # how much, in words
    asks: frozenset[str]  # tools that wait for a word before each call
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
        why_it_stays=why_too_few(len(plan["subtasks"]) - 1),
        is_proposed=is_proposed(plan),
        is_finished=plan["state"] == "done",
        is_checking=bool(plan["checking"]),
        viewer=now.conversation.owner.username,
        checks=json.dumps(row["checks"]),
        asks=now.asking_tools,
        changed=link_words(row["changes"]),
        texts=texts,
    )
    is_regressed = row["state"] == "done" and row["verified"] is False
    if row["state"] == "in_progress" or row["plan"] or row["failed"] or is_regressed:
        whole = {"now": now, "conversation": now.conversation, "plan": plan, "row": row}
        whole["is_working"] = works(plan)
        return render_to_string("plans/_subtask.html", resting._asdict() | whole)
    words = [text for text in (*texts, resting.checks) if isinstance(text, str)]
    is_long = sum(map(len, words)) > LONG_ROW
    return draw_resting(resting) if is_long else drawn_resting(resting)


def draw_resting(resting: RestingRow) -> SafeString:
    row = dict(zip(AT_REST, resting.texts, strict=True)) | {
        "plan": None,
        "failed": False,
        "failure": "",
    }
    row["checks"] = json.loads(resting.checks)
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
        "id": f"{button.verb}-{id_within(context['row'], context['plan']['id'])}",
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


register.simple_tag(files_of, name="closing_files")


@register.simple_tag(takes_context=True, name="closing_buttons")
def closing_buttons_of(
    context: template.Context, message: Message, plan: Snapshot, end: Ending
) -> PlanButtons:
    """What can be done from the card of a plan that has ended."""
    shown: Snapshot = context.get("plan") or {}
    is_shown = shown.get("id") == plan["id"]
    return closing_buttons(
        message,
        plan,
        end,
        is_shown=is_shown,
        is_cleared=bool(context.get("cleared")),
        is_changed=has_changes(plan["changes"]),
    )


@register.filter
def calls_made(plan: Snapshot) -> str:
    """What follows the tokens: , 58 calls."""
    count = calls_of(plan["id"])
    return ngettext(", {n} call", ", {n} calls", count).format(n=count) if count else ""


@register.filter
def settled_parts(plan: Snapshot) -> str:
    """4 checked, 2 by word, 1 abandoned; what is zero is left out."""
    return commas(progress_parts(plan["progress"]))


@register.filter
def runs_of_shapes(plan: Snapshot) -> list[tuple[str, int, int]]:
    """What is settled, sorted by how: a mark's name, where it begins, and how many are so."""
    counts, runs, start = plan["progress"], [], 0
    for shape, name in SHAPES_OF_COUNTS.items():
        if counts[name]:
            runs.append((shape, start, counts[name]))
            start += counts[name]
    return runs


@register.filter
def left_out(plan: Snapshot) -> list[Snapshot]:
    return [row for row in plan["subtasks"] if row["state"] == "abandoned"]


@register.filter
def works(plan: Snapshot) -> bool:
    """Whether something goes on now: not while it rests, waits for a person or for its next try."""
    return status_of_document(plan).mark == "in_progress"


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
def is_long(outcome: str) -> bool:
    """Whether it takes more than the three lines that the drawer shows while the plan runs."""
    lines = outcome.splitlines()
    return sum(1 + len(line) // CHARACTERS_OF_LINE for line in lines) > LINES_OF_OUTCOME


@register.filter
def why_abandoned(row: Snapshot) -> str:
    """As the drawer says it."""
    return why_left_out(str(row["reason"]))


@register.filter
def at(table: Mapping[str, object], key: str) -> object:
    return table.get(key)


@register.filter
def used_words(timing: SubtaskTiming) -> str:
    """0:42 working, 0:10 paused · 6.1k tokens · $0.02."""
    used = timing.used
    words = [used.times.words, tokens_used(used.document())]
    words += [gettext("${n}").format(n=number_format(used.cost, 2))] if used.cost else []
    return " · ".join(filter(None, words))
