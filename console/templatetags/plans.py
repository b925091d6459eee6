"""A plan, its subtasks and their checks, from the snapshot that the API gives too."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django import template
from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from pydantic import TypeAdapter

from agents.models import Message
from agents.sentences import first_line
from console.check_display import drawn_check, kind_word, typed_fields
from console.conversation_state import ConversationState
from console.endings import Ending, calls_of, ending_of, files_of
from console.finish_blocks import last_row
from console.language import cached
from console.plan_buttons import PlanButton, PlanButtons, closing_buttons, subtask_buttons
from console.plan_page import SubtaskTiming
from console.plan_texts import document, document_id, plan_text
from console.status_labels import label_of_plan, why_left_out
from console.templatetags.changes import changes_made, link_words
from console.templatetags.components import button
from console.templatetags.formats import tokens_used
from plans.check_permission import tool_of
from plans.check_text import CheckJson
from plans.schemas import why_too_few
from plans.snapshot import PlanSnapshot, SubtaskSnapshot

MOST_ROWS, LONG_ROW = 2_000, 3_000  # rows that are remembered; none of more characters as JSON
LINES_OF_OUTCOME, CHARACTERS_OF_LINE = 3, 45  # in the drawer, as narrow as it is beside a chat

ROWS = TypeAdapter(SubtaskSnapshot)

register = template.Library()
for each in (first_line, why_left_out, typed_fields, kind_word, drawn_check, last_row):
    register.filter(each)
register.filter(document)
register.filter(document_id)
register.filter(plan_text)
register.filter("mark_of", label_of_plan)


@register.filter
def asks_first(check: CheckJson, asks: frozenset[str] | str) -> bool:
    """Whether it waits for a word first; nobody asks about one of another version."""
    return bool(asks) and tool_of(check) in asks


@register.filter
def id_within(row: SubtaskSnapshot, plan: int) -> str:
    """How the ids of what belongs to a subtask end: its key is its own within the plan alone."""
    return f"{plan}-{row.key}"


@register.simple_tag(takes_context=True)
def subtask(context: template.Context, row: SubtaskSnapshot, number: int) -> SafeString:
    """A row of the checklist."""
    plan: PlanSnapshot = context["plan"]
    now: ConversationState = context["now"]
    facts = {
        "number": number,
        "anchor": now.anchors.get(row.key, ""),
        "editable": row.state == "todo" and plan.takes_edits,
        "commentable": row.state == "todo" and plan.is_proposed,
        "skippable": row is plan.current and may_be_skipped(row, plan),
        "why_it_stays": why_too_few(len(plan.subtasks) - 1),
        "is_proposed": plan.is_proposed,
        "is_finished": plan.state == "done",
        "is_checking": bool(plan.checking),
        "is_drawn": row.key in now.drawn_outcomes,
        "viewer": now.conversation.owner.username,
        "asks": now.asking_tools,
        "changed": changes_made(row.changes) if row.undone_at else link_words(row.changes),
    }
    if row.state == "in_progress" or row.plan or row.failed or row.is_gone:
        whole = {"now": now, "conversation": now.conversation, "plan": plan, "row": row}
        return render_to_string("plans/_subtask.html", facts | whole)
    text = ROWS.dump_json(row, exclude_unset=True)
    draw = draw_resting if len(text) > LONG_ROW else drawn_resting
    return draw(now.conversation.pk, plan.id, text, **facts)


def draw_resting(conversation: int, plan: int, text: bytes, **facts: object) -> SafeString:
    """A row in which nothing happens: all that it is drawn from, so that equal ones read alike."""
    facts |= {"conversation": {"pk": conversation}, "plan": {"id": plan}}
    return render_to_string("plans/_subtask.html", facts | {"row": ROWS.validate_json(text)})


# Each event of a run draws the whole list, at 0.3 ms a row (4 ms for 20).
drawn_resting = cached(MOST_ROWS)(draw_resting)


@register.simple_tag(takes_context=True, name="subtask_buttons")
def subtask_buttons_of(context: template.Context) -> list[PlanButton]:
    """What can be done about the row that has failed, or is gone."""
    now: ConversationState = context["now"]
    plan, row = context["plan"], context["row"]
    return subtask_buttons(plan, row, now.conversation.pk, replanning=now.is_replanning)


@register.simple_tag
def plan_button(each: PlanButton, size: str = "") -> SafeString:
    """One below a plan, at a subtask or on a card."""
    own: dict[str, object] = {"id": each.id, "aria_label": str(each.name)}
    if each.leads_to:
        return button(str(each.label), each.icon, each.kind, size, href=each.leads_to, **own)
    post, why_not = "", str(each.blocked)
    if each.sends:
        own["hx_vals"] = json.dumps(dict([each.sends]))
    if why_not:
        own["data_refusal"] = why_not
    elif each.edits:
        own |= {"data_edit_plan": True}
    elif each.opens:
        asks = {"data_to": each.to, "data_about": str(each.asks)} if each.to else {}
        own |= {"data_opens": each.opens, **asks}
    else:
        post = each.to
    if not why_not:
        own["title"] = each.explains
    return button(str(each.label), each.icon, each.kind, size, post, why_not, **own)


def may_be_skipped(row: SubtaskSnapshot, plan: PlanSnapshot) -> bool:
    """From its row, once the plan has started and rests; a failed one has a button below."""
    return bool(plan.approved_version) and plan.run == "idle" and not row.failed


register.simple_tag(ending_of, name="ending")
register.simple_tag(files_of, name="closing_files")


@register.simple_tag(takes_context=True, name="closing_buttons")
def closing_buttons_of(
    context: template.Context, message: Message, plan: PlanSnapshot, end: Ending
) -> PlanButtons:
    """What can be done from the card of a plan that has ended."""
    shown: PlanSnapshot | None = context.get("plan")
    is_shown = shown is not None and shown.id == plan.id
    is_cleared = bool(context.get("cleared"))
    return closing_buttons(message, plan, end, is_shown=is_shown, is_cleared=is_cleared)


@register.filter
def calls_made(plan: PlanSnapshot) -> str:
    """What follows the tokens: , 58 calls."""
    count = calls_of(plan.id)
    return ngettext(", {n} call", ", {n} calls", count).format(n=count) if count else ""


@register.filter
def is_long(outcome: str) -> bool:
    """Whether it takes more than the three lines that the drawer shows while the plan runs."""
    lines = outcome.splitlines()
    return sum(1 + len(line) // CHARACTERS_OF_LINE for line in lines) > LINES_OF_OUTCOME


@register.filter
def at(table: Mapping[str, object], key: str) -> object:
    return table.get(key)


@register.filter
def used_words(timing: SubtaskTiming) -> str:
    """0:42 working, 0:10 paused · 6.1k tokens · $0.02."""
    used = timing.used
    words = [used.times.words, tokens_used(used)]
    words += [gettext("${n}").format(n=number_format(used.cost, 2))] if used.cost else []
    return " · ".join(filter(None, words))
