"""Template tags of the console: icons, marks, times and numbers as the screen writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b

from django import template
from django.template.loader import render_to_string
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.models import Message, ToolCall
from console.markdown import blocks_of, render
from console.marks import NAMES, Mark, Snapshot, mark_of_plan, shape_of_subtask, why_left_out
from console.thread import visible_calls

MOST_ROWS, LONG_ROW = 2_000, 4_000  # of checklists that are remembered: 8 MB at most
MOST_SHOWN = 6_000  # characters of a tool's result
# How moments are written before the script has seen them: `time`, `day`, with both, to the second.
FORMS = {"moment": "%d %b %H:%M", "stamp": "%H:%M:%S"}

register = template.Library()


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str, kind: str = "") -> SafeString:
    """A 16 px icon of the sprite; decoration, so it has no name."""
    return format_html(
        '<svg class="ic{}" aria-hidden="true"><use href="#i-{}"/></svg>',
        f" {kind}" if kind else "",
        name,
    )


@register.simple_tag
@lru_cache(maxsize=256)
def mark(shape: str, size: str = "", name: str = "") -> SafeString:
    """A state mark, which has a name for readers who do not see it."""
    return format_html(
        '<svg class="mk{}" data-s="{}" role="img" aria-label="{}"><use href="#m-{}"/></svg>',
        f" {size}" if size else "",
        shape,
        name or NAMES[shape],
        shape,
    )


@register.simple_tag
@lru_cache(maxsize=256)
def ring(settled: int, total: int) -> SafeString:
    """Progress as a ring; what it says stands in words beside it."""
    share = round(100 * settled / total) if total else 0
    arc = format_html(
        '<circle class="p" cx="9" cy="9" r="7" pathLength="100" stroke-dasharray="{} 100"/>', share
    )
    return format_html(
        '<svg class="ring" viewBox="0 0 18 18" aria-hidden="true">'
        '<circle cx="9" cy="9" r="7" pathLength="100"/>{}</svg>',
        arc if share else "",
    )


@register.simple_tag
def when(moment: datetime | str | None, form: str = "time") -> SafeString | str:
    """A moment, in the reader's own time zone once the script has seen it (`form`: see FORMS)."""
    at = parse_datetime(moment) if isinstance(moment, str) else moment
    if at is None:
        return ""
    text = at.strftime(FORMS.get(form, "%H:%M UTC"))
    return format_html('<time datetime="{}" data-form="{}">{}</time>', at.isoformat(), form, text)


@register.filter
def duration(seconds: float | None) -> str:
    """0:42, 1:02:03."""
    if seconds is None:
        return ""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@register.filter
def took(seconds: float | None) -> str:
    """0.4 s below ten seconds, 12 s below a minute, then 1:02."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 60 else duration(seconds)


@register.filter
def thousands(count: int | None) -> str:
    """420, 6.1k, 1.2M."""
    count = count or 0
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


@register.filter
def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@register.filter
def prose(text: str) -> SafeString:
    return render(text)


@register.filter
def blocks(message: Message) -> SafeString:
    """A growing message, in the pieces in which it streams."""
    return blocks_of(message)


@register.filter
def calls(message: Message) -> list[ToolCall]:
    return visible_calls(message)


@register.filter
def command(message: Message) -> SafeString | str:
    """What a person typed; the name of a command stands out."""
    found = re.match(r"\s*(/[a-zA-Z]+)(.*)", message.text, re.DOTALL)
    if not found or not message.meta.get("command"):
        return message.text
    return format_html('<span class="cmd">{}</span>{}', found.group(1), found.group(2))


@register.filter
def argument(call: ToolCall) -> str:
    """The one argument that says most: a path, a pattern, a command."""
    values = call.arguments if isinstance(call.arguments, dict) else {}
    if "pattern" in values:
        return f"{values['pattern']} in {values.get('path', '.')}"
    named = (values[name] for name in ("path", "command", "url", "name") if name in values)
    texts = (value for value in values.values() if isinstance(value, str))
    first = next(named, None) or next(texts, "")
    return " ".join(str(first).split())[:200]


@register.filter
def as_json(value: object) -> str:
    return str(shortened(json.dumps(value, ensure_ascii=False, indent=2)))


@register.filter
def shortened(text: str) -> str:
    """What a page shows of a long result; the whole is in the API."""
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}\n… and {len(text) - MOST_SHOWN:,} more characters"


@register.filter
def mark_of(plan: Snapshot) -> Mark:
    return mark_of_plan(plan)


@register.filter
def shape(row: Snapshot) -> str:
    return shape_of_subtask(row)


@register.filter
def settled(plan: Snapshot) -> int:
    """Done and abandoned ones both count."""
    return int(plan["progress"]["done"]) + int(plan["progress"]["abandoned"])


@register.filter
def takes_edits(plan: Snapshot) -> bool:
    """By hand, while nothing runs."""
    return plan["state"] in ("todo", "in_progress") and plan["run"] in ("idle", "paused")


@register.simple_tag(takes_context=True)
def subtask(context: template.Context, row: Snapshot, number: int) -> SafeString:
    """A row of the checklist; one that reads as before is not written again."""
    plan, now = context["plan"], context["now"]
    may_move = row["state"] == "in_progress" or row["plan"] or row["failed"]
    is_next = bool(now.current) and now.current["key"] == row["key"]
    key = (
        *(now.conversation.pk, plan["id"], plan["state"], plan["run"], plan["approved_version"]),
        *(number, is_next, now.legs.get(row["key"]), row),
    )
    place = blake2b(repr(key).encode(errors="replace"), digest_size=16).digest()
    if not may_move and (known := _rows.get(place)):
        return known
    shown: dict[str, object] = {"now": now, "conversation": now.conversation, "plan": plan}
    shown |= {"row": row, "number": number, "editable": is_editable(row, plan)}
    html = render_to_string("plans/_subtask.html", shown)
    if not may_move and len(html) < LONG_ROW:
        if len(_rows) >= MOST_ROWS:
            _rows.clear()
        _rows[place] = html
    return html


_rows: dict[bytes, SafeString] = {}


@register.filter
def is_editable(row: Snapshot, plan: Snapshot) -> bool:
    return row["state"] == "todo" and takes_edits(plan)


@register.filter
def may_be_skipped(row: Snapshot, plan: Snapshot) -> bool:
    """From its row, once the plan has started and rests; a failed one has a button below."""
    return bool(plan["approved_version"]) and plan["run"] == "idle" and not row["failed"]


@register.filter
def is_open_plan(plan: Snapshot) -> bool:
    return plan["state"] in ("todo", "in_progress")


@register.filter
def why_abandoned(row: Snapshot) -> str:
    """As the drawer says it."""
    return why_left_out(str(row["reason"]))


@register.filter
def at(table: Mapping[str, object], key: str) -> object:
    return table.get(key)
