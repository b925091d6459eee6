"""Settings > Agents: a card per agent, and the file that is the truth about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_GET, require_POST
from pydantic import JsonValue

from agents.chains.store import problems_of
from agents.config import ownership
from agents.config.store import (
    AgentRecord,
    change_agent,
    copy_agent,
    create_agent,
    read_agent,
    replace_agent_text,
)
from agents.errors import Conflict, Invalid, NotFound, Refused, Stale
from agents.llm.providers import provider_names
from agents.removal import delete_agent
from console.agent_tools import DEFAULT_GRANTS, always_of, rows_of
from console.fragments import replace
from console.htmx import alert_partial, replace_text
from console.views.conversations import person

MOST_COPIES = 100
Patch = dict[str, JsonValue]


@dataclass(frozen=True)
class Line:
    text: str
    is_marked: bool


@require_GET
def agents(request: HttpRequest) -> HttpResponse:
    mine = ownership.agents_of(person(request))
    wanted = request.GET.get("agent")
    shown = next((agent for agent in mine if agent.id == wanted), mine[0] if mine else None)
    context: dict[str, object] = {"cards": [card(a, opened=a is shown) for a in mine]}
    if shown:
        context |= file_of(shown)
    return render(request, "agents/settings.html", context)


@require_GET
def file(request: HttpRequest, agent_id: str) -> HttpResponse:
    """The third column for one agent: to read, or to edit."""
    shown = mine(request, agent_id)
    if (since := request.GET.get("since")) is not None:
        return news(shown, since, is_edited="edit" in request.GET)
    template = "agents/_edit.html" if "edit" in request.GET else "agents/_file.html"
    html = render_to_string(template, file_of(shown))
    return HttpResponse(replace("file", html))


def news(agent: AgentRecord, since: str, *, is_edited: bool) -> HttpResponse:
    """What an open page is told when the file was changed by hand; typed text stays."""
    if agent.digest == since:
        return HttpResponse(status=204)
    told = card(agent, True) | {"is_news": True}
    pieces = [replace(f"agent-{agent.id}", render_to_string("agents/_agent.html", told))]
    if is_edited:
        clash = render_to_string("agents/_clash.html", {"agent": agent})
        pieces.append(replace_text("file-alert", clash))
        pieces.append('<hx-partial hx-target="#file-news" hx-swap="delete"></hx-partial>')
    else:
        pieces.append(replace("file", render_to_string("agents/_file.html", file_of(agent))))
    return HttpResponse("".join(pieces))


def changing(do: Callable[[HttpRequest, str], str]) -> Callable[..., HttpResponse]:
    """A change of one agent; the card, the file and a sentence come back, refused or not."""

    @require_POST
    @wraps(do)
    def view(request: HttpRequest, agent_id: str) -> HttpResponse:
        before = mine(request, agent_id)
        try:
            said, refused, status = do(request, agent_id), "", 200
        except NotFound:
            raise
        except Refused as refusal:
            said, refused, status = "", str(refusal), refusal.status
        after = read_agent(agent_id)
        pieces = [
            replace(f"agent-{agent_id}", render_to_string("agents/_agent.html", card(after, True))),
            alert_partial(f"agent-{agent_id}-alert", refused),
            replace("file", render_to_string("agents/_file.html", file_of(after, before, said))),
        ]
        return HttpResponse("".join(pieces), status=status)

    return view


@changing
def plan_mode(request: HttpRequest, agent_id: str) -> str:
    """Writes plan.enabled and nothing else."""
    enabled = "enabled" in request.POST
    change_agent(agent_id, {"plan": {"enabled": enabled}})
    return f"Plan Mode is {'on' if enabled else 'off'}."


@changing
def model(request: HttpRequest, agent_id: str) -> str:
    provider, name = request.POST.get("provider", ""), request.POST.get("model", "").strip()
    if provider not in provider_names():
        raise Invalid(f"There is no provider “{provider}”.")
    change_agent(agent_id, {"provider": provider, "model": name})
    return f"The model is {provider}/{name}."


@require_POST
def save_file(request: HttpRequest, agent_id: str) -> HttpResponse:
    """The whole text as typed. A refusal keeps it in the editor and says why."""
    before = mine(request, agent_id)
    text = request.POST.get("text", "")
    digest = None if "keep" in request.POST else request.POST.get("digest", "")
    try:
        after = replace_agent_text(agent_id, text, digest)
    except Stale:
        html = render_to_string("agents/_clash.html", {"agent": before})
        return HttpResponse(replace_text("file-alert", html), status=Stale.status)
    except Refused as refusal:
        return HttpResponse(alert_partial("file-alert", str(refusal)), status=refusal.status)
    pieces = [
        replace(f"agent-{agent_id}", render_to_string("agents/_agent.html", card(after, True))),
        replace(
            "file",
            render_to_string("agents/_file.html", file_of(after, before, "As you typed it.")),
        ),
    ]
    return HttpResponse("".join(pieces))


@require_POST
def new(request: HttpRequest) -> HttpResponse:
    name = " ".join(request.POST.get("name", "").split())
    try:
        if not name:
            raise Invalid("Give the agent a name.")
        values: Patch = {"name": name, "tools": dict(DEFAULT_GRANTS)}
        by = person(request)
        made = free(by, slugify(name) or "agent", lambda new_id: create_agent(new_id, values))
    except Refused as refusal:
        return HttpResponse(alert_partial("new-agent-alert", str(refusal)), status=refusal.status)
    return go_to(made.id)


@require_POST
def copy(request: HttpRequest, agent_id: str) -> HttpResponse:
    source = mine(request, agent_id)
    try:
        by = person(request)
        made = free(by, f"{source.id}-copy"[:60], lambda new_id: copy_agent(source.id, new_id))
    except Refused as refusal:
        alert = alert_partial(f"agent-{agent_id}-alert", str(refusal))
        return HttpResponse(alert, status=refusal.status)
    return go_to(made.id)


@require_POST
def delete(request: HttpRequest, agent_id: str) -> HttpResponse:
    """Refused with what is under way, where it is at work."""
    try:
        delete_agent(mine(request, agent_id).id, person(request))
    except Refused as refusal:
        alert = alert_partial(f"delete-{agent_id}-alert", str(refusal))
        return HttpResponse(alert, status=refusal.status)
    return HttpResponse(headers={"HX-Redirect": reverse("agents")})


def mine(request: HttpRequest, agent_id: str) -> AgentRecord:
    try:
        return ownership.agent_of(person(request), agent_id)
    except NotFound as error:
        raise Http404 from error


def free(by: User, wanted: str, make: Callable[[str], AgentRecord]) -> AgentRecord:
    """Make an agent under the first id that is not taken: wanted, wanted-2, …"""
    for number in range(1, MOST_COPIES):
        new_id = wanted if number == 1 else f"{wanted}-{number}"
        try:
            return ownership.make_agent(by, new_id, partial(make, new_id))
        except Conflict:
            continue
    raise Conflict(f"There are too many agents called {wanted}.")


def go_to(agent_id: str) -> HttpResponse:
    """A whole new page: the list has changed."""
    target = f"{reverse('agents')}?{urlencode({'agent': agent_id})}"
    return HttpResponse(headers={"HX-Redirect": target})


def card(agent: AgentRecord, opened: bool) -> dict[str, object]:
    return {
        "agent": agent,
        "opened": opened,
        "grants": rows_of(agent),
        "always": always_of(agent),
        "providers": provider_names(),
        "chain_problems": problems_of(agent),
    }


def file_of(
    agent: AgentRecord, before: AgentRecord | None = None, said: str = ""
) -> dict[str, object]:
    """The file's lines; marked are those that have just changed, or the one that is wrong."""
    old = set(before.text.splitlines()) if before else None
    lines = [
        Line(text, number == agent.problem_line or (old is not None and text not in old))
        for number, text in enumerate(agent.text.splitlines(), 1)
    ]
    return {"agent": agent, "lines": lines, "said": said}
