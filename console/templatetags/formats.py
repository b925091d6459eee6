"""Times and numbers as the screen writes them, and what people, models and tools wrote as HTML
that hides nothing and does nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django import template
from django.utils import dateformat
from django.utils.dateparse import parse_datetime
from django.utils.formats import number_format
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext, pgettext_lazy

from agents.config.schema import AgentFile
from agents.engine import usage
from agents.models import Turn
from console import markdown, visible_text
from console.components import component
from console.language import format_size, shown_name
from console.snippets import Piece
from console.status_labels import name_of_model
from plans.attempts import Cost
from plans.snapshot import PlanSnapshot, SubtaskSnapshot

# How moments are written before the script has seen them, as in Django's `date`: with the day, to
# the second; the time alone otherwise.
FORMS = {
    "moment": pgettext_lazy("format of a date", "d M H:i"),
    "within": pgettext_lazy("format of a date", "d M H:i"),  # in the middle of a sentence
    "stamp": "H:i:s",
}

register = template.Library()
register.filter("prose", markdown.render)
register.filter("blocks", markdown.blocks_of)
register.filter(format_size)
# Text that is decided about: characters nobody can see are drawn as boxes. In a command or code
# every odd space counts too; an attribute holds no boxes.
register.filter("visible", visible_text.visible)
register.filter("visible_code", visible_text.visible_code)
register.filter("visible_plain", visible_text.visible_plain)


@register.filter
def shortened(text: object, most: int) -> str:
    """At most so many characters, the last of which is … where there were more."""
    whole = str(text)
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


@register.simple_tag
def when(moment: datetime | str | None, form: str = "time") -> SafeString | str:
    """A moment, in the reader's own time zone once the script has seen it (`form`: see FORMS)."""
    at = parse_datetime(moment) if isinstance(moment, str) else moment
    if at is None:
        return ""
    pattern = FORMS.get(form)
    if pattern is not None:
        text = dateformat.format(at, str(pattern))
    else:
        text = gettext("{time} UTC").format(time=dateformat.format(at, "H:i"))
    return component("time", at=at.isoformat(), form=form, text=text)


@register.filter
def pieces(found: Sequence[Piece]) -> SafeString:
    """What was found, with its words marked and nothing in it that cannot be seen."""
    html = (
        component("found", text=visible_text.visible(text))
        if is_found
        else visible_text.visible(text)
        for text, is_found in found
    )
    return mark_safe("".join(html))


@register.filter
def duration(seconds: float | None) -> str:
    """0:42, 1:02:03."""
    return "" if seconds is None else usage.duration(seconds)


@register.filter
def took(seconds: float | None) -> str:
    """0.4 s below ten seconds, 12 s below a minute, then 1:02."""
    if seconds is None:
        return ""
    if seconds < 10:
        return gettext("{n} s").format(n=number_format(f"{seconds:.1f}"))
    if seconds < 60:
        return gettext("{n} s").format(n=round(seconds))
    return duration(seconds)


@register.filter
def thousands(count: int | None) -> str:
    """420, 6.1k, 1.2M."""
    count = count or 0
    if count < 1000:
        return str(count)
    if count < 1_000_000:
        return gettext("{n}k").format(n=number_format(f"{count / 1000:.1f}"))
    return gettext("{n}M").format(n=number_format(f"{count / 1_000_000:.1f}"))


@register.filter
def tokens_used(row: Turn | Cost | PlanSnapshot | SubtaskSnapshot) -> str:
    """about 6.1k tokens, 5.0k of them from the cache; empty where none were used."""
    used = row.tokens
    if not used:
        return ""
    if row.usage_estimated:
        words = ngettext("about {n} token", "about {n} tokens", used)
    else:
        words = ngettext("{n} token", "{n} tokens", used)
    words = words.format(n=thousands(used))
    if not row.tokens_cached:
        return words
    of_cache = gettext("{tokens}, {cached} of them from the cache")
    return of_cache.format(tokens=words, cached=thousands(row.tokens_cached))


register.filter(shown_name)


@register.filter
def model_name(agent: AgentFile) -> str:
    """What an agent's own model is called wherever it is named."""
    return name_of_model(agent.provider, agent.model)


@register.filter
def window(tokens: int | None) -> str:
    """How much a model can hold, as their makers write it: 32k, 128k, 1M; empty if not known."""
    if not tokens:
        return ""
    step = 1024 if tokens % 1000 and not tokens % 1024 else 1000
    return f"{tokens / step**2:.3g}M" if tokens >= step**2 else f"{tokens / step:.0f}k"
