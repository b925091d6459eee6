"""From a registered address to the operations that its document offers."""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx

from agents.errors import Invalid
from agents.tools.openapi.addresses import check_address, document_address, same_origin
from agents.tools.openapi.operations import operations_of
from agents.tools.openapi.references import Json
from agents.tools.openapi.requests import Request
from agents.tools.openapi.wire import exchange
from agents.tools.secrets import shown_url

LONGEST_DOCUMENT = 20 * 1024 * 1024


async def read_operations(
    url: str, spec: object, headers: Mapping[str, str], longest: int
) -> list[Json]:
    """What the service offers. `spec` is the document, its URL, or nothing. Raises Invalid."""
    check_address(url)
    if isinstance(spec, dict):
        return parsed(spec, url, "", longest)
    address = spec if isinstance(spec, str) and spec else document_address(url)
    return parsed(await fetched(address, url, headers), url, address, longest)


def parsed(root: Json, url: str, read_from: str, longest: int) -> list[Json]:
    try:
        operations = operations_of(root, url, read_from, longest)
    except RecursionError:
        raise Invalid("The document is nested too deeply.") from None
    if not operations:
        raise Invalid("The document names no operations.")
    return operations


async def fetched(address: str, url: str, headers: Mapping[str, str]) -> Json:
    """The document at this address; the headers go to the registered host alone."""
    check_address(address)
    ours = dict(headers) if same_origin(address, url) else {}
    shown = shown_url(address)
    try:
        answer = await exchange(Request("GET", address, ours), LONGEST_DOCUMENT)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Invalid(f"{shown} could not be read: {say_broken(error)}.") from None
    except TimeoutError:
        raise Invalid(f"{shown} did not answer in time.") from None
    if answer.location:
        where = shown_url(answer.location)[:200]
        raise Invalid(f"{shown} redirects to {where}, which is not followed.")
    if answer.status != 200:
        raise Invalid(f"{shown} answered {answer.status} {answer.reason}".rstrip() + ".")
    if not answer.is_whole:
        raise Invalid(f"The document at {shown} is longer than 20 MB.")
    return document_in(answer.body, f"What {shown} gives")


def document_in(body: bytes, subject: str) -> Json:
    """Raises Invalid where it is not a JSON object. YAML is not read."""
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
