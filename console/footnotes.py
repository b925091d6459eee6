"""Footnotes of a text as links to a list at its end and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2s
from typing import Any

from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_ref

REFERENCE = re.compile(r"\[\^[^\s\]]{1,100}\]")  # the plugin looks for the end of each


def footnotes(parser: MarkdownIt) -> None:
    parser.use(footnote_plugin, inline=False)
    parser.inline.ruler.at("footnote_ref", bounded_reference)
    parser.core.ruler.after("inline", "footnotes_without_reference", keep_without_reference)
    for name, draw in DRAWN.items():
        parser.add_render_rule(name, draw)


def environment(text: str) -> dict[str, str]:
    """What sets the links of one text apart from those of others on the page."""
    return {"docId": blake2s(text.encode("utf-8", "replace"), digest_size=4).hexdigest()}


def bounded_reference(state: StateInline, silent: bool) -> bool:
    return bool(REFERENCE.match(state.src, state.pos)) and footnote_ref(state, silent)


def keep_without_reference(state: StateCore) -> None:
    """The plugin would leave out what nothing refers to."""
    notes = state.env.get("footnotes", {"refs": {}})
    for label, number in notes["refs"].items():
        if number < 0:
            notes["refs"][label] = len(notes["list"])
            notes["list"][notes["refs"][label]] = {"label": label[1:], "count": 0}


def place(token: Token, env: Any) -> str:
    return f"{env.get('docId', '')}-{token.meta['id'] + 1}"


def draw_reference(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    to, sub = place(tokens[i], env), tokens[i].meta["subId"]
    number = tokens[i].meta["id"] + 1
    return f'<sup><a href="#note-{to}" id="noted-{to}-{sub}">{number}</a></sup>'


def draw_note(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    return f'<li id="note-{place(tokens[i], env)}" dir="auto">'


def draw_way_back(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    note = tokens[i].meta["id"]
    if not env["footnotes"]["list"][note]["count"]:
        return ""
    to = f"#noted-{place(tokens[i], env)}-{tokens[i].meta['subId']}"
    name = escapeHtml(gettext("Back to note {number}").format(number=note + 1))
    return f' <a href="{to}" aria-label="{name}"></a>'


def draw_notes(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    return f'<ol class="footnotes" aria-label="{escapeHtml(gettext("Footnotes"))}">\n'


DRAWN = {
    "footnote_ref": draw_reference,
    "footnote_block_open": draw_notes,
    "footnote_block_close": lambda *_: "</ol>\n",
    "footnote_open": draw_note,
    "footnote_close": lambda *_: "</li>\n",
    "footnote_anchor": draw_way_back,
}
