"""Long runs of a compared text without what nobody reads; the whole is in the API."""

from __future__ import annotations

from plans.text_diff import Op, TextRun, words

MOST_KEPT = 240  # characters of a kept run between two changes
MOST_CHANGED = 2_000
ENDS = 100


def shortened(runs: tuple[TextRun, ...]) -> list[TextRun]:
    last = len(runs) - 1
    return [
        TextRun(run.op, shorten(run, is_first=place == 0, is_last=place == last))
        for place, run in enumerate(runs)
    ]


def shorten(run: TextRun, *, is_first: bool, is_last: bool) -> str:
    text = run.text
    if run.op == Op.KEPT and len(text) > MOST_KEPT and not (is_first and is_last):
        head = "" if is_first else start_of(text, ENDS)
        tail = "" if is_last else end_of(text, ENDS)
        return f"{head} … {tail}"
    if len(text) <= MOST_CHANGED:
        return text
    head = start_of(text, MOST_CHANGED)
    return f"{head}… and {len(text) - len(head):,} more characters"


def start_of(text: str, length: int) -> str:
    """Whole words, at most about that many characters."""
    pieces = words(text[: length * 2])
    kept = ""
    while pieces and len(kept) + len(pieces[0]) <= length:
        kept += pieces.pop(0)
    return kept


def end_of(text: str, length: int) -> str:
    pieces = words(text[-length * 2 :])
    kept = ""
    while pieces and len(kept) + len(pieces[-1]) <= length:
        kept = pieces.pop() + kept
    return kept
