"""How OpenAPI writes values into a path, a query, headers and cookies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote

from agents.tools.base import ToolFailed

SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|"}
LEADS = {"label": (".", "."), "matrix": (";", ";"), "simple": ("", ",")}


def plain(value: object) -> str:
    """A single value as text: true and null as JSON writes them."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def pairs_of(value: Mapping[str, object]) -> list[tuple[str, str]]:
    return [(name, plain(each)) for name, each in value.items()]


def in_query(route: Mapping[str, object], value: object) -> list[tuple[str, str]]:
    """The pairs of a query (or of cookies) that a value becomes; null is left out."""
    name, style = str(route["name"]), str(route["style"])
    if value is None:
        return []
    if style == "json":
        return [(name, json.dumps(value, ensure_ascii=False))]
    if isinstance(value, dict):
        return object_in_query(name, style, bool(route["explode"]), value)
    if isinstance(value, list):
        if route["explode"]:
            return [(name, plain(each)) for each in value]
        return [(name, SEPARATORS.get(style, ",").join(plain(each) for each in value))]
    return [(name, plain(value))]


def object_in_query(
    name: str, style: str, explode: bool, value: Mapping[str, object]
) -> list[tuple[str, str]]:
    pairs = pairs_of(value)
    if style == "deepObject":
        return [(f"{name}[{key}]", each) for key, each in pairs]
    if explode:
        return pairs
    return [(name, SEPARATORS.get(style, ",").join(text for pair in pairs for text in pair))]


def in_path(route: Mapping[str, object], value: object) -> str:
    """One segment of a path, quoted so that it stays one. Raises ToolFailed."""
    name, style = str(route["name"]), str(route["style"])
    lead, between = LEADS.get(style, LEADS["simple"])
    if style == "json":
        return quote(json.dumps(value, ensure_ascii=False), safe="")
    if isinstance(value, list) and not (style == "matrix" and route["explode"]):
        between = between if style == "label" and route["explode"] else ","
        written = between.join(segment(each) for each in value)
    elif isinstance(value, list):
        return "".join(f";{quote(name)}={segment(each)}" for each in value)
    elif isinstance(value, dict):
        written = object_in_path(value, bool(route["explode"]), between)
    else:
        written = segment(value)
    if written in ("", ".", ".."):
        raise ToolFailed(f"{name} is a part of the path and cannot be {written!r}.")
    return f"{lead}{quote(name)}={written}" if style == "matrix" else lead + written


def object_in_path(value: Mapping[str, object], explode: bool, between: str) -> str:
    if explode:
        return between.join(f"{segment(key)}={segment(each)}" for key, each in value.items())
    return ",".join(segment(text) for pair in pairs_of(value) for text in pair)


def segment(value: object) -> str:
    return quote(plain(value), safe="")


def in_header(route: Mapping[str, object], value: object) -> str:
    """One line of printable text. Raises ToolFailed."""
    if isinstance(value, list):
        written = ",".join(plain(each) for each in value)
    elif isinstance(value, dict) and route["style"] != "json":
        between = "=" if route["explode"] else ","
        written = ",".join(f"{key}{between}{each}" for key, each in pairs_of(value))
    else:
        written = plain(value)
    if not written.isascii() or not written.isprintable():
        raise ToolFailed(f"{route['name']} is a header: printable ASCII characters on one line.")
    return written
