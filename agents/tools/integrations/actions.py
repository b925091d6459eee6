"""What may happen to registered services. For admins only: a command runs on the server."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping

from django.db import IntegrityError, transaction

from agents.db import in_db
from agents.errors import Conflict, Invalid, NotFound, Refused, about
from agents.models import ToolSource
from agents.pools import FILES
from agents.stored_text import gettext
from agents.telemetry.redaction import redact
from agents.tools.base import BUILT_IN, longest_for
from agents.tools.integrations import mcp
from agents.tools.integrations.openapi.documents import check_address, read_operations
from agents.tools.integrations.tools import (
    all_secrets_of,
    allowed_tools,
    check_inject,
    server_of,
    store,
)

log = logging.getLogger(__name__)

LONGEST_NAME = 32
LONGEST_WAIT = 600
LONGEST_CLIENT = 500
NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")

# A source's name is a word in grants: it may not be that of a tool, nor of a group of tools.
TAKEN = {*BUILT_IN, *(tool.group for tool in BUILT_IN.values()), "plan"}


def list_sources() -> list[ToolSource]:
    return list(ToolSource.objects.order_by("name").defer("spec"))


def source_named(name: str) -> ToolSource:
    source = ToolSource.objects.filter(name=name).first()
    if source is None:
        raise NotFound(
            gettext("No service is registered as {name!r}.").format(name=name[:LONGEST_NAME])
        )
    return source


def add_source(
    name: str,
    *,
    kind: str,
    url: str = "",
    command: str = "",
    spec: object = None,
    headers: Mapping[str, str] | None = None,
    inject: Mapping[str, object] | None = None,
    timeout_s: int = 60,
    trusts_hints: bool = False,
    client_id: str = "",
    client_secret: str = "",
    by: str,
) -> ToolSource:
    """Register a service. It is not asked yet what it offers: `refresh_source` does that."""
    source = ToolSource(
        name=name,
        kind=kind,
        url=url,
        command=command,
        spec=spec,
        headers=dict(headers or {}),
        inject=dict(inject or {}),
        timeout_s=timeout_s,
        trusts_hints=trusts_hints,
        client_id=client_id,
        client_secret=client_secret,
    )
    check(source)
    try:
        with transaction.atomic():
            source.save()
    except IntegrityError:
        raise Conflict(
            gettext("A service is already registered as {name!r}; remove it first.").format(
                name=name
            ),
            field="name",
        ) from None
    log.debug("service %s (%s) added by %s", name, kind, by)
    return source


def check(source: ToolSource) -> None:
    """Raises Invalid for what cannot be registered, and Conflict for a name that is taken.

    No message names a header's value.
    """
    check_name(source.name)
    check_place(source)
    check_headers(source)
    check_spec(source)
    if not 1 <= source.timeout_s <= LONGEST_WAIT:
        raise Invalid(
            gettext("A call may take between 1 and {most} seconds.").format(most=LONGEST_WAIT),
            field="timeout_s",
        )
    check_client(source)


@about("name")
def check_name(name: str) -> None:
    if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise Invalid(
            gettext(
                "A service's name is 1 to {most} small letters and digits, with single - "
                "or _ between them."
            ).format(most=LONGEST_NAME)
        )
    if name.replace("-", "_") in TAKEN:
        raise Conflict(
            gettext("{name} is the name of a tool that is built in; choose another.").format(
                name=name
            )
        )


@about("where")
def check_place(source: ToolSource) -> None:
    url, command = source.url, source.command
    if source.kind not in ToolSource.Kind.values:
        raise Invalid(gettext("A service is of kind openapi or mcp."), field="kind")
    is_openapi = source.kind == ToolSource.Kind.OPENAPI
    if bool(url) == bool(command) or (command and is_openapi):
        raise Invalid(gettext("Name a URL, or for an MCP server a command instead."))
    if url:
        check_address(url)
    if len(url) > 2000 or not url.isprintable() or "\0" in command:
        raise Invalid(gettext("The URL or command contains what cannot be in one."))


@about("spec")
def check_spec(source: ToolSource) -> None:
    is_openapi = source.kind == ToolSource.Kind.OPENAPI
    if source.spec is not None and not (is_openapi and isinstance(source.spec, dict)):
        if not is_openapi or not isinstance(source.spec, str):
            raise Invalid(
                gettext("A spec is the URL of an OpenAPI document, or the document itself.")
            )
        check_address(source.spec)


@about("headers")
def check_headers(source: ToolSource) -> None:
    """Those of an address, or the environment of a command."""
    command = source.command
    for key, value in source.headers.items():
        if not (VARIABLE if command else HEADER).fullmatch(key):
            sentence = gettext("{key!r} cannot be the name of a header.")
            if command:
                sentence = gettext("{key!r} cannot be the name of an environment variable.")
            raise Invalid(sentence.format(key=key[:100]))
        if "\0" in value or (not command and not (value.isascii() and value.isprintable())):
            raise Invalid(
                gettext(
                    "The value of {key} has to be printable ASCII characters on one line."
                ).format(key=key)
            )


@about("client_id")
def check_client(source: ToolSource) -> None:
    id, secret = source.client_id, source.client_secret
    if (id or secret) and not (source.kind == ToolSource.Kind.MCP and source.url):
        raise Invalid(gettext("A client ID is for MCP servers at an address."))
    if secret and not id:
        raise Invalid(gettext("A client secret goes with a client ID."))
    for name, text in (("client_id", id), ("client_secret", secret)):
        if len(text) > LONGEST_CLIENT or not (text.isascii() and text.isprintable()):
            raise Invalid(
                gettext("Client ID and secret are up to {most} printable characters.").format(
                    most=LONGEST_CLIENT
                ),
                field=name,
            )


def trust_hints(name: str, trusted: bool, by: str) -> ToolSource:
    """Whether it may say itself which of its tools only read or may be repeated."""
    source = source_named(name)
    log.debug("the hints of service %s are trusted: %s, by %s", name, trusted, by)
    return store(source, {"trusts_hints": trusted})


def remove_source(name: str, by: str) -> None:
    """Its tools are gone at once; a connection to it is closed."""
    source_named(name).delete()
    mcp.forget(name)
    log.debug("service %s removed by %s", name, by)


async def register(source: ToolSource, by: str) -> ToolSource:
    """The first look at a new source: one that cannot be asked is not kept. Raises Conflict.

    One that wants somebody to sign in is: that is the next step.
    """
    try:
        source = await refresh_source(source)
    except asyncio.CancelledError:  # who added it went away before it answered
        await in_db(remove_source, source.name, by)
        raise
    if source.error and not source.sign_in:
        await in_db(remove_source, source.name, by)
        raise Conflict(source.error, field="where")
    return source


async def refresh_source(source: ToolSource) -> ToolSource:
    """Ask it what it offers and store that; if it cannot be asked, what is known stays."""
    return await in_db(store, source, await answer_of(source))


async def answer_of(source: ToolSource) -> dict[str, object]:
    """What it says that it offers, or why it cannot be asked: what changes in its row."""
    longest = longest_for(source.name)
    skipped: list[dict[str, str]] = []
    try:
        if source.kind == ToolSource.Kind.MCP:
            tools = await mcp.list_tools(server_of(source))
        else:
            found = await read_operations(source.url, source.spec, source.headers, longest)
            tools, skipped = found
        await FILES.run(check_inject, source, tools)
        return {"tools": tools, "skipped": skipped, "error": ""}
    except Refused as refusal:
        error = redact(str(refusal), await in_db(all_secrets_of, source))
        if not isinstance(refusal, mcp.SignInNeeded):
            return {"error": error}
        ended = source.sign_in and source.sign_in != ToolSource.SignIn.WANTED
        sign_in = ToolSource.SignIn.ENDED if ended else ToolSource.SignIn.WANTED
        return {"error": error, "sign_in": sign_in}


def note_on(source: ToolSource) -> str:
    """What somebody who grants its tools should know, if anything."""
    offered = len(allowed_tools(source))
    whole = len(source.tools) + len(source.skipped)
    if offered == whole:
        return ""
    sentence = gettext(
        "{offered:,} of {whole:,} operations are offered; the others are not allowed here."
    )
    if source.skipped:
        sentence = gettext(
            "{offered:,} of {whole:,} operations are offered; the others are not usable."
        )
    if source.skipped and offered < len(source.tools):
        sentence = gettext(
            "{offered:,} of {whole:,} operations are offered; the others are not usable or not "
            "allowed here."
        )
    return sentence.format(offered=offered, whole=whole)
