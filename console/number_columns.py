"""Tables in replies: columns of numbers stand at the right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from markdown_it.token import Token

# With a sign or currency in front, and a unit behind: −3, $4.20, 93 %, 3:10, 12 kB.
UNITS = "%|ms|s|min|h|d|k|M|[kKMGT]i?B|B|px|€|°C"
NUMBER = re.compile(rf"[+−-]?[$€£¥]?\d[\d.,:’ ]*(?:{UNITS})?")


def align_numbers(tokens: Sequence[Token]) -> None:
    """Columns of numbers stand at the right, as if the table said so; the first one names rows."""
    columns: list[list[tuple[Token, str]]] = []
    place = 0
    for token, inside in pairwise(tokens):
        if token.type == "table_open":
            columns = []
        elif token.type == "tr_open":
            place = 0
        elif token.type in ("th_open", "td_open"):
            columns += [[]] if place == len(columns) else []
            columns[place].append((token, inside.content.strip()))
            place += 1
        elif token.type == "tbody_close":
            for (head, _), *cells in columns[1:]:
                written = [text for _, text in cells if text]
                if written and all(map(NUMBER.fullmatch, written)):
                    for cell in (head, *(cell for cell, _ in cells)):
                        cell.attrs.setdefault("style", "text-align:right")
