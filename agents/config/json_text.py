"""JSON that people edit by hand: what is wrong with it and on which line, and changes to it."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from math import isinf
from unicodedata import category

from pydantic import JsonValue

from agents.json_size import why_too_many
from agents.stored_text import gettext, gettext_lazy

JsonObject = dict[str, JsonValue]

SPACE = re.compile(r"[ \t\r\n]*")
LONG_NUMBER = re.compile(r"(?<!\d)\d{4301}")
DECODER = json.JSONDecoder()
INVISIBLE = {"Cc", "Cf", "Zl", "Zp"}  # Unicode categories


class BadFile(Exception):
    """A fault of a file that people edit: a clause without a full stop, and a line from 1 on.

    `key` is what has a wrong value, if that is it.
    """

    def __init__(self, reason: str, line: int | None = None, key: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.key = key

    @property
    def sentence(self) -> str:
        if self.line:
            return gettext("Line {line}: {reason}.").format(line=self.line, reason=self.reason)
        return gettext("{reason}.").format(reason=self.reason)


def parse(text: str) -> JsonValue:
    """The value of the text; BadFile says in plain words what is wrong with it."""

    def without_twins(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
        members = dict(pairs)
        if len(members) < len(pairs):
            twin = written(Counter(key for key, _ in pairs).most_common(1)[0][0])
            reason = gettext("the key {key} is there twice").format(key=twin)
            raise BadFile(reason, line_at(text, text.rfind(twin)))
        return members

    def refuse_constant(name: str) -> JsonValue:
        reason = gettext("{name} is not a JSON value").format(name=name)
        raise BadFile(reason, line_at(text, text.rfind(name)))

    def finite(digits: str) -> JsonValue:
        number = float(digits)
        if isinf(number):  # as infinity it could not be written again
            reason = gettext("{digits} is too large a number").format(digits=digits[:40])
            raise BadFile(reason, line_at(text, text.rfind(digits)))
        return number

    if why := why_too_many(text):
        raise BadFile(why)
    try:
        value: JsonValue = json.loads(
            text,
            object_pairs_hook=without_twins,
            parse_constant=refuse_constant,
            parse_float=finite,
        )
    except json.JSONDecodeError as error:
        reason, place = explain(error)
        raise BadFile(reason, line_at(text, place)) from None
    except RecursionError:
        raise BadFile(gettext("it is nested too deeply"), 1) from None
    except ValueError:  # Python converts no number of more than 4300 digits
        number = LONG_NUMBER.search(text)
        place = number.start() if number else 0
        raise BadFile(gettext("a number has too many digits"), line_at(text, place)) from None
    return value


def explain(error: json.JSONDecodeError) -> tuple[str, int]:
    """The decoder's message as a clause, and the place where a person would correct it."""
    text, place = error.doc, error.pos
    here = text[place : place + 2]
    before = len(text[:place].rstrip())
    if not text.strip():
        return gettext("the file is empty"), 0
    if here[:1] in ("#", "/"):
        return gettext("JSON knows no comments"), place
    if error.msg.startswith("Invalid control character") and here[:1] in "\r\n":
        return gettext("a quotation mark is missing"), place
    if place >= len(text.rstrip()) and "string" not in error.msg:
        return gettext("the file ends too early; a closing bracket is missing"), before
    if here[:1] in ("}", "]") and text[before - 1 : before] == ",":
        reason = gettext("the comma before {bracket} is one too many")
        return reason.format(bracket=here[:1]), before - 1
    if here[:1] == "," == text[before - 1 : before]:
        return gettext("one comma is too many"), place
    if "',' delimiter" in error.msg:  # the decoder stops at what follows the missing comma
        return gettext("a comma is missing"), before - 1
    return next(
        (str(clause) for start, clause in CLAUSES if error.msg.startswith(start)), error.msg
    ), place


