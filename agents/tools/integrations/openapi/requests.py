"""A call's arguments as the request they mean."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from agents.tools.base import Arguments, ToolFailed
from agents.tools.integrations.openapi.operations import is_json

Json = Mapping[str, object]


@dataclass
class Request:
    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None


def request_of(operation: Json, arguments: Arguments) -> Request:
    """Raises ToolFailed with one sentence when the arguments do not make a request."""
    check(operation, arguments)
    url = str(operation["url"])
    query: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    cookies: list[tuple[str, str]] = []
    for name, route in mapping(operation.get("arguments")).items():
        if name not in arguments:
            continue
        where, value = mapping(route), arguments[name]
        if where["in"] == "path":
            url = url.replace("{" + str(where["name"]) + "}", in_path(where, value))
        elif where["in"] == "query":
            query += in_query(where, value)
        elif where["in"] == "cookie":
            cookies += in_query(where, value)
        elif value is not None:
            headers[str(where["name"])] = in_header(where, value)
    if left := re.search(r"\{[^}/]*\}", url.partition("?")[0]):
        raise ToolFailed(f"The document does not say what {left[0]} in the path is.")
    if cookies:
        headers["Cookie"] = "; ".join(f"{quote(k)}={quote(v, safe='')}" for k, v in cookies)
    if query:
        url += ("&" if "?" in url else "?") + urlencode(query, quote_via=quote)
    return with_body(Request(str(operation["method"]), url, headers), operation, arguments)


def check(operation: Json, arguments: Arguments) -> None:
    """Every required argument is there, and none that the operation does not know."""
    schema = mapping(operation["parameters"])
    known = mapping(schema.get("properties"))
    required = schema.get("required")
    missing = [name for name in required or [] if name not in arguments]  # type: ignore[attr-defined]
    unknown = [name for name in arguments if name not in known]
    if missing:
        raise ToolFailed(f"{operation['name']} needs {', '.join(missing)}.")
    if unknown:
        raise ToolFailed(
            f"{operation['name']} does not know {', '.join(unknown)[:200]}; "
            f"it takes {', '.join(known) or 'no arguments'}."
        )


def with_body(request: Request, operation: Json, arguments: Arguments) -> Request:
    name = str(operation.get("body") or "")
    if name not in arguments:
        return request
    kind, body = str(operation["body_type"]), arguments[name]
    if is_json(kind):
        kind = kind if kind.endswith("json") else "application/json"
        request.content = json.dumps(body, ensure_ascii=False).encode()
    elif kind == "application/x-www-form-urlencoded":
        request.content = urlencode(form_fields(body, name)).encode()
    elif kind == "multipart/form-data":
        kind, request.content = multipart(form_fields(body, name))
    else:
        request.content = plain(body).encode()
    request.headers["Content-Type"] = kind
    return request


def form_fields(body: object, name: str) -> list[tuple[str, str]]:
    if not isinstance(body, dict):
        raise ToolFailed(f"{name} must be an object: the fields of the form.")
    fields: list[tuple[str, str]] = []
    for key, value in body.items():
        values = value if isinstance(value, list) else [value]
        fields += [(key, plain(each)) for each in values if each is not None]
    return fields


def multipart(fields: list[tuple[str, str]]) -> tuple[str, bytes]:
    """Text fields alone, between lines that occur in none of them."""
    boundary = "planside"
    while any(boundary in part for pair in fields for part in pair):
        boundary += "-"
    lines: list[str] = []
    for name, value in fields:
        shown = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        lines += [f"--{boundary}", f'Content-Disposition: form-data; name="{shown}"', "", value]
    body = "\r\n".join([*lines, f"--{boundary}--", ""])
    return f"multipart/form-data; boundary={boundary}", body.encode()


def mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


# How OpenAPI writes values into a path, a query, headers and cookies.

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
