"""The operations of registered services as tools, made from the stored rows alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from agents.config.tool_names import BETWEEN
from agents.models import ToolSource
from agents.statements import fetch_all
from agents.telemetry.redaction import (
    redact,
    redact_json,
    secrets_of_headers,
    secrets_of_settings,
    secrets_of_url,
)
from agents.tools.base import Arguments, Tool, ToolFailed, ToolResult
from agents.tools.integrations.fixed_arguments import Injection, injection_for, mapping
from agents.tools.integrations.mcp import Server, call_tool
from agents.tools.integrations.openapi.client import call_operation

MOST_OFFERED = 200  # operations of one source, unless a grant names more of them

Json = Mapping[str, object]

# Tools of a source as it was at a time; a changed row has another time.
_made: dict[int, tuple[object, list[Tool]]] = {}
STAMPS = "SELECT id, updated_at FROM agents_toolsource ORDER BY name"


def source_tools(named: Collection[str] = ()) -> list[Tool]:
    """The first 200 operations of every source, and each further one that is named."""
    offered: list[Tool] = []
    for tools in tools_by_source():
        offered += tools[:MOST_OFFERED]
        offered += [tool for tool in tools[MOST_OFFERED:] if tool.name in named]
    return offered


def operation_names() -> set[str]:
    return {tool.name for tools in tools_by_source() for tool in tools}


def tools_by_source() -> list[list[Tool]]:
    stamps: dict[int, object] = dict(fetch_all(STAMPS))
    changed = [pk for pk, stamp in stamps.items() if _made.get(pk, (None,))[0] != stamp]
    for source in ToolSource.objects.filter(pk__in=changed).defer("spec"):
        _made[source.pk] = (stamps[source.pk], tools_of(source))
    for pk in set(_made) - set(stamps):
        del _made[pk]
    return [_made[pk][1] for pk in stamps if pk in _made]


def tools_of(source: ToolSource) -> list[Tool]:
    return [tool_of(Operation(source, stored)) for stored in source.tools]


def tool_of(operation: Operation) -> Tool:
    stored = operation.stored
    return Tool(
        name=f"{operation.source.name}{BETWEEN}{stored['name']}",
        description=str(stored["description"]),
        parameters=operation.injection.shown(mapping(stored["parameters"])),
        run=operation.run,
        read_only=operation.source.trusts_hints and bool(stored["read_only"]),
        idempotent=operation.source.trusts_hints and bool(stored["idempotent"]),
    )


@dataclass(frozen=True)
class Operation:
    """One operation of a source as it was stored."""

    source: ToolSource
    stored: Json

    async def run(self, arguments: Arguments) -> ToolResult:
        """Carry it out; no secret of the source is in what comes back. Raises ToolFailed."""
        secrets = secrets_of(self.source)
        try:
            result = await self.called(arguments)
        except ToolFailed as failure:
            facts = mapping(redact_json(failure.facts, secrets))
            raise ToolFailed(redact(str(failure), secrets), facts) from None
        return replace(
            result,
            text=redact(result.text, secrets),
            body=None if result.body is None else redact(result.body, secrets),
            data=redact_json(result.data, secrets),
        )

    async def called(self, arguments: Arguments) -> ToolResult:
        source, arguments = self.source, self.injection.into(arguments)
        if source.kind == ToolSource.Kind.MCP:
            return await call_tool(server_of(source), str(self.stored["remote"]), arguments)
        return await call_operation(self.stored, arguments, source.headers, source.timeout_s)

    @property
    def injection(self) -> Injection:
        return injection_for(self.stored, self.source.inject)


def secrets_of(source: ToolSource) -> set[str]:
    headers = {str(name): str(value) for name, value in source.headers.items()}
    settings = [*source.inject.values(), *(headers.values() if source.command else ())]
    sent = set() if source.command else secrets_of_headers(headers)
    return sent | secrets_of_settings(settings) | secrets_of_url(source.url)


def server_of(source: ToolSource) -> Server:
    headers = tuple((str(name), str(value)) for name, value in source.headers.items())
    return Server(source.name, source.command, source.url, headers, source.timeout_s)
