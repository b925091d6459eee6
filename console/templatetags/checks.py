"""The checks of subtasks: how they are drawn, and what came of them."""

from __future__ import annotations

from django import template

from console import check_display, finish_blocks
from plans.check_permission import tool_of
from plans.check_text import CheckJson

register = template.Library()

register.filter(check_display.typed_fields)
register.filter(check_display.kind_word)
register.filter(check_display.drawn_check)
register.filter(finish_blocks.last_row)


@register.filter
def asks_first(check: CheckJson, asks: frozenset[str] | str) -> bool:
    """Whether it waits for a word first; nobody asks about one of another version."""
    return bool(asks) and tool_of(check) in asks
