"""/api/agents: agent.json over HTTP."""

from __future__ import annotations

import json
from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Header, Router
from ninja.responses import Status
from pydantic import JsonValue

from agents import agent_file
from agents.agent_file import AgentRecord
from agents.errors import Invalid
from agents.owners import agent_of, agents_of, claim, disown
from console.api.auth import person
from console.api.shapes import AgentShape, Page, answers

router = Router(tags=["agents"])
Document = dict[str, JsonValue]
Digest = Annotated[str | None, Header(alias="If-Match", description="ETag of the file as read")]

# Said about the file, not written in it: what GET shows can be sent back by PUT as it is.
SAID = ("problem", "problem_line")


@router.get("", response=answers(Page[AgentShape]))
def list_agents(request: HttpRequest) -> dict[str, object]:
    agents = agents_of(person(request))
    return {"items": [shape(agent) for agent in agents], "count": len(agents)}


@router.post("", response=answers(AgentShape, 409, status=201))
def create_agent(request: HttpRequest, body: Document, response: HttpResponse) -> Status[Document]:
    agent_id = body.get("id")
    if not isinstance(agent_id, str):
        raise Invalid("id is missing: it names the agent's folder.")
    agent = agent_file.create_agent(agent_id, values(body))
    claim(person(request), agent.id)
    return Status(201, shown(agent, response))


@router.get("/{agent_id}", response=answers(AgentShape, 404))
def get_agent(request: HttpRequest, agent_id: str, response: HttpResponse) -> Document:
    return shown(agent_of(person(request), agent_id), response)


@router.patch("/{agent_id}", response=answers(AgentShape, 404, 409, 412))
def change_agent(
    request: HttpRequest,
    agent_id: str,
    body: Document,
    response: HttpResponse,
    if_match: Digest = None,
) -> Document:
    """A merge-patch (RFC 7396): only these keys of the file change; null takes one away."""
    agent = agent_of(person(request), agent_id)
    patched = agent_file.change_agent(agent.id, without_said(body), bare(if_match))
    return shown(patched, response)


@router.put("/{agent_id}", response=answers(AgentShape, 404, 409, 412))
def replace_agent(
    request: HttpRequest,
    agent_id: str,
    body: Document,
    response: HttpResponse,
    if_match: Digest = None,
) -> Document:
    """The whole file; a broken one is replaced too."""
    agent = agent_of(person(request), agent_id)
    text = json.dumps({"id": agent.id, **without_said(body)}, indent=2, ensure_ascii=False) + "\n"
    return shown(agent_file.replace_agent_text(agent.id, text, bare(if_match)), response)


@router.delete("/{agent_id}", response=answers(None, 404, 409, status=204))
def delete_agent(request: HttpRequest, agent_id: str) -> Status[None]:
    agent = agent_of(person(request), agent_id)
    agent_file.delete_agent(agent.id)
    disown(agent.id)
    return Status(204, None)


def shown(agent: AgentRecord, response: HttpResponse) -> Document:
    response.headers["ETag"] = f'"{agent.digest}"'
    return shape(agent)


def shape(agent: AgentRecord) -> Document:
    document: Document = agent.file.model_dump(mode="json", by_alias=True)
    return document | {"problem": agent.problem, "problem_line": agent.problem_line}


def values(body: Document) -> Document:
    return {key: value for key, value in without_said(body).items() if key != "id"}


def without_said(body: Document) -> Document:
    return {key: value for key, value in body.items() if key not in SAID}


def bare(tag: str | None) -> str | None:
    """`"abc"` or `W/"abc"` as abc."""
    return tag.strip().removeprefix("W/").strip('"') if tag else None
