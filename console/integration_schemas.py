"""A registered service as the API and the commands show it: with the names of its secrets alone."""

from __future__ import annotations

from pydantic import BaseModel

from agents.models import ToolSource
from agents.telemetry.redaction import redacted_url
from agents.timestamps import timestamp
from agents.tools.base import BETWEEN
from agents.tools.integrations.actions import note_on
from agents.tools.integrations.tools import allowed_tools


class ToolShape(BaseModel):
    """`read_only` is what counts, `says_read_only` what the service says of itself. One that is not
    `allowed` is no tool here."""

    name: str
    description: str
    allowed: bool
    read_only: bool
    says_read_only: bool


class SkippedShape(BaseModel):
    """An operation of the document that is not offered, and why."""

    operation: str
    why: str


class SourceShape(BaseModel):
    """`url` and `command` are null for people who are no admins.

    `sign_in` is for MCP servers that want one: wanted, connected or ended; else empty. `client_id`
    is what somebody registered for us there; its secret is only said to be set. `allowed` are the
    operations that may be used here, with * for any characters; empty means all of them.
    """

    name: str
    kind: str
    url: str | None
    command: str | None
    headers: list[str]
    inject: list[str]
    timeout_s: int
    trusts_hints: bool
    allowed: list[str]
    client_id: str | None
    has_client_secret: bool
    sign_in: str
    tools: list[ToolShape]
    skipped: list[SkippedShape]
    error: str
    note: str
    updated_at: str

    @property
    def allowed_lines(self) -> str:
        return "\n".join(self.allowed)


def shape(source: ToolSource, *, for_admin: bool = True) -> SourceShape:
    allowed = {tool["name"] for tool in allowed_tools(source)}
    return SourceShape(
        name=source.name,
        kind=source.kind,
        url=redacted_url(source.url) if for_admin else None,
        command=source.command if for_admin else None,
        headers=sorted(source.headers) if for_admin else [],
        inject=sorted(source.inject) if for_admin else [],
        timeout_s=source.timeout_s,
        trusts_hints=source.trusts_hints,
        allowed=source.allowed or [],
        client_id=source.client_id if for_admin else None,
        has_client_secret=for_admin and bool(source.client_secret),
        sign_in=source.sign_in,
        tools=[
            ToolShape(
                name=f"{source.name}{BETWEEN}{tool['name']}",
                description=str(tool["description"]),
                allowed=tool["name"] in allowed,
                read_only=source.trusts_hints and bool(tool["read_only"]),
                says_read_only=bool(tool["read_only"]),
            )
            for tool in source.tools
        ],
        skipped=[SkippedShape(**each) for each in source.skipped],
        error=source.error if for_admin or not source.error else "It could not be asked.",
        note=note_on(source),
        updated_at=timestamp(source.updated_at),
    )
