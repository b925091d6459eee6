"""The small parts that pages are made of, and the pieces in which htmx takes changes of them.

What they look like is in templates/components.
"""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe


def component(name: str, /, **values: object) -> SafeString:
    """Without the line break at the end of its file, which would be drawn beside a word."""
    return mark_safe(render_to_string(f"components/{name}.html", values).strip())


def verbatim(name: str, /, **values: object) -> SafeString:
    """As `component`, with the white space that the values begin and end with."""
    return mark_safe(render_to_string(f"components/{name}.html", values).removesuffix("\n"))


def partial(target: str, swap: str, content: str = "") -> SafeString:
    """One change of the page: what htmx does (`swap`) with the element of this id.

    Plain text is escaped; HTML is what came from a template.
    """
    return component("partial", target=target, swap=swap, content=content)


def replace(target: str, html: str) -> SafeString:
    """The element gives way to this one; what is the same in both stays as it is."""
    return partial(target, "outerMorph", mark_safe(html))


def append(target: str, html: str) -> SafeString:
    return partial(target, "beforeend", mark_safe(html))


def prepend(target: str, html: str) -> SafeString:
    return partial(target, "afterbegin", mark_safe(html))


def replace_content(target: str, html: str) -> SafeString:
    return partial(target, "innerHTML", mark_safe(html))


def remove(target: str) -> SafeString:
    return partial(target, "delete")


def alert(target: str, sentence: str) -> SafeString:
    """The sentence in an alert; an empty one takes the last away."""
    return partial(target, "textContent", sentence)
