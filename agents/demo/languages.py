"""The languages that the demo model reads and writes: one file of words and sentences for each.

What a person says is read by the words of all of them at once, as people mix them; the answer is in
the one they speak. A file more is a language more.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

USUAL = "en"
FILES = sorted(Path(__file__).with_name("languages").glob("*.toml"))
LANGUAGES: dict[str, dict[str, Any]] = {
    path.stem: tomllib.loads(path.read_text("utf-8"))
    for path in sorted(FILES, key=lambda path: path.stem == USUAL)
}
SPEAKS = {name: re.compile(each["speaks"], re.IGNORECASE) for name, each in LANGUAGES.items()}

# A sign of a script that puts no spaces between words: Chinese, Japanese.
SIGN = "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
BETWEEN_SCRIPTS = re.compile(rf"(?<={SIGN})(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?={SIGN})")
HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
# Two signs are about as much as a word of English.
PIECE = re.compile(rf"\s*(?:{SIGN}{{1,2}}|(?:(?!{SIGN})\S)+)\s*")
# A word as it is looked for in a name: every sign, every longer word, every abbreviation.
NAME_WORD = re.compile(rf"{SIGN}|(?:(?!{SIGN})\w){{4,}}|[A-Z]{{2,}}")


def spoken(texts: Iterable[str]) -> str:
    """The language of the first text that shows one."""
    shown = (name for text in texts for name, speaks in SPEAKS.items() if speaks.search(text))
    return next(shown, USUAL)


def pieces(text: str) -> list[str]:
    """The text in about as many pieces as an English one has words."""
    return PIECE.findall(text)


def plain(text: str) -> str:
    """With half-width letters, digits and punctuation, and a space between two scripts."""
    return BETWEEN_SCRIPTS.sub(" ", text.translate(HALF_WIDTH))


def understood(table: str) -> dict[str, Any]:
    """That table of all languages as one."""
    return dict(united([each.get(table, {}) for each in LANGUAGES.values()]))


def united(values: list[Any]) -> Any:
    """Of several expressions one that fits where any does; of lists and tables what is in any."""
    if isinstance(values[0], str):
        return f"(?:{'|'.join(values)})"
    if isinstance(values[0], list):
        return list(chain.from_iterable(values))
    if not isinstance(values[0], dict):
        return values[0]
    keys = dict.fromkeys(chain.from_iterable(values))
    return {key: united([each[key] for each in values if key in each]) for key in keys}
