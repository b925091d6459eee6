"""A call's arguments as the request they mean, and where requests may go."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from agents.errors import Invalid
from agents.tools.base import Arguments, ToolFailed
from agents.tools.integrations.openapi.schemas import mapping_or_empty, sequence

Route = Mapping[str, object]

PORTS = {"http": 80, "https": 443}
SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|"}
# No description in use has them; written as `simple` they would ask for something else.
UNSUPPORTED_STYLES = ("label", "matrix")


@dataclass
class Request:
    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None


def request_of(operation: Mapping[str, object], arguments: Arguments) -> Request:
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
    if left := re.search(r"\{[^}/]*\}", request.url.partition("?")[0]):
        raise ToolFailed(f"The document does not say what {left[0]} in the path is.")
    if cookies:
        pairs = [f"{quote(name)}={quote(value, safe='')}" for name, value in cookies]
        request.headers["Cookie"] = "; ".join(pairs)
    if query:
        request.url += ("&" if "?" in request.url else "?") + urlencode(query, quote_via=quote)
    body = str(operation.get("body") or "")
    if body in arguments:
        kind, request.content = written_body(str(operation["body_type"]), arguments[body], body)
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
    name, style = str(route["name"]), str(route["style"])
    if style in UNSUPPORTED_STYLES:
        raise ToolFailed(f"{name} is a part of the path in the style {style}, which is not known.")
    if style == "json":
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


def is_json(kind: str) -> bool:
    return kind in ("application/json", "*/*", "application/*") or kind.endswith("+json")


def written_body(kind: str, body: object, name: str) -> tuple[str, bytes]:
    """The content type that is sent, and the body. Raises ToolFailed."""
    if is_json(kind):
        content = json.dumps(body, ensure_ascii=False).encode()
        return kind if kind.endswith("json") else "application/json", content
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        return kind, plain(body).encode()
    if not isinstance(body, dict):
        raise ToolFailed(f"{name} must be an object: the fields of the form.")
    fields: list[tuple[str, str]] = []
    for key, value in body.items():
        values = value if isinstance(value, list) else [value]
        fields += [(key, plain(each)) for each in values if each is not None]
    if kind != "multipart/form-data":
        return kind, urlencode(fields).encode()
    boundary = "planside"  # it occurs in none of the fields
    while any(boundary in part for pair in fields for part in pair):
        boundary += "-"
    lines: list[str] = []
    for key, value in fields:
        quoted = key.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        lines += [f"--{boundary}", f'Content-Disposition: form-data; name="{quoted}"', "", value]
    content = "\r\n".join([*lines, f"--{boundary}--", ""]).encode()
    return f"multipart/form-data; boundary={boundary}", content


# Addresses: an operation's requests always go to the host that the admin registered.


def check_address(url: str) -> None:
    """Raises Invalid unless it is an http or https URL with a host."""
    parts = split(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise Invalid("The address of a service starts with http:// or https:// and names a host.")


def same_origin(one: str, other: str) -> bool:
    return origin(one) == origin(other)


def origin(url: str) -> tuple[str, str, int | None]:
    parts = split(url)
    try:
        port = parts.port
    except ValueError:
        raise Invalid("The address of a service has an impossible port.") from None
    return parts.scheme, parts.hostname or "", port or PORTS.get(parts.scheme)


def split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise Invalid("The address of a service is not a URL.") from None
