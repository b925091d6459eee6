"""JSON as a person wrote it: what is wrong with it, and where its parts stand."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]

from pydantic import JsonValue

JsonObject = dict[str, JsonValue]

SPACE = re.compile(r"[ \t\r\n]*")
LONG_NUMBER = re.compile(r"\d{4301}")
DECODER = json.JSONDecoder()


class NotJson(ValueError):
    """The text is not JSON; `reason` is a clause without a full stop, `line` counts from 1."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


@dataclass(frozen=True)
class Part:
    """A member of an object or an item of a list, as places in the text.

    `lead` is where the white space before it begins, `start` and `end` enclose its value.
    """

    key: str | int
    lead: int
    start: int
    end: int


def parse(text: str) -> JsonValue:
    """The value of the text; NotJson says in plain words what is wrong with it."""
    try:
        value: JsonValue = json.loads(
            text, object_pairs_hook=without_twins, parse_constant=refuse_constant
        )
    except json.JSONDecodeError as error:
        reason, place = explain(error)
        raise NotJson(reason, line_at(text, place)) from None
    except TwinKeys as error:
        raise NotJson(f"the key {error} is there twice", last_line_with(text, str(error))) from None
    except RecursionError:
        raise NotJson("it is nested too deeply", 1) from None
    except Constant as error:
        raise NotJson(f"{error} is not a JSON value", last_line_with(text, str(error))) from None
    except ValueError:  # Python converts no number of more than 4300 digits
        number = LONG_NUMBER.search(text)
        raise NotJson(
            "a number has too many digits", line_at(text, number.start() if number else 0)
        ) from None
    return value


class TwinKeys(ValueError):
    """The text is the key, in its quotation marks."""


class Constant(ValueError):
    """The text is NaN, Infinity or -Infinity."""


def without_twins(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise TwinKeys(written(next(key for key in keys if keys.count(key) > 1)))
    return members


def refuse_constant(name: str) -> JsonValue:
    raise Constant(name)


def explain(error: json.JSONDecodeError) -> tuple[str, int]:
    """The decoder's message as a clause, and the place where a person would mend it."""
    text, place = error.doc, error.pos
    here = text[place : place + 2]
    before = len(text[:place].rstrip())
    if not text.strip():
        return "the file is empty", 0
    if here[:1] in ("#", "/"):
        return "JSON knows no comments", place
    if error.msg.startswith("Invalid control character") and here[:1] in "\r\n":
        return "a quotation mark is missing", place
    if place >= len(text.rstrip()) and "string" not in error.msg:
        return "the file ends too early; a closing bracket is missing", before
    if here[:1] in ("}", "]") and text[before - 1 : before] == ",":
        return f"the comma before {here[:1]} is one too many", before - 1
    if here[:1] == "," == text[before - 1 : before]:
        return "one comma is too many", place
    if "',' delimiter" in error.msg:  # the decoder stops at what follows the missing comma
        return "a comma is missing", before - 1
    return next((say for start, say in CLAUSES if error.msg.startswith(start)), error.msg), place


CLAUSES = [
    ("Expecting ':'", "a colon is missing"),
    ("Expecting property name", "a key in double quotes is missing"),
    ("Expecting value", "a value is missing or misspelt"),
    ("Illegal trailing comma", "the last comma is one too many"),
    ("Unterminated string", "a quotation mark is missing"),
    ("Invalid control character", "a tab inside quotation marks must be written \\t"),
    ("Invalid \\", "a backslash must be written \\\\"),
    ("Extra data", "something stands after the end"),
    ("Unexpected UTF-8 BOM", "a byte order mark stands at the start"),
]


def line_at(text: str, place: int) -> int:
    return text.count("\n", 0, max(place, 0)) + 1


def last_line_with(text: str, piece: str) -> int:
    return line_at(text, text.rfind(piece))


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line of what a path of keys leads to, or of the last part of the way that is there."""
    place = skip_space(text, 0)
    line = line_at(text, place)
    for key in path:
        part = next((part for part in parts(text, place) if part.key == key), None)
        if part is None:
            break
        place, line = part.start, line_at(text, part.start)
    return line


def parts(text: str, place: int) -> list[Part]:
    """What an object or list that begins at `place` consists of; nothing for other values."""
    if text[place] not in "{[" or text[skip_space(text, place + 1)] in "}]":
        return []
    found: list[Part] = []
    at = place
    while text[at] in "{[,":
        lead = at + 1
        key, start = (
            key_at(text, skip_space(text, lead)) if text[place] == "{" else (len(found), None)
        )
        start = skip_space(text, lead) if start is None else start
        end = DECODER.raw_decode(text, start)[1]
        found.append(Part(key, lead, start, end))
        at = skip_space(text, end)
    return found


def key_at(text: str, place: int) -> tuple[str, int]:
    """The key that begins at a place, and where its value begins."""
    key, end = scanstring(text, place + 1)
    return key, skip_space(text, skip_space(text, end) + 1)


def skip_space(text: str, place: int) -> int:
    match = SPACE.match(text, place)
    return match.end() if match else place


def written(value: JsonValue, depth: int | None = None) -> str:
    """A value as JSON: on one line, or with two spaces of indent when its depth is given."""
    if depth is None:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    lines = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return lines.replace("\n", "\n" + "  " * depth)


def display_json(value: JsonValue) -> str:
    """A value inside a sentence: short, and always fit to be sent as UTF-8."""
    text = written(value)
    short = text if len(text) <= 80 else text[:79] + "…"
    return short.encode(errors="backslashreplace").decode()