CLAUSES = [
    ("Expecting ':'", gettext_lazy("a colon is missing")),
    ("Expecting property name", gettext_lazy("a key in double quotes is missing")),
    ("Expecting value", gettext_lazy("a value is missing or misspelt")),
    ("Illegal trailing comma", gettext_lazy("the last comma is one too many")),
    ("Unterminated string", gettext_lazy("a quotation mark is missing")),
    ("Invalid control character", gettext_lazy("a tab inside quotation marks must be written \\t")),
    ("Invalid \\", gettext_lazy("a backslash must be written \\\\")),
    ("Extra data", gettext_lazy("something stands after the end")),
    ("Unexpected UTF-8 BOM", gettext_lazy("a byte order mark stands at the start")),
]


def line_at(text: str, place: int) -> int:
    return text.count("\n", 0, max(place, 0)) + 1


class Lines:
    """Where the values of a text stand; each object and list is read once, however many ask."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.breaks = [match.start() for match in re.finditer("\n", text)]
        self.places: dict[int, dict[str | int, int]] = {}

    def line_of(self, path: Sequence[str | int]) -> int:
        """The line of what a path of keys leads to, or of the last part of the way that is there,
        from 1 on."""
        place = skip_space(self.text, 0)
        for key in path:
            if place not in self.places:
                self.places[place] = places_of_values(self.text, place)
            if key not in self.places[place]:
                break
            place = self.places[place][key]
        return bisect_left(self.breaks, place) + 1


def places_of_values(text: str, place: int) -> dict[str | int, int]:
    """Where each value of the object or list that begins at `place` begins, by key or number."""
    places: dict[str | int, int] = {}
    at = skip_space(text, place + 1)
    if text[place] not in "{[" or text[at] in "}]":
        return places
    while True:
        key: str | int = len(places)
        if text[place] == "{":
            key, end = scanstring(text, at + 1)
            at = skip_space(text, skip_space(text, end) + 1)
        places[key] = at
        at = skip_space(text, DECODER.raw_decode(text, at)[1])
        if text[at] != ",":
            return places
        at = skip_space(text, at + 1)


def skip_space(text: str, place: int) -> int:
    match = SPACE.match(text, place)
    return match.end() if match else place


def patched(text: str, patch: Mapping[str, JsonValue]) -> str:
    """A merge-patch (RFC 7396) of an object, in the text's own indent and line ends.

    What it does not change in value keeps its place, not its layout: see docs/decisions/0008.
    """
    before = json.loads(text)
    return written_like(text, before, merged(before, dict(patch)))


def with_value(text: str, path: Sequence[str], value: JsonValue) -> str:
    """The object with one value set, in the text's own indent and line ends.

    Nothing is null where its key stands already, and no key where it does not.
    """
    after = json.loads(text)
    inside = after
    for key in path[:-1]:
        if not isinstance(inside.get(key), dict):
            inside[key] = {}
        inside = inside[key]
    if value is not None or path[-1] in inside:
        inside[path[-1]] = value
    elif len(path) > 1 and not inside:  # no empty object is left where there was none
        return text
    return written_like(text, json.loads(text), after)


def written_like(text: str, before: JsonValue, after: JsonValue) -> str:
    """The changed value as the person would have written it, whose text this is."""
    if written(after) == written(before):
        return text
    first_line = re.search(r"\n([ \t]*)\S", text.strip())
    lines = written(after, indent=first_line[1] if first_line else None)
    # What the person wrote as an escape, or never wrote, does not become an invisible character.
    hidden = {c for c in set(lines) - set(text) if c > " " and category(c) in INVISIBLE}
    lines = lines.translate({ord(c): json.dumps(c)[1:-1] for c in hidden})
    if "\r\n" in text:
        lines = lines.replace("\n", "\r\n")
    return lines + text[len(text.rstrip()) :]


def merged(target: JsonValue, patch: JsonValue) -> JsonValue:
    """RFC 7396: null removes a key, an object merges, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def written(value: JsonValue, indent: int | str | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)


def display_json(value: JsonValue) -> str:
    """A value inside a sentence: short, and always fit to be sent as UTF-8."""
    text = written(value)
    short = text if len(text) <= 80 else text[:79] + "…"
    return short.encode(errors="backslashreplace").decode()
