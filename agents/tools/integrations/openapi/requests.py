"""A call's arguments as the request they mean."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import quote, urlencode

import httpx

from agents.tools.base import Arguments, ToolFailed
from agents.tools.integrations.openapi.bodies import FORM, PARTS, is_json
from agents.tools.integrations.openapi.schemas import mapping_or_empty, sequence

Route = Mapping[str, object]
ReadFile = Callable[[str, int], bytes]  # by its path and the largest size

SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|"}
MOST_SENT = 50_000_000  # bytes of files in one request


def no_files(path: str, largest: int) -> bytes:
    raise ToolFailed("There are no files that it could send.")


@dataclass
class Request:
    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None


def request_of(
    operation: Mapping[str, object], arguments: Arguments, read_file: ReadFile
) -> Request:
    """Raises ToolFailed with one sentence when the arguments do not make a request."""
    check_arguments(operation, arguments)
    request = Request(str(operation["method"]), str(operation["url"]))
    query: list[tuple[str, str]] = []
    cookies: list[tuple[str, str]] = []
    for name, value in mapping_or_empty(operation.get("arguments")).items():
        if name not in arguments:
            continue
        route, value = mapping_or_empty(value), arguments[name]
        if route["in"] == "path":
            request.url = request.url.replace(f"{{{route['name']}}}", in_path(route, value))
        elif route["in"] == "query":
            query += in_query(route, value)
        elif route["in"] == "cookie":
            cookies += in_query(route, value)
        elif value is not None:
            request.headers[str(route["name"])] = in_header(route, value)
    if cookies:
        pairs = [f"{quote(name)}={quote(value, safe='')}" for name, value in cookies]
        request.headers["Cookie"] = "; ".join(pairs)
    if query:
        request.url += ("&" if "?" in request.url else "?") + urlencode(query, quote_via=quote)
    body = str(operation.get("body") or "")
    if body in arguments:
        kind, request.content = written_body(operation, arguments[body], read_file)
        request.headers["Content-Type"] = kind
    return request


def check_arguments(operation: Mapping[str, object], arguments: Arguments) -> None:
    """Every required argument is there, and none that the operation does not know."""
    schema = mapping_or_empty(operation["parameters"])
    known = mapping_or_empty(schema.get("properties"))
    required = map(str, sequence(schema.get("required"), "required"))
    missing = [name for name in required if name not in arguments]
    unknown = [name for name in arguments if name not in known]
    if missing:
        raise ToolFailed(f"{operation['name']} needs {', '.join(missing)}.")
    if unknown:
        raise ToolFailed(
            f"{operation['name']} does not know {', '.join(unknown)[:200]}; "
            f"it takes {', '.join(known) or 'no arguments'}."
        )


# How OpenAPI writes values into a path, a query, headers, cookies and a body.


def plain(value: object) -> str:
    """A single value as text: true and null as JSON writes them."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def in_query(route: Route, value: object) -> list[tuple[str, str]]:
    """The pairs of a query (or of cookies) that a value becomes; null is left out."""
    name, style = str(route["name"]), str(route["style"])
    if value is None:
        return []
    if style == "json":
        return [(name, json.dumps(value, ensure_ascii=False))]
    if not isinstance(value, dict | list):
        return [(name, plain(value))]
    if isinstance(value, dict):
        pairs = [(key, plain(each)) for key, each in value.items()]
        if style == "deepObject":
            return [(f"{name}[{key}]", each) for key, each in pairs]
        if route["explode"]:
            return pairs
        texts = [text for pair in pairs for text in pair]
    else:
        texts = [plain(each) for each in value]
        if route["explode"]:
            return [(name, text) for text in texts]
    return [(name, SEPARATORS.get(style, ",").join(texts))]


def in_path(route: Route, value: object) -> str:
    """One segment of a path, quoted so that it stays one. Raises ToolFailed."""
    name = str(route["name"])
    if route["style"] == "json":
        return quote(json.dumps(value, ensure_ascii=False), safe="")
    written = simple(route, value, lambda text: quote(text, safe=""))
    if written in ("", ".", ".."):
        raise ToolFailed(f"{name} is a part of the path and cannot be {written!r}.")
    return written


def in_header(route: Route, value: object) -> str:
    """One line of printable text. Raises ToolFailed."""
    is_json = isinstance(value, dict) and route["style"] == "json"
    written = plain(value) if is_json else simple(route, value, str)
    if not written.isascii() or not written.isprintable():
        raise ToolFailed(f"{route['name']} is a header: printable ASCII characters on one line.")
    return written


def simple(route: Route, value: object, encode: Callable[[str], str]) -> str:
    if isinstance(value, dict):
        between = "=" if route["explode"] else ","
        pairs = value.items()
        return ",".join(f"{encode(key)}{between}{encode(plain(each))}" for key, each in pairs)
    return ",".join(encode(plain(each)) for each in (value if isinstance(value, list) else [value]))


def written_body(
    operation: Mapping[str, object], body: object, read_file: ReadFile
) -> tuple[str, bytes]:
    """The content type that is sent, and the body. Raises ToolFailed."""
    kind, name = str(operation["body_type"]), str(operation["body"])
    files = sequence(operation.get("files"), "files")
    if "" in files:
        return kind, read_file(plain(body), MOST_SENT)
    if is_json(kind):
        content = json.dumps(body, ensure_ascii=False).encode()
        return kind if kind.endswith("json") else "application/json", content
    if kind not in (FORM, PARTS):
        return kind, plain(body).encode()
    if not isinstance(body, dict):
        raise ToolFailed(f"{name} must be an object: the fields of the form.")
    fields: list[tuple[str, object]] = []
    for key, value in body.items():
        values = value if isinstance(value, list) else [value]
        fields += [(key, each) for each in values if each is not None]
    if kind == FORM:
        return kind, urlencode([(key, plain(value)) for key, value in fields]).encode()
    left = MOST_SENT
    parts: list[tuple[str, tuple[str | None, bytes, str | None]]] = []
    for key, value in fields:
        if key in files:
            path = plain(value)
            content = read_file(path, left)
            left -= len(content)
            media = mimetypes.guess_type(path)[0] or "application/octet-stream"
            parts.append((key, (PurePosixPath(path).name, content, media)))
        else:
            parts.append((key, (None, plain(value).encode(), None)))
    form = httpx.Request("POST", "http://form", files=parts)
    return form.headers["Content-Type"], form.read()
