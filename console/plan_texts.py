"""How a text of a plan is drawn, everywhere: as markdown, unless that would leave something out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from html import unescape

from django.utils.safestring import SafeString

from agents.hidden_characters import count_boxes
from console.changes.lines import Line, text_lines
from console.components import component
from console.language import cached
from console.markdown import MOST_WEIGHT, render, weight_of
from console.visible_text import visible
from plans.snapshot import PlanSnapshot

LETTERS = re.compile(r"[^\W\d_]{2,}")
TITLE = re.compile(r'\btitle="[^"]*"')  # of a link: only who points at it would see it
# A sign of these scripts counts as a word.
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")


@dataclass(frozen=True)
class Document:
    """A plan of text alone, for a person who reads it before they say yes, or afterwards."""

    text: str

    @property
    def hides(self) -> bool:
        return hides(self.text)

    @property
    def words(self) -> int:
        return sum(any(map(str.isalnum, word)) for word in WORD.findall(self.text))

    @cached_property
    def lines(self) -> list[Line]:
        return [line for block in text_lines(self.text).blocks for line in block.lines]


def document(plan: PlanSnapshot) -> Document:
    return Document(plan.content)


def document_id(plan: PlanSnapshot) -> str:
    """Another one for each version: the text of one never changes."""
    return f"document-{plan.id}-{plan.version}"


@cached(128)
def hides(text: str) -> bool:
    """Whether what a model reads in it would not be seen in its drawing: characters, or words as
    in the definition of a link."""
    if count_boxes(text):
        return True
    drawn = unescape(TITLE.sub("", render(text)))
    return bool(Counter(LETTERS.findall(text)) - Counter(LETTERS.findall(drawn)))


def plan_text(text: str) -> SafeString:
    """The one component for what a plan says: its content, and what came of it and its subtasks."""
    if hides(text):
        return component("plan_text", written=visible(text))
    return component("plan_text", drawn=render(text))


def drawn_outcomes(plan: PlanSnapshot) -> frozenset[str]:
    """The keys of the subtasks whose outcome is drawn so: those of one plan together may be as much
    work as one text, however many there are."""
    left, keys = MOST_WEIGHT, set()
    for row in plan.done:
        left -= weight_of(row.outcome)
        if left >= 0:
            keys.add(row.key)
    return frozenset(keys)
