"""What people, models and tools wrote, as HTML that hides nothing and does nothing."""

from __future__ import annotations

import re

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.models import Message
from console.markdown import blocks_of, render
from console.visible_text import visible as visible_text
from console.visible_text import visible_code as visible_code_text
from console.visible_text import visible_plain as visible_plain_text

MOST_SHOWN = 6_000  # characters of a tool's result

register = template.Library()


@register.filter
def visible(text: object) -> SafeString:
    """Text that is decided about: characters nobody can see are drawn as boxes."""
    return visible_text(text)


@register.filter
def visible_code(text: str) -> SafeString:
    """The same for a command or code, where every odd space counts too."""
    return visible_code_text(text)


@register.filter
def visible_plain(text: object) -> str:
    """The same for an attribute, which holds no boxes."""
    return visible_plain_text(text)


@register.filter
def prose(text: str) -> SafeString:
    return render(text)


@register.filter
def blocks(message: Message) -> SafeString:
    """A growing message, in the pieces in which it streams."""
    return blocks_of(message)


@register.filter
def command(message: Message) -> SafeString | str:
    """What a person typed; the name of a command stands out."""
    found = re.match(r"\s*(/[a-zA-Z]+)(.*)", message.text, re.DOTALL)
    if not found or not message.meta.get("command"):
        return message.text
    return format_html('<span class="command">{}</span>{}', found.group(1), found.group(2))


@register.filter
def shortened(text: str) -> str:
    """What a page shows of a long result; the whole is in the API."""
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}\n… and {len(text) - MOST_SHOWN:,} more characters"
