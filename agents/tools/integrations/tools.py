"""The operations of registered services as tools, made from the stored rows alone."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from agents.db import in_db
from agents.errors import Invalid
from agents.models import OAuthLogin, ToolSource
from agents.statements import prepared
from agents.stored_text import gettext
from agents.telemetry.redaction import (
    passing_secrets,
    redact,
    redact_json,
    secrets_of_headers,
    secrets_of_settings,
    secrets_of_url,
)
from agents.tools.base import BETWEEN, Arguments, Tool, ToolFailed, ToolResult, longest_for
from agents.tools.integrations.mcp import READ_RESOURCE, Offer, RemoteTool, Server, call_tool
from agents.tools.integrations.openapi.http import call_operation
from agents.tools.integrations.openapi.requests import ReadFile, no_files
from agents.tools.integrations.openapi.schemas import mapping_or_empty
from agents.tools.progress import Hear, listener, listening

log = logging.getLogger(__name__)

Json = Mapping[str, object]


class Operation(NamedTuple):
    """A tool, and how it is run by an agent whose files it sends, if it sends any."""

    tool: Tool
    run_with: Callable[[ReadFile, Arguments], Awaitable[ToolResult]] | None


# Those of a source as it was at a time; a changed row has another time.
_made: dict[int, tuple[object, list[Operation]]] = {}


def source_tools(read_file: ReadFile = no_files) -> list[Tool]:
    """The operations of every source; `read_file` reads what they send."""
    return [
        replace(tool, run=partial(run_with, read_file)) if run_with else tool
        for operations in operations_by_source()
        for tool, run_with in operations
    ]


def operation_names() -> set[str]:
    return {tool.name for operations in operations_by_source() for tool, _ in operations}


@prepared
def changes_of_sources() -> QuerySet[ToolSource, tuple[int, datetime]]:
    return ToolSource.objects.order_by("name").values_list("pk", "updated_at")


def operations_by_source() -> list[list[Operation]]:
    stamps: dict[int, object] = dict(changes_of_sources.rows())
    changed = [pk for pk, stamp in stamps.items() if _made.get(pk, (None,))[0] != stamp]
    for source in ToolSource.objects.filter(pk__in=changed).defer("spec") if changed else ():
        reader = name_of_reader(source)
        allowed = allowed_tools(source)
        operations = [operation_of(source, stored, reader) for stored in allowed]
        _made[source.pk] = (stamps[source.pk], operations)
    for pk in set(_made) - set(stamps):
        del _made[pk]
    return [_made[pk][1] for pk in stamps if pk in _made]


def allowed_tools(source: ToolSource) -> list[dict[str, object]]:
    """What it offers, as far as it may be used here."""
    if source.allowed is None:
        return list(source.tools)
    named = set(source.allowed)
    patterns = [each for each in source.allowed if "*" in each]

    def is_allowed(name: str) -> bool:
        return name in named or any(fnmatchcase(name, each) for each in patterns)

    return [tool for tool in source.tools if is_allowed(str(tool["name"]))]


def name_of_reader(source: ToolSource) -> str:
    """The tool that reads what results of this source only name, if there is one."""
    offered = allowed_tools(source)
    readers = [each["name"] for each in offered if each.get("request") == READ_RESOURCE]
    return f"{source.name}{BETWEEN}{readers[0]}" if readers else ""


def operation_of(source: ToolSource, stored: Json, reader: str = "") -> Operation:
    """One operation of a source as it was stored."""
    fixed = FixedArguments.of(stored, source.inject)
    remote = RemoteTool(str(stored.get("remote")), str(stored.get("request") or ""), reader)

    async def changed(tools: Offer) -> None:
        await in_db(keep_offer, source, tools)

    async def run(read_file: ReadFile, arguments: Arguments) -> ToolResult:
        """Carry it out; no secret of the source is in what comes back. Raises ToolFailed."""
        secrets = await in_db(all_secrets_of, source)
        arguments = fixed.added_to(arguments)
        try:
            with listening(redacting(listener(), secrets)):
                if source.kind == ToolSource.Kind.MCP:
                    result = await call_tool(server_of(source), remote, arguments, changed)
                else:
                    result = await call_operation(
                        stored, arguments, source.headers, source.timeout_s, read_file
                    )
            secrets |= await in_db(all_secrets_of, source)  # tokens may have been renewed meanwhile
        except ToolFailed as failure:
            secrets |= await in_db(all_secrets_of, source)
            facts = mapping_or_empty(redact_json(failure.facts, secrets))
            raise ToolFailed(redact(str(failure), secrets), facts) from None
        return replace(
            result,
            text=redact(result.text, secrets),
            body=None if result.body is None else redact(result.body, secrets),
            data=redact_json(result.data, secrets),
        )

    tool = Tool(
        name=f"{source.name}{BETWEEN}{stored['name']}",
        description=str(stored["description"]),
        parameters=fixed.hidden_in(mapping_or_empty(stored["parameters"])),
        run=partial(run, no_files),
        read_only=source.trusts_hints and bool(stored["read_only"]),
        idempotent=source.trusts_hints and bool(stored["idempotent"]),
        sends_files=bool(stored.get("files")),
        origin=[source.url, source.command, source.inject, stored],
    )
    return Operation(tool, run if tool.sends_files else None)


def redacting(hear: Hear, secrets: set[str]) -> Hear:
    """What is said of how far a call is, without secrets."""
    return lambda words: hear(redact(words, secrets | passing_secrets()))


def all_secrets_of(source: ToolSource) -> set[str]:
    """With the tokens of its sign-in, if it has one."""
    if not source.sign_in and not source.client_id:
        return secrets_of(source)
    return secrets_of(source) | secrets_of_login(source) | passing_secrets()


def secrets_of(source: ToolSource) -> set[str]:
    headers = {str(name): str(value) for name, value in source.headers.items()}
    settings = [*source.inject.values(), *(headers.values() if source.command else ())]
    settings.append(source.client_secret)
    sent = set() if source.command else secrets_of_headers(headers)
    return sent | secrets_of_settings(settings) | secrets_of_url(source.url)


def secrets_of_login(source: ToolSource) -> set[str]:
    """What a server that we are signed in to might repeat."""
    login = OAuthLogin.objects.filter(source=source).first()
    if login is None:
        return set()
    kept = {**login.client, **login.tokens}
    return secrets_of_settings(
        kept.get(name) for name in ("client_secret", "access_token", "refresh_token")
    )


def server_of(source: ToolSource) -> Server:
    return Server(
        source.name,
        source.command,
        source.url,
        headers=tuple((str(name), str(value)) for name, value in source.headers.items()),
        seconds=source.timeout_s,
        longest_name=longest_for(source.name),
        signed_in=source.sign_in == ToolSource.SignIn.CONNECTED,
    )


# What a source offers, as it is stored.


def keep_offer(source: ToolSource, tools: Offer) -> None:
    """What a server says that it offers from now on; grants stay as they are."""
    known = same_server(source).first()
    if known is None or known.headers != source.headers or known.tools == tools:
        return
    try:
        check_inject(known, tools)
    except Invalid as refusal:
        store(known, {"error": str(refusal)})
        return
    log.debug("service %s offers other tools than before", known.name)
    store(known, {"tools": tools, "error": ""})


def check_inject(source: ToolSource, tools: Offer) -> None:
    """Raises Invalid: an argument that is misspelt would be left to the model."""
    unknown = set(source.inject)
    for tool in tools:
        fixed = FixedArguments.of(tool, source.inject)
        unknown -= {*fixed.own, *fixed.inner}
    if unknown:
        raise Invalid(
            gettext("No operation of {name} takes {unknown}.").format(
                name=source.name, unknown=", ".join(sorted(unknown))
            ),
            field="inject",
        )


def store(source: ToolSource, changes: Mapping[str, object]) -> ToolSource:
    """Into the row, if it is still there and still of this server."""
    changes = {**changes, "updated_at": timezone.now()}
    same_server(source).update(**changes)
    for field, value in changes.items():
        setattr(source, field, value)
    return source


def same_server(source: ToolSource) -> QuerySet[ToolSource]:
    """Its row, unless that is of another address by now."""
    return ToolSource.objects.filter(pk=source.pk, url=source.url, command=source.command)


# Arguments that an admin has set for good: filled in, and never shown to a model.


@dataclass(frozen=True)
class FixedArguments:
    """What is filled in: arguments of the operation itself, and fields of its body.

    `is_whole_body` when every field of the body is filled in.
    """

    own: dict[str, object]
    inner: dict[str, object]
    body: str
    is_whole_body: bool

    @classmethod
    def of(cls, stored: Json, inject: Json) -> FixedArguments:
        """What of `inject` a stored operation takes, in the types it wants."""
        body = str(stored.get("body") or "")
        fields = properties_of(mapping_or_empty(stored["parameters"]))
        inside = properties_of(mapping_or_empty(fields.pop(body, {})))
        own = {name: converted(inject[name], fields[name]) for name in inject if name in fields}
        rest = [name for name in inject if name in inside and name not in own]
        inner = {name: converted(inject[name], inside[name]) for name in rest}
        return cls(own, inner, body, bool(inside) and set(rest) == set(inside))

    def hidden_in(self, parameters: Json) -> dict[str, object]:
        """The schema for the model. A body of which nothing is left is not shown either."""
        fields = properties_of(parameters)
        hidden = {*self.own}
        if self.inner:
            fields[self.body] = without(mapping_or_empty(fields[self.body]), {*self.inner})
            hidden |= {self.body} if self.is_whole_body else set()
        return without({**parameters, "properties": fields}, hidden)

    def added_to(self, arguments: Arguments) -> Arguments:
        """The arguments of a call with what is filled in, whatever the model wrote there."""
        whole = {**arguments, **self.own}
        body = whole.get(self.body, {} if self.is_whole_body else None)
        if self.inner and isinstance(body, dict):
            whole[self.body] = {**body, **self.inner}
        return whole


def properties_of(schema: Json) -> dict[str, object]:
    return dict(mapping_or_empty(schema.get("properties")))


def without(schema: Json, hidden: set[str]) -> dict[str, object]:
    """An object schema without some of its properties."""
    fields = {name: each for name, each in properties_of(schema).items() if name not in hidden}
    whole = {**schema, "properties": fields}
    if isinstance(required := schema.get("required"), list):
        whole["required"] = [name for name in required if name not in hidden]
    return whole


def converted(value: object, schema: object) -> object:
    """An injected text as the number, flag or list that the schema asks for."""
    kinds = mapping_or_empty(schema).get("type")
    wanted = {str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind}
    if not isinstance(value, str) or "string" in wanted or not wanted - {"null"}:
        return value
    try:
        parsed: object = json.loads(value)
    except ValueError:
        return value
    return parsed
