"""Formulas of a model as MathML, which the browser draws without a script or a font.

Read are `$…$`, `$$…$$`, `\\(…\\)` and `\\[…\\]`; prices are none. What cannot be read, is too long,
or comes after a text's allowance stays as it was typed, in code. The converter takes stack in
proportion to a formula's length, so that is bounded, and a text defines no commands that multiply.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from math_core import LatexError, LatexToMathML

LONGEST_FORMULA = 2_000  # characters; the deepest nesting in so many takes 2 MB of stack
MOST_BRACES = 300
MOST_FORMULAS = 10_000  # characters of formulas in one text; MathML is up to 35 times as long

INLINE = {
    "$$": re.compile(r"\$\$((?:[^$\\]|\\.)++)\$\$", re.DOTALL),
    "$": re.compile(r"\$(?!\s)((?:[^$`\\]|\\.)++)(?<!\s)\$(?![A-Za-z0-9$])", re.DOTALL),
    "\\(": re.compile(r"\\\(((?:[^\\]|\\[^()])++)\\\)", re.DOTALL),
    "\\[": re.compile(r"\\\[((?:[^\\]|\\[^\[\]])++)\\\](?![(\[:])", re.DOTALL),
}
CLOSING = {"$$": "$$", "\\[": "\\]"}
IN_A_WORD = re.compile(r"[A-Za-z0-9$]")
SIGNS = re.compile(r"[\\^_={}]")
PROSE = re.compile(r"^\d.*[A-Za-z]{2}|[A-Za-z]{2,}\s+[A-Za-z]{2,}", re.DOTALL)
# Commands are defined to multiply, and a reference would be a link into the page.
REFUSED = re.compile(
    r"\\(?:[egx]?def|let|global|(?:re)?newcommand|providecommand|(?:eq)?ref)(?![A-Za-z])"
)
NUMBERED = re.compile(r"\\(begin|end)\{(align|alignat|equation|gather|multline)\}")
ALIGNED = re.compile(r'style="text-align: (left|right);[^"]*"')

TAGS = {"math", "menclose", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded"}
TAGS |= {"mphantom", "mprescripts", "mroot", "mrow", "mspace", "msqrt", "mstyle", "msub", "msubsup"}
TAGS |= {"msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover"}
ATTRIBUTES = {
    "math": {"display"},
    "menclose": {"notation"},
    "mfrac": {"displaystyle", "linethickness", "scriptlevel"},
    "mi": {"mathvariant"},
    "mo": {
        "form",
        "lspace",
        "maxsize",
        "minsize",
        "movablelimits",
        "rspace",
        "stretchy",
        "symmetric",
    },
    "mover": {"accent"},
    "mpadded": {"height", "width"},
    "mrow": {"displaystyle", "scriptlevel"},
    "mspace": {"width"},
    "mtable": {"displaystyle", "scriptlevel"},
    "mtd": {"class"},
    "munder": {"accentunder"},
    "munderover": {"accent", "accentunder"},
}

converter = LatexToMathML(fancy_error=False, max_expansions=200)


def formula_plugin(parser: MarkdownIt) -> None:
    interrupts = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", "formula", formula_block, {"alt": interrupts})
    parser.inline.ruler.before("escape", "formula", formula_inline)
    parser.add_render_rule("formula", draw_formula)


def formula_inline(state: StateInline, silent: bool) -> bool:
    mark = state.src[state.pos : state.pos + 2]
    mark = mark if mark in INLINE else mark[:1]
    if mark not in INLINE:
        return False
    end = min(state.posMax, state.pos + LONGEST_FORMULA)
    found = INLINE[mark].match(state.src, state.pos, end)
    if not found or not found[1].strip() or (mark == "$" and is_money(state, found[1])):
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content, token.markup = found[1], found[0]
        token.meta = {"display": mark in CLOSING}
    state.pos = found.end()
    return True


def is_money(state: StateInline, between: str) -> bool:
    """Or a variable of a shell: what stands between two dollars is no formula."""
    if state.pos and IN_A_WORD.match(state.src[state.pos - 1]):
        return True
    return not SIGNS.search(between) and bool(PROSE.search(between))


def formula_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """From a line that begins with the mark to one that ends with it, without an empty line."""
    mark = state.src[state.bMarks[start] + state.tShift[start] :][:2]
    if mark not in CLOSING or state.is_code_block(start):
        return False
    lines: list[str] = []
    for number in range(start, end):
        line = state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]
        line = line[2:] if not lines else line
        inside, closing, after = line.partition(CLOSING[mark])
        if state.isEmpty(number) or state.sCount[number] < state.blkIndent or mark in inside:
            return False
        lines.append(inside)
        if closing:
            break
    latex = "\n".join(lines)
    if not closing or after.strip(" .,;") or not latex.strip():
        return False
    if not silent:
        token = state.push("formula", "math", 0)
        token.content, token.markup = latex, f"{mark}{latex}{CLOSING[mark]}"
        token.meta, token.map, token.block = {"display": True}, [start, number + 1], True
        state.line = number + 1
    return True


def draw_formula(
    self: RendererHTML, tokens: Sequence[Token], i: int, options: OptionsDict, env: Any
) -> str:
    token = tokens[i]
    html, left = "", env.setdefault("formulas_left", MOST_FORMULAS)
    if len(token.content) <= left:
        html = mathml(token.content, is_block=token.meta["display"])
        env["formulas_left"] = left - len(token.content)
    html = html or f"<code>{escapeHtml(token.markup)}</code>"
    return f"<p>{html}</p>\n" if token.block else html


def mathml(latex: str, *, is_block: bool) -> str:
    """Not cleaned yet; nothing where it cannot be read."""
    if len(latex) > LONGEST_FORMULA or latex.count("{") > MOST_BRACES or REFUSED.search(latex):
        return ""
    latex = NUMBERED.sub(r"\\\1{\2*}", latex)  # numbers that start anew in each would mislead
    try:
        drawn = converter.convert_with_local_state(latex, displaystyle=is_block)
    except LatexError:
        return ""
    except BaseException as fault:  # a panic in Rust is no Exception; the reply is drawn without
        if type(fault).__name__ != "PanicException":
            raise
        return ""
    return ALIGNED.sub(r'class="\1"', drawn)
