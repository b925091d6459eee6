"""What a model wrote, as HTML that can do nothing but be read.

The text is parsed with HTML switched off, then everything that is not on a short list is removed:
no ids, no styles, no attributes that a script listens to, no images from elsewhere. What it may
cost is bounded: blocks that would take too long are shown as they were typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

import nh3
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from agents.engine.streaming import fence_after, split_blocks
from agents.models import Message
from console.markdown_parser import make_parser
from console.sized_cache import SizedCache

MOST_WEIGHT = 10_000  # signs and lines that are parsed in one text, about 15 µs each
MOST_CHARACTERS = 200_000  # that are parsed in one text
MOST_LINES = 20_000  # of a text that is cut into blocks at all
ADDRESS_WEIGHT = 8  # of an address beyond its signs
LONG_OPEN_BLOCK = 2_000  # characters; while a block grows beyond, it is shown as it was typed

SIGNS = re.compile(r"[\[\]!*_~`<&|\\>#:]")
DELIMITERS = " \t>|:*+.-0123456789"  # all that the line below a table's head may hold
CODE = re.compile(r'<pre><code(?: class="language-([\w+#.-]*)")?>(.*?)</code></pre>', re.DOTALL)
TAGS = {"p", "br", "strong", "em", "s", "code", "pre", "span", "a", "ul", "ol", "li", "blockquote"}
TAGS |= {"hr", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "input"}
DIRECTED = {"p", "h3", "h4", "h5", "h6", "li", "blockquote"}
ATTRIBUTES = {"a": {"href", "title"}, "code": {"class"}, "span": {"class"}, "ol": {"start"}}
ATTRIBUTES |= {
    "ul": {"class"},
    "td": {"class", "dir"},
    "th": {"class", "dir"},
    "input": {"checked"},
}
ATTRIBUTES |= {tag: {"dir"} for tag in DIRECTED}
FORCED = {"input": {"type": "checkbox", "disabled": ""}}

FINISHED = make_parser(in_colour=True)
GROWING = make_parser(in_colour=False)


def render(text: str, *, live: bool = False) -> SafeString:
    """Safe HTML. Text that is still growing is shown without colouring its code."""
    html = drawn.get((text, live))
    if html is None:
        html = drawn[text, live] = "".join(rendered(text, live))
    return mark_safe(html)


drawn: SizedCache[tuple[str, bool]] = SizedCache(most_characters=32_000_000)


def block(message_id: int, index: int, text: str, *, as_it_is: bool = False) -> SafeString:
    """One block of a message that is growing, as an element that can be replaced."""
    html = as_typed(text) if as_it_is else render(text, live=True)
    element = '<div class="block" id="message-{}-block-{}">{}</div>'
    return format_html(element, message_id, index, html)


def blocks_of(message: Message) -> SafeString:
    """A growing message from its row, in the same pieces as it streams."""
    pieces = list(affordable(message.text))
    last = len(pieces) - 1
    drawings = (
        block(message.pk, i, text, as_it_is=not fits or (i == last and is_long(text)))
        for i, (fits, text) in enumerate(pieces)
    )
    return mark_safe("".join(drawings))


def is_long(open_block: str) -> bool:
    """Too long to be parsed anew with each word that is added."""
    return len(open_block) > LONG_OPEN_BLOCK


def as_typed(text: str) -> SafeString:
    return format_html('<p class="as-typed" dir="auto">{}</p>', text)


def rendered(text: str, live: bool) -> Iterator[str]:
    """What can be afforded as markdown, the other blocks as they were typed."""
    for is_affordable, blocks in groupby(affordable(text), key=lambda pair: pair[0]):
        piece = "".join(block for _, block in blocks)
        yield _rendered(piece, live) if is_affordable else as_typed(piece)


def affordable(text: str) -> Iterator[tuple[bool, str]]:
    """Each block, and whether what is left of the text's allowance suffices for it."""
    if text.count("\n") > MOST_LINES:
        yield False, text
        return
    weight_left, characters_left = MOST_WEIGHT, MOST_CHARACTERS
    for block in split_blocks(text):
        weight = weight_of(block)
        fits = weight <= weight_left and len(block) <= characters_left
        yield fits, block
        weight_left -= weight * fits
        characters_left -= len(block) * fits


def weight_of(block: str) -> int:
    """How much work a block is: signs that mean something, lines, and the cells that a table's
    short rows are filled up with. Code is one sign a line, if it surely is code.
    """
    weight = columns = 0
    fence, is_sure = "", True
    for line in block.split("\n"):
        was_inside = bool(fence)
        is_sure = is_sure and (was_inside or line[:1] != " " or not fence_after(line, ""))
        fence = fence_after(line, fence) if is_sure else ""
        if was_inside and is_sure:
            weight += 1
            continue
        if "|" in line and not line.strip(DELIMITERS):
            columns = max(columns, line.count("|"))
        weight += 2 + columns + len(SIGNS.findall(line)) + ADDRESS_WEIGHT * line.count("://")
    return weight


def _rendered(text: str, live: bool) -> str:
    safe = nh3.clean(
        (GROWING if live else FINISHED).render(text),
        tags=TAGS,
        attributes=ATTRIBUTES,
        set_tag_attribute_values=FORCED,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    safe = safe.replace("<table>", '<div class="table" tabindex="0"><table>')
    safe = safe.replace("</table>", "</table></div>")
    return CODE.sub(_code_card, safe)


def _code_card(match: re.Match[str]) -> str:
    code = {"language": match.group(1) or "text", "code": mark_safe(match.group(2))}
    return render_to_string("components/code.html", code).strip()
