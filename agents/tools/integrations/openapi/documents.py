"""From a registered address to the operations that its document offers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

import httpx

from agents.errors import Invalid
from agents.json_values import has_more_values
from agents.telemetry.redaction import redacted_url
from agents.tools.integrations.openapi.http import exchange
from agents.tools.integrations.openapi.operations import operations_of
from agents.tools.integrations.openapi.requests import Request
from agents.tools.integrations.openapi.schemas import Json
from agents.tools.integrations.openapi.urls import check_address, document_address, same_origin

LONGEST_DOCUMENT = 20 * 1024 * 1024
MOST_VALUES = 600_000  # JSON values of a document; those of GitHub and Stripe have about half


async def read_operations(
    url: str, spec: object, headers: Mapping[str, str], longest: int
) -> list[Json]:
    """What the service offers. `spec` is the document, its URL, or nothing. Raises Invalid."""
    check_address(url)
    if isinstance(spec, dict):
        return await asyncio.to_thread(parsed, spec, url, "", longest)
    address = spec if isinstance(spec, str) and spec else document_address(url)
    body = await fetched(address, url, headers)
    return await asyncio.to_thread(operations_in, body, address, url, longest)


def operations_in(body: bytes, address: str, url: str, longest: int) -> list[Json]:
    """Takes seconds for a large document, so it runs in a thread. Raises Invalid."""
    root = document_in(body, f"What {redacted_url(address)} gives")
    return parsed(root, url, address, longest)


def parsed(root: Json, url: str, read_from: str, longest: int) -> list[Json]:
    try:
        operations = operations_of(root, url, read_from, longest)
    except RecursionError:
        raise Invalid("The document is nested too deeply.") from None
    if not operations:
        raise Invalid("The document names no operations.")
    return operations


async def fetched(address: str, url: str, headers: Mapping[str, str]) -> bytes:
    """The text of the document at this address; the headers go to the registered host alone."""
    check_address(address)
    ours = dict(headers) if same_origin(address, url) else {}
    shown = redacted_url(address)
    try:
        answer = await exchange(Request("GET", address, ours), LONGEST_DOCUMENT)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Invalid(f"{shown} could not be read: {say_broken(error)}.") from None
    except TimeoutError:
        raise Invalid(f"{shown} did not answer in time.") from None
    if answer.location:
        where = redacted_url(answer.location)[:200]
        raise Invalid(f"{shown} redirects to {where}, which is not followed.")
    if answer.status != 200:
        raise Invalid(f"{shown} answered {answer.status} {answer.reason}".rstrip() + ".")
    if not answer.is_whole:
        raise Invalid(f"The document at {shown} is longer than 20 MB.")
    return answer.body


def document_in(body: bytes, subject: str) -> Json:
    """Raises Invalid where it is not a JSON object. YAML is not read."""
    if has_more_values(body, MOST_VALUES):
        raise Invalid(f"{subject} has more than {MOST_VALUES:,} JSON values.")
    try:
        root = json.loads(body)
    except (ValueError, RecursionError):
        raise Invalid(f"{subject} is not JSON; a document in YAML has to be converted.") from None
    if not isinstance(root, dict):
        raise Invalid(f"{subject} is not an OpenAPI document but another JSON value.")
    return root


def say_broken(error: Exception) -> str:
    """Why it failed without the URL, which may hold a secret."""
    if isinstance(error, httpx.TimeoutException):
        return "it took too long"
    if isinstance(error, httpx.ConnectError):
        return "the connection failed"
    if isinstance(error, httpx.TransportError):
        return "the connection broke"
    return "its address or headers cannot be sent"
