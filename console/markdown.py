"""What a model wrote, as HTML that can do nothing but be read.

The text is parsed with HTML switched off, then everything that is not on a short list is removed:
no ids, no styles, no attributes that a script listens to, no images from elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from agents.models import Message
from agents.turns.streaming import split_blocks

HIGHLIGHT_LIMIT = 20_000  # characters; longer code is shown plain
ABSOLUTE = re.compile(r"^(https?:|mailto:)", re.IGNORECASE)
CODE = re.compile(r'<pre><code(?: class="language-([\w+#.-]*)")?>(.*?)</code></pre>', re.DOTALL)
CODE_CARD = (
    '<div class="code"><header><span>{language}</span>'
    '<button type="button" class="btn" data-k="quiet" data-z="s" data-copy="code">'
    '<svg class="ic" aria-hidden="true"><use href="#i-copy"/></svg>Copy</button></header>'
    '<pre tabindex="0"><code>{code}</code></pre></div>'
)
TAGS = {"p", "br", "strong", "em", "s", "code", "pre", "span", "a", "ul", "ol", "li", "blockquote"}
TAGS |= {"hr", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"a": {"href", "title"}, "code": {"class"}, "span": {"class"}, "ol": {"start"}}


def render(text: str, *, live: bool = False) -> SafeString:
    """Safe HTML. Text that is still growing is shown without colouring its code."""
    return mark_safe(_render(text, live))


def block(message_id: int, index: int, text: str) -> SafeString:
    """One block of a message that is growing, as an element that can be replaced."""
    return format_html(
        '<div class="block" id="message-{}-block-{}">{}</div>',
        message_id,
        index,
        render(text, live=True),
    )


def blocks_of(message: Message) -> SafeString:
    """A growing message from its row, in the same pieces as it streams."""
    pieces = [block(message.pk, i, text) for i, text in enumerate(split_blocks(message.text))]
    return mark_safe("".join(pieces))


@lru_cache(maxsize=1024)
def _render(text: str, live: bool) -> str:
    parser = GROWING if live else FINISHED
    safe = nh3.clean(
        parser.render(text),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    safe = safe.replace("<table>", '<div class="table" tabindex="0"><table>')
    safe = safe.replace("</table>", "</table></div>")
    return CODE.sub(_code_card, safe)


def _code_card(match: re.Match[str]) -> str:
    return CODE_CARD.format(language=match.group(1) or "text", code=match.group(2))


def _highlight(code: str, language: str, _attributes: str) -> str:
    """Pygments' spans, or nothing when the language is unknown or the code too long."""
    if not language or len(code) > HIGHLIGHT_LIMIT:
        return ""
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return ""
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def _parser(*, coloured: bool) -> MarkdownIt:
    parser = MarkdownIt("js-default", {"html": False})
    if coloured:
        parser.options["highlight"] = _highlight
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    return parser


def _image(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    """An image would be fetched from elsewhere by reading: its description stands for it."""
    return self.renderInlineAsText(tokens[i].children, options, env)


def _link(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    """A link to a file of the workspace leads nowhere in the browser, so it stays plain."""
    if not ABSOLUTE.match(str(tokens[i].attrGet("href"))):
        tokens[i].attrs = {}
    return self.renderToken(tokens, i, options, env)


def _heading(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    """The page has its own first two levels."""
    tokens[i].tag = f"h{min(6, int(tokens[i].tag[1]) + 2)}"
    return self.renderToken(tokens, i, options, env)


FINISHED = _parser(coloured=True)
GROWING = _parser(coloured=False)
