"""/api/tools: registered services. Everybody sees their tools; admins add, remove and test."""

from __future__ import annotations

from typing import Annotated

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Router
from ninja.responses import Status
from pydantic import ConfigDict, Field, JsonValue

from agents.errors import Invalid
from agents.models import ToolSource
from agents.tools.integrations import actions
from agents.tools.integrations.changes import MOST_PATTERNS, SourceEdit, change_source
from console.api.auth import person
from console.api.fields import Flag, Headers, Json, NotBlank, ShortName, WebAddress, Whole
from console.api.shapes import Body, Page, answers
from console.auth.admins import demand_admin
from console.integration_schemas import SourceShape, shape

router = Router(tags=["tools"])


AN_ADDRESS: Json = {"type": "string", "pattern": r"^https?://[A-Za-z0-9]", "maxLength": 2000}
NOTHING: Json = {"type": "string", "maxLength": 0}
IS_OPENAPI: Json = {"properties": {"kind": {"const": "openapi"}}}
HAS_COMMAND: Json = {
    "properties": {"command": {"type": "string", "minLength": 1}},
    "required": ["command"],
}
AT_ADDRESS: Json = {
    "properties": {"kind": {"const": "mcp"}, "url": AN_ADDRESS},
    "required": ["url"],
}
HAS_CLIENT: Json = {
    "properties": {"client_id": {"type": "string", "minLength": 1}},
    "required": ["client_id"],
}
# A service has an address, or an MCP server a command instead; only OpenAPI has a document.
ONE_WAY: Json = {
    "if": HAS_COMMAND,
    "then": {"properties": {"url": NOTHING, "kind": {"const": "mcp"}}},
    "else": {"properties": {"url": AN_ADDRESS}, "required": ["url"]},
    "anyOf": [IS_OPENAPI, {"properties": {"spec": {"type": "null"}}}],
    "allOf": [
        {"anyOf": [AT_ADDRESS, {"properties": {"client_id": NOTHING, "client_secret": NOTHING}}]},
        {"anyOf": [HAS_CLIENT, {"properties": {"client_secret": NOTHING}}]},
    ],
}
ADDRESS_OR_COMMAND: Json = {
    "anyOf": [{"properties": {name: {"type": "null"}}} for name in ("url", "command")]
}


ClientText = Annotated[
    str, Field(json_schema_extra={"pattern": "^[ -~]*$", "maxLength": actions.LONGEST_CLIENT})
]


class NewSource(Body):
    """`url` for an OpenAPI service or an MCP server over HTTP, `command` for one over stdio.

    `headers` are written, never shown; for a command they are its environment variables.
    With `trusts_hints` its tools that it says only read count as such: they are offered beside a
    running plan and repeated after a crash. `spec` is the OpenAPI document or its URL, where it is
    not at `<url>/openapi.json`. `client_id` and `client_secret` are for an MCP server that has
    people sign in and registers no program by itself.
    """

    model_config = ConfigDict(json_schema_extra=ONE_WAY)

    name: ShortName
    kind: ToolSource.Kind
    url: str = ""
    command: str = ""
    spec: WebAddress | dict[str, JsonValue] | None = None
    headers: Headers = {}
    inject: dict[str, JsonValue] = {}
    timeout_s: Annotated[
        Whole, Field(json_schema_extra={"minimum": 1, "maximum": actions.LONGEST_WAIT})
    ] = 60
    trusts_hints: Flag = False
    client_id: ClientText = ""
    client_secret: ClientText = ""


class SourceChange(Body):
    """What is not named stays. `headers` and `inject` are the whole list; of another server they,
    and `client_secret`, have to be given again. `url` and `command` take each other's place.
    `allowed` are the operations that may be used, with * for any characters; empty means all.
    """

    model_config = ConfigDict(json_schema_extra=ADDRESS_OR_COMMAND)

    url: Annotated[str, Field(json_schema_extra=AN_ADDRESS)] | None = None
    command: NotBlank | None = None
    spec: WebAddress | dict[str, JsonValue] | None = None
    headers: Headers | None = None
    inject: dict[str, JsonValue] | None = None
    timeout_s: (
        Annotated[Whole, Field(json_schema_extra={"minimum": 1, "maximum": actions.LONGEST_WAIT})]
        | None
    ) = None
    trusts_hints: Flag | None = None
    allowed: Annotated[list[str], Field(max_length=MOST_PATTERNS)] | None = None
    client_id: ClientText | None = None
    client_secret: ClientText | None = None


@router.get("", response=answers(Page[SourceShape]))
def list_tools(request: HttpRequest) -> HttpResponse:
    is_admin = person(request).is_superuser
    items = [shape(source, for_admin=is_admin).model_dump() for source in actions.list_sources()]
    return JsonResponse({"items": items, "count": len(items)})


@router.post("", response=answers(SourceShape, 409, status=201))
async def add_tools(request: HttpRequest, body: NewSource) -> HttpResponse:
    """Register a service and ask it what it offers; one that cannot be asked is not kept."""
    by = demand_admin(person(request), "services")
    source = await sync_to_async(actions.add_source)(**body.model_dump(), by=by)
    return response_of(await actions.register(source, by), 201)


@router.post("/{name}/test", response=answers(SourceShape, 404))
async def test_tools(request: HttpRequest, name: str) -> HttpResponse:
    """Ask it again; `error` says why it could not be asked, and what was known stays."""
    demand_admin(person(request), "services")
    source = await sync_to_async(actions.source_named)(name)
    return response_of(await actions.refresh_source(source))


@router.patch("/{name}", response=answers(SourceShape, 404, 409))
async def change_tools(request: HttpRequest, name: str, body: SourceChange) -> HttpResponse:
    """Another address, other headers: it is asked at once, and changed only if it answers."""
    by = demand_admin(person(request), "services")
    fields = body.model_dump()
    url, command = fields.pop("url"), fields.pop("command")
    if url and command:
        raise Invalid("Name a URL, or for an MCP server a command instead.")
    edit = SourceEdit(where=url or command, **fields)
    return response_of(await change_source(name, edit, by))


@router.delete("/{name}", response=answers(None, 404, status=204))
def remove_tools(request: HttpRequest, name: str) -> Status[None]:
    actions.remove_source(name, demand_admin(person(request), "services"))
    return Status(204, None)


def response_of(source: ToolSource, status: int = 200) -> HttpResponse:
    return JsonResponse(shape(source).model_dump(), status=status)
