"""What every database can keep.

PostgreSQL refuses the null character in texts and in JSON, UTF-8 has no word for half of a
character (a lone surrogate), and JSON none for a number that is not finite. What a person sends
with any of it is refused; what a model or a tool says is kept with `�` in its place.
"""

from __future__ import annotations

import math
import re

REPLACEMENT = "\ufffd"
UNSTORABLE = re.compile("[\\x00\\ud800-\\udfff]")
DEEPEST = 100  # levels of a document; SQLite reads 1,000, Python's own parser about as many


def sanitize_text(text: str) -> str:
    """The text with a replacement character for each one that cannot be kept."""
    return UNSTORABLE.sub(REPLACEMENT, text)


def sanitize(document: object, depth: int = 0) -> object:
    """The same for every text of a JSON document, its keys included; no number where none is."""
    if isinstance(document, str):
        return sanitize_text(document)
    if isinstance(document, float):
        return document if math.isfinite(document) else None
    if isinstance(document, dict):
        return {
            sanitize_text(str(key)): sanitize(part, depth + 1)
            for key, part in document.items()
            if depth < DEEPEST
        }
    if isinstance(document, list | tuple):
        return [sanitize(part, depth + 1) for part in document if depth < DEEPEST]
    return document


def is_too_deep(document: object, depth: int = 0) -> bool:
    if not isinstance(document, dict | list):
        return False
    parts = document.values() if isinstance(document, dict) else document
    return depth >= DEEPEST or any(is_too_deep(part, depth + 1) for part in parts)


def fault_of(document: object, depth: int = 0) -> str:
    """Why a document cannot be kept as it is, or nothing."""
    if isinstance(document, str):
        return "A text contains a null character or half of a character." * bool(
            UNSTORABLE.search(document)
        )
    if isinstance(document, float):
        return "" if math.isfinite(document) else "A number is not finite."
    if not isinstance(document, dict | list):
        return ""
    if depth >= DEEPEST:
        return "The body is nested too deeply."
    parts = [*document.keys(), *document.values()] if isinstance(document, dict) else document
    return next(filter(None, (fault_of(part, depth + 1) for part in parts)), "")
