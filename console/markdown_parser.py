"""The parser of what models write, with bounds on what one text may cost.

markdown-it-py is linear in almost everything; what is not (brackets, images, CDATA, padded
tables, long addresses) is bounded by counting before it is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_core.inline import inline as parse_inlines
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from console.highlighting import coloured

MOST_OPENERS = 400  # brackets and angles in one paragraph or cell; matching them is quadratic
MOST_ADDRESS = 2_000  # characters of a link; punycode is quadratic
MOST_DEFINITION = 500  # characters of a link reference, which each use repeats
MOST_COLOURED = 20_000  # characters of code in one text

ABSOLUTE = re.compile(r"^(https?:|mailto:)", re.IGNORECASE)
WEB = re.compile(r"^https?:", re.IGNORECASE)
ENDS_ADDRESS = r"\s<>\"'`\x00-\x1f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3000-\u303f\uff00-\uffef"
ADDRESS = re.compile(rf"(?<!\w)https?://[^{ENDS_ADDRESS}]+")
DIRECTED = {"paragraph_open", "heading_open", "list_item_open", "blockquote_open"}
DIRECTED |= {"td_open", "th_open"}


def make_parser(*, in_colour: bool) -> MarkdownIt:
    parser = MarkdownIt("js-default", {"html": False, "tasklists": True})
    parser.core.ruler.at("inline", inlines)
    parser.core.ruler.after("inline", "bare_addresses", finish)
    normalize = parser.normalizeLink
    parser.normalizeLink = lambda url: normalize(url) if len(url) <= MOST_ADDRESS else ""  # type: ignore[method-assign]
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("fence", _coloured_fence if in_colour else _fence)
    return parser


def inlines(state: StateCore) -> None:
    """The texts of paragraphs and cells; one that would take long to parse is left as it is."""
    references = state.env.get("references", {})
    for name in [name for name, target in references.items() if is_long(target)]:
        del references[name]
    for token in state.tokens:
        if token.type == "inline" and is_hard(token.content):
            token.type, token.children = "hard_inline", None
    parse_inlines(state)
    for token in state.tokens:
        if token.type == "hard_inline":
            token.type, token.children = "inline", [text_token(token.content, 0)]


def is_long(target: dict[str, str]) -> bool:
    return len(target.get("href", "")) + len(target.get("title", "")) > MOST_DEFINITION


def is_hard(text: str) -> bool:
    return text.count("[") + text.count("<") > MOST_OPENERS


def finish(state: StateCore) -> None:
    """Directions, alignments, links in place of images, and links of bare addresses."""
    for token in state.tokens:
        if token.type == "heading_open" or token.type == "heading_close":
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"  # the page has its own first two levels
        if token.type in DIRECTED:
            token.attrSet("dir", "auto")
        if style := token.attrs.pop("style", ""):
            token.attrSet("class", str(style).removeprefix("text-align:"))
        if token.type == "inline" and token.children:
            token.children = list(linked(state.md, token.children))


def linked(parser: MarkdownIt, tokens: Sequence[Token]) -> Iterator[Token]:
    in_link = False
    for token in tokens:
        if token.type in ("link_open", "link_close"):
            in_link = token.type == "link_open"
        if token.type == "image":
            yield from image_link(token, in_link)
        elif token.type == "text" and not in_link and "://" in token.content:
            yield from address_links(parser, token)
        else:
            yield token


def image_link(image: Token, in_link: bool) -> Iterator[Token]:
    """An image would be fetched from elsewhere by reading: a link with its description stands
    for it."""
    address = str(image.attrGet("src") or "")
    words = "".join(child.content for child in image.children or ()) or address or "Image"
    if in_link or not WEB.match(address):
        yield text_token(words, image.level)
    else:
        yield from link_tokens(address, words, image.level)


def address_links(parser: MarkdownIt, token: Token) -> Iterator[Token]:
    end = 0
    for found in ADDRESS.finditer(token.content):
        address = without_punctuation(found.group())
        href = parser.normalizeLink(address)
        if not href or not parser.validateLink(href):
            continue
        yield text_token(token.content[end : found.start()], token.level)
        yield from link_tokens(href, address, token.level)
        end = found.start() + len(address)
    yield text_token(token.content[end:], token.level)


def without_punctuation(address: str) -> str:
    """What ends a sentence or closes a bracket around it does not belong to an address."""
    surplus = address.count(")") - address.count("(")
    end = len(address)
    while end and (address[end - 1] in ".,:;!?*_~]}" or (address[end - 1] == ")" and surplus > 0)):
        end -= 1
        surplus -= address[end] == ")"
    return address[:end]


def text_token(text: str, level: int) -> Token:
    return Token("text", "", 0, content=text, level=level)


def link_tokens(href: str, words: str, level: int) -> Iterator[Token]:
    yield Token("link_open", "a", 1, attrs={"href": href}, level=level)
    yield text_token(words, level + 1)
    yield Token("link_close", "a", -1, level=level)


def _link(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    """A link to a file of the workspace leads nowhere in the browser, so it stays plain."""
    if not ABSOLUTE.match(str(tokens[i].attrGet("href"))):
        tokens[i].attrs = {}
    return self.renderToken(tokens, i, options, env)


def _fence(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    return code(tokens[i], escapeHtml(tokens[i].content))


def _coloured_fence(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    """Code in colour, as long as the text's allowance lasts."""
    token = tokens[i]
    left = env.setdefault("colour_left", MOST_COLOURED)
    if len(token.content) > left:
        return code(token, escapeHtml(token.content))
    html = coloured(token.content, language_of(token))
    env["colour_left"] = left - len(token.content) * bool(html)
    return code(token, html or escapeHtml(token.content))


def language_of(fence: Token) -> str:
    return (fence.info.split(maxsplit=1) or [""])[0][:40]


def code(fence: Token, html: str) -> str:
    language = language_of(fence)
    name = f' class="language-{escapeHtml(language)}"' if language else ""
    return f"<pre><code{name}>{html}</code></pre>\n"
