"""What a model wrote, as HTML that can do nothing but be read.

The text is parsed with HTML switched off, then everything that is not on a short list is removed:
no ids but those of footnotes, no styles, no attributes that a script listens to, no images but
those of the workspace.

What one text may cost is bounded: blocks that would take too long are shown as they were typed.
markdown-it-py is linear in almost everything; what is not (brackets, images, CDATA, padded tables,
long addresses) is counted before it is parsed. Code is coloured for languages whose lexers were
measured to take time in proportion.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby
from threading import Lock
from typing import Any

import nh3
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_core.inline import inline as parse_inlines
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from agents.engine.streaming import fence_after, split_blocks
from agents.models import Message
from console import formulas
from console.addresses import BEGINS_ADDRESS, addresses_in, normalized_link
from console.components import component
from console.footnotes import environment, footnotes
from console.number_columns import align_numbers
from console.workspace_images import PagePlace, linked_address, picture_address

MOST_WEIGHT = 10_000  # signs and lines that are parsed in one text, about 15 µs each
MOST_CHARACTERS = 200_000  # that are parsed in one text
MOST_LINES = 20_000  # of a text that is cut into blocks at all
ADDRESS_WEIGHT = 8  # of an address beyond its signs
LONG_OPEN_BLOCK = 2_000  # characters; beyond, a growing block is shown as it was typed

MOST_OPENERS = 400  # brackets and angles in one paragraph or cell; matching them is quadratic
MOST_DEFINITION = 500  # characters of a link reference, which each use repeats
MOST_COLOURED = 20_000  # characters of code in one text
LONGEST_CODE = 8_000  # characters; what is longer is shown plain
LONGEST_LINE = 200  # lexers that are linear in lines may be quadratic in one
MOST_COMMENTS = 100  # each that is never closed is searched for its end
LONGEST_GAP = re.compile(r"\s{100}")  # or in white space

SIGNS = re.compile(r"[\[\]!*_~`<&|\\>#:$]")
DELIMITERS = " \t>|:*+.-0123456789"  # all that the line below a table's head may hold
CODE = re.compile(r'<pre><code(?: class="language-([\w+#.-]*)")?>(.*?)</code></pre>', re.DOTALL)
FORMULA = re.compile(r'<math display="block">.*?</math>', re.DOTALL)
IN_A_GROUP = '<span class="formula" role="group" aria-label="{}" tabindex="0">{}</span>'
TABLE = '<div class="table" role="group" aria-label="{}" tabindex="0"><table>'
TAGS = {"p", "br", "strong", "em", "s", "code", "pre", "span", "a", "ul", "ol", "li", "blockquote"}
TAGS |= {"hr", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", "input", "sup"}
TAGS |= {"img"} | formulas.TAGS
DIRECTED = {"p", "h3", "h4", "h5", "h6", "blockquote"}
ATTRIBUTES = {"code": {"class"}, "span": {"class"}, "ul": {"class"}, **formulas.ATTRIBUTES}
ATTRIBUTES |= {
    "a": {"href", "title", "id", "aria-label"},
    "ol": {"start", "class", "aria-label"},
    "li": {"id", "dir"},
    "td": {"class", "dir"},
    "th": {"class", "dir"},
    "input": {"checked"},
    "img": {"src", "alt", "class", "loading"},
}
ATTRIBUTES |= {tag: {"dir"} for tag in DIRECTED}
TASK = {"type": "checkbox", "disabled": ""}

DIRECTED_TOKENS = {"paragraph_open", "heading_open", "list_item_open", "blockquote_open"}
DIRECTED_TOKENS |= {"td_open", "th_open"}
ABSOLUTE = re.compile(r"^(https?:|mailto:)", re.IGNORECASE)
WEB = re.compile(r"^https?:", re.IGNORECASE)

# What people write behind the fence, and the lexer for it. Of texts of 8,000 characters that were
# made to be slow, none took these more than 0.1 s; apacheconf, make, csharp and java are left out.
LANGUAGES = {
    **dict.fromkeys(("bash", "sh", "shell", "zsh"), "bash"),
    **dict.fromkeys(("c", "h"), "c"),
    "css": "css",
    **dict.fromkeys(("diff", "patch"), "diff"),
    **dict.fromkeys(("go", "golang"), "go"),
    **dict.fromkeys(("javascript", "js", "mjs"), "javascript"),
    **dict.fromkeys(("json", "jsonc", "json5"), "json"),
    "php": "php",
    **dict.fromkeys(("python", "py", "python3"), "python"),
    **dict.fromkeys(("rust", "rs"), "rust"),
    "sql": "sql",
    "toml": "toml",
    **dict.fromkeys(("typescript", "ts"), "typescript"),
    **dict.fromkeys(("yaml", "yml"), "yaml"),
}


def render(
    text: str, *, live: bool = False, files: str = "", page: PagePlace | None = None
) -> SafeString:
    """Safe HTML. Text that is still growing is shown without colouring its code.

    `files` is the address under which pictures of the workspace are shown; without one they are
    named. `page` is where the text lies itself, if it is a file there.
    """
    key = text, live, files, page, get_language()
    html = drawn.get(key)
    if html is None:
        html = drawn[key] = "".join(rendered(text, live, files, page))
    return mark_safe(html)


class SizedCache:
    """The texts used last, up to a number of characters in all; lru_cache would only count them."""

    def __init__(self, most_characters: int) -> None:
        self.most_characters = most_characters
        self.characters = 0
        self.texts: OrderedDict[Hashable, str] = OrderedDict()
        self.lock = Lock()

    def get(self, key: Hashable) -> str | None:
        with self.lock:
            text = self.texts.get(key)
            if text is not None:
                self.texts.move_to_end(key)
            return text

    def __setitem__(self, key: Hashable, text: str) -> None:
        with self.lock:
            self.characters += len(text) - len(self.texts.pop(key, ""))
            self.texts[key] = text
            while self.characters > self.most_characters:
                _, oldest = self.texts.popitem(last=False)
                self.characters -= len(oldest)


drawn = SizedCache(most_characters=32_000_000)


def block(message_id: int, index: int, text: str, *, as_it_is: bool = False) -> SafeString:
    """One block of a message that is growing, as an element that can be replaced."""
    html = as_typed(text) if as_it_is else render(text, live=True)
    return component("block", message=message_id, index=index, html=html)


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
    return component("as_typed", text=text)


def rendered(
    text: str, live: bool, files: str = "", page: PagePlace | None = None
) -> Iterator[str]:
    """What can be afforded as markdown, the other blocks as they were typed."""
    for is_affordable, blocks in groupby(affordable(text), key=lambda pair: pair[0]):
        piece = "".join(block for _, block in blocks)
        if not is_affordable:
            yield as_typed(piece)
            continue
        around = environment(piece) | {"files": files, "page": page}
        html = nh3.clean(
            (GROWING if live else FINISHED).render(piece, around),
            tags=TAGS,
            attributes=ATTRIBUTES,
            set_tag_attribute_values={"input": {**TASK, "aria-label": gettext("Task")}},
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer nofollow",
        )
        # A wide table or formula scrolls by itself.
        table = TABLE.format(escapeHtml(gettext("Table")))
        html = html.replace("<table>", table).replace("</table>", "</table></div>")
        html = FORMULA.sub(in_a_group, html)
        yield CODE.sub(
            lambda code: component("code", language=code[1] or "", code=mark_safe(code[2])),
            html,
        )


def in_a_group(formula: re.Match[str]) -> str:
    return IN_A_GROUP.format(escapeHtml(gettext("Formula")), formula[0])


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
        weight += (
            2
            + columns
            + len(SIGNS.findall(line))
            + ADDRESS_WEIGHT * len(BEGINS_ADDRESS.findall(line))
        )
    return weight


# The parser


def inlines(state: StateCore) -> None:
    """The texts of paragraphs and cells; one that would take long to parse is left as it is."""
    references = state.env.get("references", {})
    for name, target in list(references.items()):
        if len(target.get("href", "")) + len(target.get("title", "")) > MOST_DEFINITION:
            del references[name]
    for token in state.tokens:
        text = token.content
        if token.type == "inline" and text.count("[") + text.count("<") > MOST_OPENERS:
            token.type, token.children = "hard_inline", None
    parse_inlines(state)
    for token in state.tokens:
        if token.type == "hard_inline":
            token.type, token.children = "inline", [text_token(token.content, 0)]


def finish(state: StateCore) -> None:
    """Directions, alignments, links in place of images, and links of bare addresses."""
    align_numbers(state.tokens)
    for token in state.tokens:
        if token.type == "heading_open" or token.type == "heading_close":
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"  # the page has its own first two levels
        if token.type in DIRECTED_TOKENS:
            token.attrSet("dir", "auto")
        if style := token.attrs.pop("style", ""):
            token.attrSet("class", str(style).removeprefix("text-align:"))
        if token.type == "inline" and token.children:
            token.children = list(linked(token.children, state.env.get("files", "")))


def linked(tokens: Sequence[Token], files: str) -> Iterator[Token]:
    """An image would be fetched from elsewhere by reading: a link with its description stands
    for it, unless it is a picture of the workspace. Bare addresses become links."""
    in_link = False
    for token in tokens:
        if token.type in ("link_open", "link_close"):
            in_link = token.type == "link_open"
        if token.type == "image":
            address = str(token.attrGet("src") or "")
            words = (
                "".join(child.content for child in token.children or ())
                or address
                or gettext("Image")
            )
            if picture := picture_address(address, files):
                attributes = {"src": picture, "alt": words, "class": "picture", "loading": "lazy"}
                yield Token("picture", "img", 0, attrs=dict(attributes), level=token.level)
            elif in_link or not WEB.match(address):
                yield text_token(words, token.level)
            else:
                yield from link_tokens(address, words, token.level)
        elif token.type == "text" and not in_link and BEGINS_ADDRESS.search(token.content):
            yield from address_links(token)
        else:
            yield token


def address_links(token: Token) -> Iterator[Token]:
    end = 0
    for found in addresses_in(token.content):
        yield text_token(token.content[end : found.start], token.level)
        yield from link_tokens(found.href, found.text, token.level)
        end = found.end
    yield text_token(token.content[end:], token.level)


def text_token(text: str, level: int) -> Token:
    return Token("text", "", 0, content=text, level=level)


def link_tokens(href: str, words: str, level: int) -> Iterator[Token]:
    yield Token("link_open", "a", 1, attrs={"href": href}, level=level)
    yield text_token(words, level + 1)
    yield Token("link_close", "a", -1, level=level)


def draw_link(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    """A link to a file of the workspace leads somewhere from a page among them alone."""
    href = str(tokens[i].attrGet("href"))
    if not ABSOLUTE.match(href):
        address = linked_address(href, env.get("page"))
        tokens[i].attrs = {"href": address} if address else {}
    return self.renderToken(tokens, i, options, env)


def draw_fence(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    """Code in colour where the parser has a text's allowance for it, as long as that lasts.

    It is what nh3 cleans, and not yet what a page shows: `rendered` draws the component.
    """
    code, language = tokens[i].content, (tokens[i].info.split(maxsplit=1) or [""])[0][:40]
    html, left = "", env.setdefault("colour_left", options.get("colour", 0))
    if options.get("colour") and len(code) <= left:
        html = coloured(code, language)
        env["colour_left"] = left - len(code) * bool(html)
    name = f' class="language-{escapeHtml(language)}"' if language else ""
    return f"<pre><code{name}>{html or escapeHtml(code)}</code></pre>\n"


def coloured(code: str, language: str, longest: int = LONGEST_CODE) -> str:
    """Spans with classes, or nothing where the code stays plain."""
    lexer = LANGUAGES.get(language.lower())
    if lexer is None or len(code) > longest or code.count("/*") > MOST_COMMENTS:
        return ""
    if LONGEST_GAP.search(code) or any(len(line) > LONGEST_LINE for line in code.split("\n")):
        return ""
    return highlight(code, get_lexer_by_name(lexer), HtmlFormatter(nowrap=True))


def make_parser(*, colour: int, is_whole: bool) -> MarkdownIt:
    """`colour` is how many characters of code it colours in one text. Footnotes are those of whole
    texts: a piece that grows has either the reference or the note.
    """
    parser = MarkdownIt("js-default", {"html": False, "tasklists": True, "colour": colour})
    formulas.formula_plugin(parser)
    if is_whole:
        footnotes(parser)
    parser.core.ruler.at("inline", inlines)
    parser.core.ruler.after("inline", "bare_addresses", finish)
    parser.normalizeLink = normalized_link  # type: ignore[method-assign]
    parser.add_render_rule("link_open", draw_link)
    parser.add_render_rule("fence", draw_fence)
    return parser


FINISHED = make_parser(colour=MOST_COLOURED, is_whole=True)
GROWING = make_parser(colour=0, is_whole=False)
