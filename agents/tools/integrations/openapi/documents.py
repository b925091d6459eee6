"""From a registered address to the operations of its document.

The document is parsed by a process of its own (parser.py): a parser written in C keeps every thread
of its process waiting, 0.5 s for the 13 MB of GitHub's, and YAML can be written to exhaust one.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx

from agents.errors import Invalid
from agents.normalization import split_url
from agents.pools import FILES
from agents.stored_text import gettext
from agents.telemetry.redaction import redacted_url
from agents.tools.integrations.openapi.addresses import PORTS, joined, same_origin, split
from agents.tools.integrations.openapi.http import exchange, failure_reason
from agents.tools.integrations.openapi.operations import Found
from agents.tools.integrations.openapi.parser import Job
from agents.tools.integrations.openapi.requests import Request

LONGEST_DOCUMENT = 20 * 1024 * 1024
# Seconds: 13 MB of YAML take 40.
PARSING = 90.0
PARSER = (sys.executable, "-P", "-m", "agents.tools.integrations.openapi.parser")
PACKAGES = Path(__file__).parents[4]
DOCUMENTS = (".json", ".yaml", ".yml")


def check_address(url: str) -> None:
    """Raises Invalid unless it is an http or https URL with a host."""
    try:
        parts = split_url(url)
    except ValueError:
        raise Invalid(gettext("The address of a service is not a URL.")) from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise Invalid(
            gettext("The address of a service starts with http:// or https:// and names a host.")
        )


async def read_operations(
    url: str, spec: object, headers: Mapping[str, str], longest: int
) -> Found:
    """What the service offers. `spec` is the document, its URL, or nothing: then it is at

    `<url>/openapi.json`, or the URL is that of the document. Raises Invalid.
    """
    check_address(url)
    if isinstance(spec, dict):
        text = await FILES.run(json.dumps, spec)
        return await parsed(text.encode(), Job(gettext("The document"), url, "", longest))
    if isinstance(spec, str) and spec:
        return await read_from(spec, url, headers, longest)
    if split(url).path.lower().endswith(DOCUMENTS):
        return await read_from(url, joined(url, "/"), headers, longest, is_document=True)
    try:
        return await read_from(url.rstrip("/") + "/openapi.json", url, headers, longest)
    except Invalid as refusal:
        try:
            return await read_from(url, joined(url, "/"), headers, longest, is_document=True)
        except Invalid:
            raise refusal from None


async def read_from(
    address: str, url: str, headers: Mapping[str, str], longest: int, *, is_document: bool = False
) -> Found:
    body = await fetch_document(address, url, headers)
    subject = gettext("What {address} gives").format(address=redacted_url(address))
    return await parsed(body, Job(subject, url, address, longest, is_document))


async def fetch_document(address: str, url: str, headers: Mapping[str, str]) -> bytes:
    """The text of the document at this address; the headers go to the registered host alone."""
    check_address(address)
    own_headers = dict(headers) if same_origin(address, url) else {}
    place = redacted_url(address)
    try:
        answer = await exchange(Request("GET", address, own_headers), LONGEST_DOCUMENT)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Invalid(
            gettext("{place} could not be read: {error}.").format(
                place=place, error=gettext(failure_reason(error))
            )
        ) from None
    except TimeoutError:
        raise Invalid(gettext("{place} did not answer in time.").format(place=place)) from None
    if answer.location:
        where = redacted_url(answer.location)[:200]
        raise Invalid(
            gettext("{place} redirects to {where}, which is not followed.").format(
                place=place, where=where
            )
        )
    if answer.status != 200:
        status = f"{answer.status} {answer.reason}".rstrip()
        raise Invalid(gettext("{place} answered {status}.").format(place=place, status=status))
    if not answer.is_whole:
        raise Invalid(gettext("The document at {place} is longer than 20 MB.").format(place=place))
    return answer.body


async def parsed(body: bytes, job: Job) -> Found:
    """What the parser's process makes of it. Raises Invalid."""
    process = await asyncio.create_subprocess_exec(
        *PARSER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.defpath, "PYTHONPATH": str(PACKAGES), "PYTHONUTF8": "1"},
    )
    try:
        async with asyncio.timeout(PARSING):
            written, _ = await process.communicate(job.line() + body)
    except TimeoutError:
        raise Invalid(
            gettext("{subject} takes more than {seconds:g} seconds to parse.").format(
                subject=job.subject, seconds=PARSING
            )
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:  # it went beyond what it may take
        raise Invalid(
            gettext("{subject} is nested too deeply or too large to be parsed.").format(
                subject=job.subject
            )
        )
    return await FILES.run(found_in, written)


def found_in(written: bytes) -> Found:
    """Line by line, so that other threads get their turns in between."""
    head, *lines = written.splitlines()
    told = json.loads(head)
    if "refused" in told:
        raise Invalid(told["refused"])
    return Found([json.loads(line) for line in lines], told["skipped"])
