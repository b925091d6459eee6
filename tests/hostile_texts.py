"""Texts that cost most to draw, each at any length: what a model or a service might write."""

from __future__ import annotations

from collections.abc import Callable


def repeated(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def nested(unit: str, indent: str) -> Callable[[int], str]:
    """Each line one level deeper than the one before."""

    def text(size: int) -> str:
        lines, length, depth = [], 0, 0
        while length < size:
            lines.append(f"{indent * depth}{unit} level")
            length += len(lines[-1]) + 1
            depth += 1
        return "\n".join(lines)[:size]

    return text


def wide_table(size: int) -> str:
    columns = size // 9
    return "\n".join(["|a" * columns, "|-" * columns, "|b" * columns])[:size]


def fenced(language: str, unit: str) -> Callable[[int], str]:
    return lambda size: f"```{language}\n{repeated(unit)(size)}\n```"


MARKDOWN: dict[str, Callable[[int], str]] = {
    "brackets": repeated("["),
    "closing brackets": repeated("]"),
    "bracket pairs": repeated("[]"),
    "nested links": repeated("[a]("),
    "links that close": lambda size: "[" * (size // 2) + "](x)" * (size // 8),
    "images": repeated("!["),
    "image pairs": repeated("![a]("),
    "links": repeated("[a](https://example.com/b) "),
    "broken link titles": repeated('[a](<b "c'),
    "stars": repeated("*"),
    "star words": repeated("*a "),
    "mixed emphasis": repeated("*a_ "),
    "bold and italic": repeated("a**b_c"),
    "closing emphasis": repeated("a*_"),
    "tildes": repeated("~~a"),
    "backticks": repeated("`"),
    "growing backticks": lambda size: "".join("`" * n + " " for n in range(1, 2000))[:size],
    "code spans": repeated("`a` "),
    "backslashes": repeated("\\"),
    "entities": repeated("&amp;"),
    "broken entities": repeated("&"),
    "autolinks": repeated("<https://a.b> "),
    "open angles": repeated("<"),
    "open tags": repeated("<a "),
    "comments": repeated("<!--"),
    "CDATA": repeated("<![CDATA["),
    "processing instructions": repeated("<?"),
    "declarations": repeated("<!A "),
    "addresses": repeated("https://example.com/a "),
    "one long address": lambda size: "https://example.com/" + "a" * size,
    "address and brackets": repeated("https://a.b/(("),
    "mail addresses": repeated("a@b.cd "),
    "www": repeated("www."),
    "colons": repeated("a:"),
    "wide table": wide_table,
    "long table": lambda size: "|a|b|\n|-|-|\n" + repeated("|x|y|\n")(size),
    "pipes": repeated("|"),
    "table heads": repeated("a|b\n-|-\n"),
    "nested lists": nested("-", "  "),
    "lists on one line": repeated("- "),
    "numbered on one line": repeated("1. "),
    "nested quotes": nested("", ">"),
    "quotes on one line": repeated("> "),
    "quotes without end": repeated("> a\n"),
    "quote and list": repeated("> - "),
    "list items": repeated("- **item** `code` [a](b)\n"),
    "lazy lists": repeated("- a\nb\n"),
    "loose lists": repeated("- a\n\n"),
    "task lists": repeated("- [ ] a\n"),
    "reference definitions": repeated("[a]: b\n"),
    "different definitions": lambda size: "".join(f"[{n}]: b\n" for n in range(size // 8))[:size],
    "broken definitions": repeated("[a]:\n"),
    "definition titles": repeated('[a]: b "\n'),
    "uses of a definition": lambda size: "[a]: b\n\n" + repeated("[a] ")(size),
    "headings": repeated("# a\n"),
    "setext lines": repeated("a\n="),
    "rules": repeated("* * "),
    "open fences": repeated("```\n"),
    "indented code": repeated("    a\n"),
    "hard breaks": repeated("a  \n"),
    "tabs": repeated("\t"),
    "spaces": repeated(" "),
    "trailing spaces": repeated("a" + " " * 500),
    "lines": repeated("\n"),
    "one long line": repeated("a"),
    "short lines": repeated("a\n"),
    "prose": repeated("The quick brown fox jumps over the lazy dog, and then rests. "),
    "paragraphs": repeated("The quick brown fox jumps over the lazy dog. " * 8 + "\n\n"),
    "right to left": repeated("שלום עולם, "),
    "right to left marks": repeated("\u202eabc\u202c"),
    "zero width": repeated("\u200b"),
    "combining marks": lambda size: "a" + "\u0301" * size,
    "emoji": repeated("👨‍👩‍👧 "),
    "quotation marks": repeated("\"'"),
    "dashes": repeated("--- "),
    "dots": repeated("..."),
    "dollars": repeated("$"),
    "open formulas": repeated("$a "),
    "double dollars": repeated("$$\n"),
    "open double dollars": repeated("$$ a\n"),
    "open parentheses of TeX": repeated("\\("),
    "open brackets of TeX": repeated("\\[\n"),
    "formulas": repeated("$a<b$ "),
    "formulas that grow": repeated("$$" + "<" * 1_900 + "$$ "),
    "formulas that cannot be read": repeated("$\\sqrt{$ "),
    "notes": lambda size: "".join(f"[^{n}]: b\n" for n in range(size // 9))[:size],
    "nested notes": repeated("[^a]: "),
    "uses of a note": lambda size: "[^a]: b\n\n" + repeated("[^a]")(size),
    "notes that do not end": lambda size: "[^a]: b\n\n" + "[^" * 390 + "a" * size,
}

FORMULA_UNITS = {
    "braces": "{",
    "fractions": "\\frac{",
    "short fractions": "\\frac1",
    "powers": "x^{",
    "roots": "\\sqrt[",
    "fences": "\\left(",
    "negations": "\\not",
    "accents": "\\bar",
    "limits": "\\lim_",
    "operators": "\\mathop{",
    "matrices": "\\begin{matrix}",
    "signs": "<",
    "expansions": "\\textcolor{red}{",
    "primes": "x'",
}

CODE_UNITS = {
    "signs": "<",
    "ampersands": "&",
    "calls": "a(",
    "words": "a ",
    "escapes": '"\\',
    "comments": "/*",
    "lines": "a\n",
}
