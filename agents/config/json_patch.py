"""A merge-patch of JSON text that leaves everything it is not about as a person wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from pydantic import JsonValue

from agents.config.json_text import DECODER, Part, parts, skip_space, written


def patched(text: str, patch: Mapping[str, JsonValue]) -> str:
    """A merge-patch (RFC 7396) of an object; every character it is not about stays."""
    start = skip_space(text, 0)
    end = DECODER.raw_decode(text, start)[1]
    return text[:start] + merged(text[:end], start, patch, depth=0) + text[end:]


def merged(text: str, start: int, patch: Mapping[str, JsonValue], depth: int) -> str:
    """The new text of the object that begins at `start`; `text` ends where the object ends."""
    members = parts(text, start)
    pieces = [
        text[part.lead : part.start] + changed(text, part, patch[str(part.key)], depth + 1)
        if part.key in patch
        else text[part.lead : part.end]
        for part in members
        if patch.get(str(part.key), "") is not None
    ]
    there = {part.key for part in members}
    for key, value in patch.items():
        if key not in there and value is not None:
            rendered = f"{written(key)}: {written(without_nulls(value), depth + 1)}"
            pieces.append(lead_of(text, members, bool(pieces), depth) + rendered)
    tail = text[members[-1].end : -1] if members else "\n" + "  " * depth
    return "{" + ",".join(pieces) + (tail if pieces else "") + "}"


def lead_of(text: str, members: list[Part], follows: bool, depth: int) -> str:
    """The white space before a new member, like that before its neighbours."""
    if not members:
        return "\n" + "  " * (depth + 1)
    lead = re.split(r'(?=["\[{\w-])', text[members[-1].lead : members[-1].start], maxsplit=1)[0]
    return lead if "\n" in lead else " " if follows else ""


def changed(text: str, part: Part, value: JsonValue, depth: int) -> str:
    """The new text of one value; what is equal in it stays as it was written."""
    old = text[part.start : part.end]
    if isinstance(value, dict):
        return (
            merged(text[: part.end], part.start, value, depth)
            if old.startswith("{")
            else written(without_nulls(value), depth)
        )
    if written(json.loads(old)) == written(value):
        return old
    if isinstance(value, list) and old.startswith("["):
        return relisted(text, part, value, depth)
    return written(value, depth)


def relisted(text: str, part: Part, values: list[JsonValue], depth: int) -> str:
    """A list whose first items are kept to the letter where they are the same."""
    items = parts(text[: part.end], part.start)
    same = 0
    for item, value in zip(items, values, strict=False):
        if written(json.loads(text[item.start : item.end])) != written(value):
            break
        same += 1
    if not same:
        return written(values, depth)
    lead = text[items[0].lead : items[0].start] or " "
    kept = text[part.start : items[same - 1].end]
    added = [f"{lead}{written(value, depth + 1)}" for value in values[same:]]
    return ",".join([kept, *added]) + text[items[-1].end : part.end]


def without_nulls(value: JsonValue) -> JsonValue:
    """A patch put where nothing was: its nulls delete what is not there."""
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(item) for key, item in value.items() if item is not None}
