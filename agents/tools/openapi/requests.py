"""A call's arguments as the request they mean."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from agents.tools.base import Arguments, ToolFailed
from agents.tools.openapi.operations import is_json
from agents.tools.openapi.parameters import in_header, in_path, in_query, plain

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
