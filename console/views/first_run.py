"""Which model should answer: asked on the first page of an agent that names none, and checked
after each page that shows an agent. The pages wait for no server; these fragments do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.translation import gettext
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRefresh

from agents.config.ownership import agents_of
from agents.config.store import AgentRecord, change_agent
from agents.db import in_db
from agents.errors import Invalid, RateLimited, Refused
from agents.llm import catalog, discovery
from agents.llm.discovery import Found, Place
from agents.llm.model_info import ModelInfo
from agents.llm.providers import resolve
from agents.models import Conversation
from console.components import replace
from console.conversation_state import read_state
from console.htmx import own_conversation, person, posted, refusal_response
from console.preferences import preferences, set_preferences
from console.status_labels import name_of_model
from console.throttling import count_test
from console.views.agents import own_agent

MOST_OFFERS = 4
MOST_LOCAL, MOST_HOSTED = 8, 3  # models of a place that are shown before a search


@dataclass(frozen=True)
class Choice:
    """A model as a row to choose; `weight` says what it takes to run."""

    value: str
    name: str
    info: ModelInfo
    weight: str
    is_chosen: bool


@dataclass(frozen=True)
class Offer:
    """A place with the models that are shown, and how many more there are."""

    place: Place
    choices: list[Choice]
    more: int


async def found_models(request: HttpRequest, agent_id: str) -> HttpResponse:
    """What is at hand; with `anew`, asked again. With `find`, more of one place's models."""
    agent = await in_db(own_agent, request, agent_id)
    if anew := "anew" in request.GET:
        try:
            await in_db(count_test, person(request).pk)
        except RateLimited as refusal:
            return refusal_response("found-alert", refusal)
    found = await discovery.discover(anew=anew, asks=anew or await in_db(may_discover, request))
    wanted, words = request.GET.get("place"), request.GET.get("find", "")
    for place in found.places if wanted else ():
        if place.provider == wanted:
            return HttpResponse(draw_choices(offer_of(place, found, words)))
    return HttpResponse(replace("first-run", draw(agent, found)))


def may_discover(request: HttpRequest) -> bool:
    return may_ask(request, discovery.at_hand())


def may_ask(request: HttpRequest, names: Iterable[str]) -> bool:
    """Whether servers are asked for a page that was just drawn. Not if all were lately, nor more
    often than a person may have them asked: then it goes by what they said last.
    """
    if all(map(catalog.is_fresh, names)):
        return False
    try:
        count_test(person(request).pk)
    except RateLimited:
        return False
    return True


def draw_choices(offer: Offer) -> str:
    id = f"found-{offer.place.provider}"
    context = {"offer": offer}
    choices = render_to_string("conversation/_found_choices.html", context)
    count = render_to_string("conversation/_found_count.html", context)
    return replace(id, choices) + replace(f"{id}-count", count)


async def offers(request: HttpRequest, agent_id: str) -> HttpResponse:
    """One model of each place, for an agent that still talks to the scripted one."""
    agent = await in_db(own_agent, request, agent_id)
    shown: list[Offer] = []
    wants = await in_db(lambda: preferences(request).offers_models)
    if agent.file.provider == "demo" and not agent.problem and wants:
        found = await discovery.discover(asks=await in_db(may_discover, request))
        shown = [offer_of(place, found) for place in found.places[: found.has_own and MOST_OFFERS]]
        shown = [offer for offer in shown if offer.place.provider != "demo"]
    html = render_to_string("settings/_found_models.html", {"offers": shown, "agent": agent})
    return HttpResponse(replace("found", html))


@posted("found-alert")
def dismiss_offers(request: HttpRequest) -> HttpResponse:
    """For this person for good; Settings > Models has them all the same."""
    set_preferences(person(request), offers_models=False)
    return HttpResponse(replace("found", render_to_string("settings/_found_models.html")))


def draw(agent: AgentRecord, found: Found) -> str:
    offers = [offer_of(place, found) for place in found.places]
    chosen = next((c for o in offers for c in o.choices if c.is_chosen), offers[-1].choices[0])
    context = {"agent": agent, "found": found, "offers": offers, "chosen": chosen}
    return render_to_string("conversation/_first_run.html", context)


def offer_of(place: Place, found: Found, words: str = "") -> Offer:
    """The best one first, then as the place lists them."""
    fit = [model for model in place.models if words.strip().lower() in model.id.lower()]
    most = MOST_LOCAL if place.is_local or words else MOST_HOSTED
    fit.sort(key=lambda model: model.id != place.best.id)
    choices = [choice_of(place, model, found.suggested) for model in fit[:most]]
    return Offer(place, choices, len(fit) - len(choices))


def choice_of(place: Place, model: ModelInfo, suggested: tuple[str, str]) -> Choice:
    weight = gettext("built in") if place.provider == "demo" else gettext("hosted")
    if place.is_here:
        size = number_format(f"{model.size / 1e9:.1f}") if model.size else ""
        weight = gettext("{n} GB").format(n=size) if size else ""
    name = name_of_model(place.provider, model.id)
    value = f"{place.provider}/{model.id}"
    return Choice(value, name, model, weight, (place.provider, model.id) == suggested)


@require_POST
def use(request: HttpRequest, agent_id: str) -> HttpResponse:
    """Provider and model go into the agent's file."""
    agent = own_agent(request, agent_id)
    provider, _, model = request.POST.get("model", "").strip().partition("/")
    try:
        if not model:
            raise Invalid(gettext("Choose a model."))
        resolve(provider)
        change_agent(agent.id, {"provider": provider, "model": model})
    except Refused as refusal:
        return refusal_response("found-alert", refusal)
    return HttpResponseClientRefresh()


# After a page that was drawn from what was known: is it still so?


async def of_agents(request: HttpRequest) -> HttpResponse:
    """The line on each agent's card that says whether its model exists."""
    agents = await in_db(lambda: agents_of(person(request)))
    names = names_of(agents)
    if await in_db(may_ask, request, names):
        await catalog.ask_all(names)
    return HttpResponse(await in_db(lambda: "".join(map(draw_problem, agents))))


def draw_problem(agent: AgentRecord) -> str:
    problem = catalog.model_problem(agent.file.provider, agent.file.model)
    context = {"agent": agent, "model_problem": problem}
    html = render_to_string("agents/_model_problem.html", context)
    return replace(f"agent-{agent.id}-model", html)


async def of_conversation(request: HttpRequest, pk: int) -> HttpResponse:
    """The note above the message box, and the name of the model in the heading."""
    now = await in_db(lambda: read_state(own_conversation(request, pk).pk))
    names = {now.model_in_use[0]} - {"demo", ""}
    if await in_db(may_ask, request, names):
        await catalog.ask_all(names)
    return HttpResponse(await in_db(draw_notes, request, pk))


def draw_notes(request: HttpRequest, pk: int, *, is_refused: bool = False) -> str:
    """Nothing for a conversation that was deleted meanwhile: its page is told so by the socket."""
    try:
        now = read_state(own_conversation(request, pk).pk)
    except (Http404, Conversation.DoesNotExist):
        return ""
    is_refused = is_refused and bool(now.missing_model)
    about = {"now": now, "conversation": now.conversation}
    context = {**about, "checked": True, "is_refused": is_refused}
    return "".join(
        replace(name, render_to_string(f"conversation/_{file}.html", context))
        for name, file in (("agent-note", "agent_note"), ("heading", "heading"))
    )


def names_of(agents: Iterable[AgentRecord]) -> list[str]:
    return [each.file.provider for each in agents if each.file.provider != "demo"]
