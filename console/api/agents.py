"""/api/agents: agent.json over HTTP."""

from __future__ import annotations

import json
from typing import Annotated

from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Body, Header, Router
from ninja.responses import Status
from pydantic import JsonValue, WithJsonSchema

from agents.config import store as agent_file
from agents.config.ownership import agent_of, agents_of, make_agent
from agents.config.store import AgentRecord
from agents.errors import Invalid
from agents.leaving import delete_agent as delete
from console.api.auth import person
from console.api.shapes import AgentShape, Page, answers

router = Router(tags=["agents"])
Document = dict[str, JsonValue]
Written = Annotated[Document, Body(description="agent.json, or a part of it")]
A_NAMED_ONE: Document = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}},
    "additionalProperties": True,
}
New = Annotated[Document, WithJsonSchema(A_NAMED_ONE), Body(description="agent.json")]
Digest = Annotated[str | None, Header(alias="If-Match", description="ETag of the file as read")]

# About the file, not in it: what GET answers can be sent back by PUT as it is.
REMARKS = ("problem", "problem_line", "warning")


@router.get("", response=answers(Page[AgentShape]))
def list_agents(request: HttpRequest) -> HttpResponse:
    agents = agents_of(person(request))
    return JsonResponse({"items": [document_of(agent) for agent in agents], "count": len(agents)})


@router.post("", response=answers(AgentShape, 409, status=201))
def create_agent(request: HttpRequest, body: New) -> HttpResponse:
    """`id` names its folder; everything else has a default."""
    agent_id = body.get("id")
    if not isinstance(agent_id, str):
        raise Invalid("id is missing: it names the agent's folder.")
    values = {key: value for key, value in without_remarks(body).items() if key != "id"}
    by = person(request)
    agent = make_agent(by, agent_id, lambda: agent_file.create_agent(agent_id, values))
    return response_of(agent, status=201)


@router.get("/{agent_id}", response=answers(AgentShape, 404))
def get_agent(request: HttpRequest, agent_id: str) -> HttpResponse:
    return response_of(agent_of(person(request), agent_id))


@router.patch("/{agent_id}", response=answers(AgentShape, 404, 409, 412))
def change_agent(
    request: HttpRequest, agent_id: str, body: Written, if_match: Digest = None
) -> HttpResponse:
    """A merge-patch (RFC 7396): only these keys of the file change; null takes one away."""
    agent = agent_of(person(request), agent_id)
    return response_of(agent_file.change_agent(agent.id, without_remarks(body), bare(if_match)))


@router.put("/{agent_id}", response=answers(AgentShape, 404, 409, 412))
def replace_agent(
    request: HttpRequest, agent_id: str, body: Written, if_match: Digest = None
) -> HttpResponse:
    """The whole file; a broken one is replaced too."""
    agent = agent_of(person(request), agent_id)
    text = json.dumps({"id": agent.id, **without_remarks(body)}, indent=2, ensure_ascii=False)
    return response_of(agent_file.replace_agent_text(agent.id, text + "\n", bare(if_match)))


@router.delete("/{agent_id}", response=answers(None, 404, 409, status=204))
def delete_agent(request: HttpRequest, agent_id: str) -> Status[None]:
    """Its folder goes to the trash beside the others; its conversations stay.

    409 while it is at work, naming on what.
    """
    delete(agent_of(person(request), agent_id).id, person(request))
    return Status(204, None)


def response_of(agent: AgentRecord, status: int = 200) -> HttpResponse:
    response = JsonResponse(document_of(agent), status=status)
    response.headers["ETag"] = f'"{agent.digest}"'
    return response


def document_of(agent: AgentRecord) -> Document:
    document: Document = agent.file.model_dump(mode="json", by_alias=True)
    return document | {key: getattr(agent, key) for key in REMARKS}


def without_remarks(body: Document) -> Document:
    return {key: value for key, value in body.items() if key not in REMARKS}


def bare(tag: str | None) -> str | None:
    """An entity tag without its quotes: `"abc"` or `W/"abc"` as abc."""
    return tag.strip().removeprefix("W/").strip('"') if tag else None
