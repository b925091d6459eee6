"""Settings > Models: where models live. The page asks no server; buttons and fragments do."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET
from django_htmx.http import HttpResponseClientRedirect

from agents.config.ownership import agents_of
from agents.config.store import AgentRecord, list_agents
from agents.db import in_db
from agents.errors import Invalid, RateLimited, about
from agents.llm import catalog, lessons, providers
from agents.llm.known_providers import PROTOCOLS
from agents.llm.providers import ProviderEdit, default_model
from agents.models import Provider
from console.auth.admins import for_admins
from console.components import alert, replace
from console.form_parsing import OF_HEADERS, pairs, prices
from console.htmx import person, refusal_response
from console.provider_cards import ProviderCard, provider_card, provider_cards
from console.status_labels import name_of_model
from console.throttling import count_test

# The parts of a card that an answer of its server changes; the key's field is drawn anew only for
# whoever pressed a button there.
ANSWERED = ("state", "said", "models")


@require_GET
def models(request: HttpRequest) -> HttpResponse:
    cards = provider_cards(agents_seen(request))
    used = [card.name for card in cards if card.agents and not card.is_demo]
    context = {
        "page": "models",
        "cards": cards,
        "default": name_of_default(*default_model()),
        "is_admin": person(request).is_superuser,
        "opened": request.GET.get("provider") or next(iter(used), ""),
        "protocols": PROTOCOLS,
    }
    return render(request, "settings/models.html", context)


def name_of_default(provider: str, model: str) -> str:
    return name_of_model(provider, model) if provider == "demo" else f"{provider}/{model}"


@require_GET
def listed(request: HttpRequest, name: str) -> HttpResponse:
    """The models of one provider that a few letters find."""
    card = card_of(request, name, find=request.GET.get("find", ""))
    html = render_to_string("settings/_listed_models.html", {"card": card})
    return HttpResponse(replace(f"provider-{name}-listed", html))


@for_admins("provider-new-alert")
def add(request: HttpRequest, by: str) -> HttpResponse:
    name = request.POST.get("name", "").strip()
    # As the form begins, what is spoken at a known address goes before it.
    edit = edit_of(request.POST, speaks="chat_completions")
    return open_card(providers.add_provider(name, edit, by).name)


@for_admins("provider-{name}-alert")
def change(request: HttpRequest, by: str, name: str) -> HttpResponse:
    edit = edit_of(request.POST, speaks=providers.resolve(name).api)
    return open_card(providers.put_provider(name, edit, by).name)


@for_admins("provider-{name}-alert")
def remove(request: HttpRequest, by: str, name: str) -> HttpResponse:
    providers.remove_provider(name, by)
    return HttpResponseClientRedirect(reverse("models"))


@for_admins("provider-{name}-key-alert")
def set_key(request: HttpRequest, by: str, name: str) -> HttpResponse:
    """Saved, and tested by the card that comes back."""
    address = request.POST.get("base_url", "").strip()
    providers.set_key(name, request.POST.get("key", ""), by, address)
    return HttpResponse(draw_card(request, name, is_new=True))


@for_admins("provider-{name}-key-alert")
def remove_key(request: HttpRequest, by: str, name: str) -> HttpResponse:
    providers.remove_key(name, by)
    return HttpResponse(draw_card(request, name))


@for_admins("provider-{name}-lessons-alert")
def forget_lesson(request: HttpRequest, by: str, name: str, lesson: int) -> HttpResponse:
    lessons.forget_lesson(name, lesson)
    html = render_to_string("settings/_provider_lessons.html", card_context(request, name))
    return HttpResponse(replace(f"provider-{name}-lessons", html))


def edit_of(form: QueryDict, speaks: str) -> ProviderEdit:
    """An empty secret stays as it is, unless it is to be forgotten; so does what it `speaks`."""
    forget = form.getlist("forget")
    key = form.get("key", "").strip()
    with about("headers"):
        headers = pairs(form.get("headers", ""), ":", str(OF_HEADERS))
    return ProviderEdit(
        base_url=form.get("base_url", ""),
        key=key or ("" if "key" in forget else None),
        headers=headers or ({} if "headers" in forget else None),
        prices=prices(form.get("prices", "")),
        flags={"stream_options": "stream_options" in form},
        api=form.get("api") if form.get("api") != speaks else None,
    )


def open_card(name: str) -> HttpResponse:
    """A new page with this card open, which asks the server for its models."""
    return HttpResponseClientRedirect(f"{reverse('models')}?{urlencode({'provider': name})}")


async def test(request: HttpRequest, name: str) -> HttpResponse:
    """Whether it answers, and with which models. A page that was just drawn asks by itself
    (`auto`), unless somebody has asked lately."""
    is_auto = "auto" in request.GET
    card = await in_db(card_of, request, name)
    if card.can_be_asked and not (is_auto and card.listing.is_new):
        try:
            await in_db(count_test, person(request).pk)
        except RateLimited as refusal:
            return refusal_response(f"provider-{name}-key-alert", refusal)
        await catalog.ask(name)
    return HttpResponse(await in_db(draw_answer, request, name, is_auto=is_auto))


def draw_answer(request: HttpRequest, name: str, *, is_auto: bool) -> str:
    parts = ANSWERED if is_auto else ("key", *ANSWERED)
    context = card_context(request, name)
    return "".join(
        replace(
            f"provider-{name}-{part}", render_to_string(f"settings/_provider_{part}.html", context)
        )
        for part in parts
    )


def draw_card(request: HttpRequest, name: str, *, is_new: bool = False) -> str:
    context = card_context(request, name) | {"opened": name, "is_new": is_new}
    html = replace(f"provider-{name}", render_to_string("settings/_provider.html", context))
    return html + alert(f"provider-{name}-key-alert", "")


def card_context(request: HttpRequest, name: str) -> dict[str, object]:
    is_admin = person(request).is_superuser
    return {"card": card_of(request, name), "is_admin": is_admin, "protocols": PROTOCOLS}


def card_of(request: HttpRequest, name: str, find: str = "") -> ProviderCard:
    row = Provider.objects.filter(name=name).first()
    try:
        return provider_card(name, agents_seen(request), row, find)
    except Invalid as error:
        raise Http404 from error


def agents_seen(request: HttpRequest) -> list[AgentRecord]:
    user = person(request)
    return list_agents() if user.is_superuser else agents_of(user)
