"""How much was changed, as words and signs, and where it can be read."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from console.changes.changed_files import Group, address, address_of
from console.changes.lines import change_signs
from console.components import component
from console.language import grouped
from console.templatetags.languages import plural
from plans.changes.recorded import recordings_of
from plans.changes.undone import ChangedSnapshot, undo_that_stands
from plans.models import Run
from plans.snapshot import PlanSnapshot

register = template.Library()
register.filter(grouped)
register.simple_tag(address, name="changes_url")


@register.simple_tag
def change_counts(added: int | None, removed: int | None) -> SafeString:
    """+41 −7, each in its colour; a side that is zero is left out."""
    return component("change_counts", added=added or 0, removed=removed or 0)


@register.filter
def changed_words(summary: ChangedSnapshot | None) -> str:
    """What is left; nothing where no file was changed."""
    if summary and summary.files and summary.undone_at:
        return gettext("No changes left, undone by you")
    return changes_made(summary)


def changes_made(summary: ChangedSnapshot | None) -> str:
    """Up to 3 files, +41 −7, partly undone; also where an undo has left none of them."""
    if not summary or not summary.files:
        return ""
    words = plural(summary.files, "file")
    signs = change_signs(summary.added, summary.removed)
    all_of_it = gettext("{files}, {lines}").format(files=words, lines=signs) if signs else words
    if summary.up_to:
        all_of_it = gettext("up to {changed}").format(changed=all_of_it)
    if summary.partly_undone:
        return gettext("{changed}, partly undone by you").format(changed=all_of_it)
    return all_of_it


def link_words(summary: ChangedSnapshot | None) -> str:
    """How much was changed, or that nobody knows: the page it leads to says why."""
    unknown = bool(summary and summary.stopped)
    return changed_words(summary) or (gettext("Changes are not recorded") if unknown else "")


@register.simple_tag
def group_heading(group: Group) -> str:
    n = group.count
    if group.origin == "outside":
        words = ngettext("Outside this step, {n} file", "Outside this step, {n} files", n)
    elif group.origin == "both":
        words = ngettext(
            "By the agent and others, {n} file", "By the agent and others, {n} files", n
        )
    elif group.origin == "unsure":
        words = ngettext("Cannot be told, {n} file", "Cannot be told, {n} files", n)
    else:
        words = ngettext("By the agent, {n} file", "By the agent, {n} files", n)
    return words.format(n=grouped(n))


Link = dict[str, object]


@register.inclusion_tag("changes/_link.html")
def subtask_change_link(words: str, conversation: int, plan: int, key: str, number: int) -> Link:
    """How much a subtask changed, leading to what; nothing where that is nothing."""
    name = gettext("Changes of subtask {number}: {changed}").format(number=number, changed=words)
    return link(words, name, conversation, plan=plan, subtask=key)


@register.inclusion_tag("changes/_link.html")
def plan_change_link(summary: ChangedSnapshot | None, conversation: int, plan: int) -> Link:
    words = link_words(summary)
    name = gettext("Changes of the plan: {changed}").format(changed=words)
    return link(words, name, conversation, plan=plan)


@register.inclusion_tag("changes/_link.html")
def turn_change_link(summary: ChangedSnapshot | None, conversation: int, turn: int) -> Link:
    words = link_words(summary)
    name = gettext("Changes of this reply: {changed}").format(changed=words)
    return link(words, name, conversation, turn=turn)


@register.inclusion_tag("changes/_put_back.html")
def put_changes_back(plan: PlanSnapshot) -> dict[str, object]:
    """What was undone of a whole plan, and how it comes back, while nothing works in its files."""
    changes, rests = plan.changes, plan.run == Run.IDLE
    undo = undo_that_stands(plan.row) if changes and changes.undone_at and rests else None
    began = recordings_of.models(plan=plan.id)[0].began_at if undo else None
    return {"undo": undo, "files": changes.files if changes else 0, "began": began}


def link(words: str, name: str, conversation: int, **about: object) -> Link:
    return {"words": words, "name": name, "address": address_of(conversation, **about)}
