"""Settings > Models: where models live. The page asks no server; buttons and fragments do."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect, HttpResponseClientRefresh

from agents.config.ownership import agents_of
from agents.config.store import change_agent, list_agents
from agents.db import in_db
from agents.errors import Invalid, Refused
from agents.llm import providers
from agents.llm.providers import (
    ProviderEdit,
    ask_provider,
    default_model,
    discover,
    provider_names,
    resolve,
)
from agents.models import Provider
from console.auth.admins import for_admins
from console.components import replace
from console.form_parsing import pairs, price_lines, prices
from console.htmx import refusal_response
from console.views.agents import own_agent
from console.views.conversations import person

MOST_OFFERS = 4


@dataclass(frozen=True)
class ProviderCard:
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
    user = person(request)
    rows = {row.name: row for row in providers.own_providers()}
    agents = list_agents() if user.is_superuser else agents_of(user)
    cards = []
    for name in provider_names():
        endpoint, row = resolve(name), rows.get(name)
        cards.append(
            ProviderCard(
                name=endpoint.provider,
                label=endpoint.label,
                address="" if endpoint.provider == "demo" else endpoint.address,
                key_set=bool(endpoint.key),
                row=row,
                headers=sorted(endpoint.headers),
                prices=price_lines(row.prices) if row else "",
                agents=providers.agents_on(endpoint.provider, agents),
            )
        )
    context = {
        "page": "models",
        "providers": cards,
        "default": "/".join(default_model()),
        "is_admin": user.is_superuser,
        "opened": request.GET.get("provider", ""),
    }
    return render(request, "settings/models.html", context)


@for_admins("provider-new-alert")
def add(request: HttpRequest, by: str) -> HttpResponse:
    name = request.POST.get("name", "").strip()
    return open_card(providers.add_provider(name, edit_of(request.POST), by).name)


@for_admins("provider-{name}-alert")
def change(request: HttpRequest, by: str, name: str) -> HttpResponse:
    return open_card(providers.change_provider(name, edit_of(request.POST), by).name)


@for_admins("provider-{name}-alert")
def remove(request: HttpRequest, by: str, name: str) -> HttpResponse:
    providers.remove_provider(name, by)
    return HttpResponseClientRedirect(reverse("models"))


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


def open_card(name: str) -> HttpResponse:
    """A new page with this card open, which asks the server for its models."""
    return HttpResponseClientRedirect(f"{reverse('models')}?{urlencode({'provider': name})}")


async def test(request: HttpRequest, name: str) -> HttpResponse:
    """Whether it answers, and with which models."""
    try:
        endpoint = await in_db(resolve, name)
    except Invalid as error:
        raise Http404 from error
    context = {"name": name, "tested": await ask_provider(endpoint)}
    html = render_to_string("settings/_tested.html", context)
    return HttpResponse(replace(f"tested-{name}", html))


async def found_models(request: HttpRequest) -> HttpResponse:
    """What is at hand on this machine, for agents that still talk to the scripted model."""
    models, wanted = await discover(), request.GET.get("agent")
    own = await in_db(lambda: agents_of(person(request)))
    agents = [
        agent
        for agent in own
        if agent.file.provider == "demo" and not agent.problem and wanted in (None, agent.id)
    ]
    offers = [(model, agent) for model in models for agent in agents]
    html = render_to_string("settings/_found_models.html", {"offers": offers[:MOST_OFFERS]})
    return HttpResponse(replace("found", html))


@require_POST
def use_found(request: HttpRequest, agent_id: str) -> HttpResponse:
    """One click: provider and model go into the agent's file."""
    agent = own_agent(request, agent_id)
    provider, model = request.POST.get("provider", ""), request.POST.get("model", "").strip()
    try:
        resolve(provider)
        change_agent(agent.id, {"provider": provider, "model": model})
    except Refused as refusal:
        return refusal_response("found-alert", refusal)
    return HttpResponseClientRefresh()
