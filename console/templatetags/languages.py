"""What differs from language to language beside the words: how things are counted."""

from __future__ import annotations

import re

from django import template
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext, gettext_lazy, ngettext_lazy

from agents.sentences import beside, commas, detailed, listed
from agents.stored_text import FULL_WIDTH
from console.settings_pages import TITLES, SettingsPage, pages_for

register = template.Library()
register.filter("listed", listed)
register.filter("comma_separated", commas)

# As a template names them: 3|plural:"tool".
COUNTED = {
    "attempt": ngettext_lazy("%(n)d attempt", "%(n)d attempts", "n"),
    "call": ngettext_lazy("%(n)d call", "%(n)d calls", "n"),
    "change": ngettext_lazy("%(n)d change", "%(n)d changes", "n"),
    "comment": ngettext_lazy("%(n)d comment", "%(n)d comments", "n"),
    "file": ngettext_lazy("%(n)d file", "%(n)d files", "n"),
    "line": ngettext_lazy("%(n)d line", "%(n)d lines", "n"),
    "model": ngettext_lazy("%(n)d model", "%(n)d models", "n"),
    "more line": ngettext_lazy("%(n)d more line", "%(n)d more lines", "n"),
    "place": ngettext_lazy("%(n)d place", "%(n)d places", "n"),
    "plan": ngettext_lazy("%(n)d plan", "%(n)d plans", "n"),
    "subtask": ngettext_lazy("%(n)d subtask", "%(n)d subtasks", "n"),
    "tool": ngettext_lazy("%(n)d tool", "%(n)d tools", "n"),
    "word": ngettext_lazy("%(n)d word", "%(n)d words", "n"),
    "unchanged line": ngettext_lazy("%(n)d unchanged line", "%(n)d unchanged lines", "n"),
}


# What became of a subtask from one version to the next.
CHANGES = {
    "added": gettext_lazy("Added"),
    "removed": gettext_lazy("Removed"),
    "edited": gettext_lazy("Edited"),
    "moved": gettext_lazy("Moved"),
    "same": gettext_lazy("Unchanged"),
}


@register.simple_block_tag
def sentences(content: str) -> SafeString:
    """Sentences of a template one behind the other: no space follows a full-width sign."""
    return mark_safe(re.sub(rf"({FULL_WIDTH}(?:</\w+>)?)\s+", r"\1", " ".join(content.split())))


@register.simple_block_tag
def about(content: str, name: str) -> SafeString:
    """Words around a name, spaced by how it begins and ends."""
    return mark_safe(beside(content.strip(), conditional_escape(name)))


@register.filter("detailed")
def detailed_in_html(words: str, detail: str) -> SafeString:
    """Words, and behind them what they are about."""
    return mark_safe(detailed(conditional_escape(words), conditional_escape(detail)))


@register.filter
def percent(share: int) -> str:
    """50 % here, 50% in Chinese."""
    return gettext("{n} %").format(n=share)


@register.filter
def change_name(change: str) -> str:
    return str(CHANGES[change])


@register.filter
def plural(count: int, noun: str) -> str:
    """1 tool, 3 tools."""
    return str(COUNTED[noun] % {"n": count})


@register.filter
def page_title(page: str) -> str:
    """What a page of the settings is called; `page` is its name in addresses."""
    return str(TITLES[page])


@register.filter
def settings_pages(user: AbstractBaseUser | AnonymousUser) -> list[SettingsPage]:
    return pages_for(user)


@register.simple_tag
def script_texts() -> str:
    """Where the texts of the scripts are; nothing for English, which stands in them."""
    language = get_language()
    if language == settings.LANGUAGE_CODE:
        return ""
    return reverse("script-texts", args=[settings.TEXTS_FINGERPRINT, language])
