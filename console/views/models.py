"""Settings > Models: where models live. The page asks no server; buttons and fragments do."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from agents.config.ownership import agents_of
from agents.config.store import AgentRecord, change_agent, list_agents
from agents.db import in_db
from agents.errors import Invalid, Refused
from agents.llm import providers
from agents.llm.providers import (
    FoundModel,
    ProviderEdit,
    ask_provider,
    default_model,
    discover,
    provider_names,
    resolve,
)
from agents.llm.request import Endpoint
from agents.models import Provider
from console.auth.admins import for_admins
from console.form_parsing import pairs, price_lines, prices
from console.fragments import replace
from console.htmx import alert_partial
from console.views.agents import mine
from console.views.conversations import person

MOST_OFFERS = 4


@dataclass(frozen=True)
class Shown:
    """A provider as its card shows it; the key is not in it."""

    name: str
    label: str
    address: str
    key_set: bool
    row: Provider | None = None
    headers: list[str] = field(default_factory=list)
    prices: str = ""
    agents: list[str] = field(default_factory=list)

    @property
    def is_demo(self) -> bool:
        return self.name == "demo"

    @property
    def streams_usage(self) -> bool:
        return not self.row or bool(self.row.flags.get("stream_options", True))


@require_GET
def models(request: HttpRequest) -> HttpResponse:
    provider, model = default_model()
    rows = {row.name: row for row in providers.own_providers()}
    known = list_agents() if person(request).is_superuser else agents_of(person(request))
    return render(
        request,
        "settings/models.html",
        {
            "providers": [shown(resolve(name), rows.get(name), known) for name in provider_names()],
            "default": f"{provider}/{model}",
            "is_admin": person(request).is_superuser,
            "opened": request.GET.get("provider", ""),
        },
    )


def shown(endpoint: Endpoint, row: Provider | None, agents: list[AgentRecord]) -> Shown:
    return Shown(
        name=endpoint.provider,
        label=endpoint.label,
        address="" if endpoint.provider == "demo" else endpoint.address,
        key_set=bool(endpoint.key),
        row=row,
        headers=sorted(endpoint.headers),
        prices=price_lines(row.prices) if row else "",
        agents=providers.agents_on(endpoint.provider, agents),
    )


@for_admins("provider-new-alert")
def add(request: HttpRequest, by: str) -> HttpResponse:
    name = request.POST.get("name", "").strip()
    return go_to(providers.add_provider(name, edit_of(request.POST), by).name)


@for_admins("provider-{name}-alert")
def change(request: HttpRequest, by: str, name: str) -> HttpResponse:
    return go_to(providers.change_provider(name, edit_of(request.POST), by).name)


@for_admins("provider-{name}-alert")
def remove(request: HttpRequest, by: str, name: str) -> HttpResponse:
    providers.remove_provider(name, by)
    return HttpResponse(headers={"HX-Redirect": reverse("models")})


def edit_of(form: QueryDict) -> ProviderEdit:
    """An empty secret stays as it is, unless it is to be forgotten."""
    forget = form.getlist("forget")
    key, headers = form.get("key", "").strip(), pairs(form.get("headers", ""), ":", "the headers")
    return ProviderEdit(
        base_url=form.get("base_url", ""),
        key=key or ("" if "key" in forget else None),
        headers=headers or ({} if "headers" in forget else None),
        prices=prices(form.get("prices", "")),
        flags={"stream_options": "stream_options" in form},
    )


def go_to(name: str) -> HttpResponse:
    """A new page with this card open, which asks the server for its models."""
    target = f"{reverse('models')}?{urlencode({'provider': name})}"
    return HttpResponse(headers={"HX-Redirect": target})


async def test(request: HttpRequest, name: str) -> HttpResponse:
    """Whether it answers, and with which models."""
    try:
        endpoint = await in_db(resolve, name)
    except Invalid as error:
        raise Http404 from error
    context = {"name": name, "tested": await ask_provider(endpoint)}
    return HttpResponse(
        replace(f"tested-{name}", render_to_string("settings/_tested.html", context))
    )


async def found(request: HttpRequest) -> HttpResponse:
    """What is at hand on this machine, for agents that still talk to the scripted model."""
    models = await discover()
    html = await in_db(offers, request, models)
    return HttpResponse(replace("found", html))


def offers(request: HttpRequest, models: list[FoundModel]) -> str:
    wanted = request.GET.get("agent")
    agents = [agent for agent in agents_of(person(request)) if is_scripted(agent)]
    if wanted is not None:
        agents = [agent for agent in agents if agent.id == wanted]
    both = [(model, agent) for model in models for agent in agents]
    return render_to_string("settings/_found.html", {"offers": both[:MOST_OFFERS]})


def is_scripted(agent: AgentRecord) -> bool:
    return agent.file.provider == "demo" and not agent.problem


@require_POST
def use_found(request: HttpRequest, agent_id: str) -> HttpResponse:
    """One click: provider and model go into the agent's file."""
    agent = mine(request, agent_id)
    provider, model = request.POST.get("provider", ""), request.POST.get("model", "").strip()
    try:
        resolve(provider)
        change_agent(agent.id, {"provider": provider, "model": model})
    except Refused as refusal:
        return HttpResponse(alert_partial("found-alert", str(refusal)), status=refusal.status)
    return HttpResponse(headers={"HX-Refresh": "true"})
