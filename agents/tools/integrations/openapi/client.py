"""Carrying out one operation."""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx

from agents.charsets import decoded
from agents.json_values import has_more_values
from agents.telemetry.redaction import redacted_url
from agents.tools.base import Arguments, ToolFailed, ToolResult, truncated
from agents.tools.integrations.openapi.documents import say_broken
from agents.tools.integrations.openapi.http import Answer, exchange
from agents.tools.integrations.openapi.operations import is_json
from agents.tools.integrations.openapi.requests import request_of

MOST_BYTES = 1024 * 1024
MOST_VALUES = 100_000  # of a JSON body that is read
MOST_CHARACTERS = 60_000
MOST_OF_AN_ERROR = 2_000
TEXTS = (
    "text/", "application/xml", "application/javascript", "application/yaml", "application/x-yaml",
    "application/x-www-form-urlencoded", "application/graphql",
)  # fmt: skip


async def call_operation(
    operation: Mapping[str, object],
    arguments: Arguments,
    headers: Mapping[str, str],
    seconds: float,
) -> ToolResult:
    """The answer as status and body. Raises ToolFailed, also for an answer that is an error."""
    name = operation["name"]
    try:
        request = request_of(operation, arguments)
        kept = {each.lower() for each in headers}
        own = {k: v for k, v in request.headers.items() if k.lower() not in kept}
        request.headers = {**own, **headers}
        answer = await exchange(request, MOST_BYTES, seconds)
    except (TimeoutError, httpx.TimeoutException):
        raise ToolFailed(f"{name} did not answer within {seconds:g} seconds.") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise ToolFailed(f"{name} could not be called: {say_broken(error)}.") from None
    return outcome(str(name), answer)


def outcome(name: str, answer: Answer) -> ToolResult:
    """For a model both in one text; for a chain the status is a field and the body is alone."""
    status = f"{answer.status} {answer.reason}".rstrip()
    if answer.location:
        where = redacted_url(answer.location)[:500]
        raise ToolFailed(f"{name} was answered with a redirect to {where}, which is not followed.")
    body, facts = written(answer), {"status": answer.status}
    told = truncated(body, MOST_OF_AN_ERROR if answer.status >= 400 else MOST_CHARACTERS)
    if answer.status >= 400:
        sentence = f"{name} was answered with {status}" + (f": {told}" if told else ".")
        raise ToolFailed(sentence, {**facts, "body": parsed(told)})
    return ToolResult(f"{status}\n{told}".rstrip(), body=body, facts={**facts})


def written(answer: Answer) -> str:
    """The body as text; what is not text is named."""
    if not answer.body:
        return ""
    size = f"{len(answer.body):,} bytes" if answer.is_whole else f"more than {MOST_BYTES:,} bytes"
    if not is_text(answer):
        return f"[{answer.kind or 'binary'}, {size}]"
    text = decoded(answer.body, answer.content_type)
    return compact(text) if looks_like_json(answer.kind) else text


def is_text(answer: Answer) -> bool:
    if b"\0" in answer.body:
        return False
    if looks_like_json(answer.kind) or answer.kind.endswith("+xml"):
        return True
    if answer.kind:
        return answer.kind.startswith(TEXTS)
    try:
        answer.body[:-4].decode()  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


def looks_like_json(kind: str) -> bool:
    return is_json(kind) or "json" in kind


def parsed(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def compact(text: str) -> str:
    """The same JSON without spaces; as it is where it has so many values that others would wait."""
    if has_more_values(text.encode(errors="replace"), MOST_VALUES):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text
