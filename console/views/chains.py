"""Settings > Chains: everybody reads and runs them, admins change them."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET
from django_htmx.http import HttpResponseClientRedirect

from agents import run_once
from agents.chains.store import copy_chain, delete_chain, is_shipped, save_chain
from agents.config.ownership import agent_of, agents_of
from agents.errors import Conflict, Invalid, NotFound, Stale, about
from agents.models import Turn
from console.auth.admins import for_admins
from console.chain_pages import (
    ChainFile,
    cards,
    file_of,
    place_of,
    run_of,
    users,
)
from console.components import alert, replace, replace_content
from console.htmx import person, posted
from console.line_faults import draw_faults, of_chain
from console.throttling import count_message

MOST_COPIES = 100


@require_GET
def chains(request: HttpRequest) -> HttpResponse:
    found = cards()
    wanted = request.GET.get("chain")
    opened = next((card.id for card in found if card.id == wanted), found[0].id)
    context: dict[str, object] = {"page": "chains", "cards": found, **rights(request)}
    context |= {"opened": opened, "chain": file_of(opened), **body_context(request, opened)}
    return render(request, "chains/settings.html", context)


@require_GET
def file(request: HttpRequest, name: str) -> HttpResponse:
    """The third column for one chain: to read, or to edit; and its `card`, opened just now.

    With `since`, what an open page gets when the file was changed elsewhere.
    """
    chain = own_file(name)
    if request.GET.get("since") == chain.digest:
        return HttpResponse(status=204)
    html = draw_file(request, chain, "chains/_edit.html" if "edit" in request.GET else "")
    if "card" in request.GET:
        context = {"chain": chain, **body_context(request, name), **rights(request)}
        body = render_to_string("chains/_body.html", context)
        html += replace_content(f"chain-{chain.place}-settings", body)
    return HttpResponse(html)


@posted("file-alert")
def check(request: HttpRequest, name: str) -> HttpResponse:
    """What is wrong with the text as typed, while it is typed."""
    return HttpResponse(draw_faults(of_chain(request.POST.get("text", ""), name)))


@for_admins("file-alert")
def save(request: HttpRequest, by: str, name: str) -> HttpResponse:
    """The whole text as typed. A refusal keeps it in the editor and says why at each line."""
    before = own_file(name)
    text = request.POST.get("text", "").replace("\r\n", "\n")
    try:
        save_chain(name, text, None if "keep" in request.POST else request.POST.get("digest", ""))
    except Stale as stale:
        clash = render_to_string("chains/_clash.html", {"chain": before})
        return HttpResponse(replace_content("file-alert", clash), status=stale.status)
    except Invalid as refusal:
        why = alert("file-alert", gettext("Not saved: the last good version stays in use."))
        return HttpResponse(draw_faults(of_chain(text, name)) + why, status=refusal.status)
    after = file_of(name)
    return HttpResponse(draw_card(request, name) + draw_file(request, after, saved=True))


@for_admins("new-chain-alert")
def new(request: HttpRequest, by: str) -> HttpResponse:
    name = "-".join(request.POST.get("name", "").split())
    if not name:
        raise Invalid(gettext("Give the chain a name."), field="name")
    copy_chain(request.POST.get("from", ""), name)
    return open_card(name)


@for_admins("chain-{name}-alert")
def copy(request: HttpRequest, by: str, name: str) -> HttpResponse:
    for number in range(1, MOST_COPIES):
        wanted = f"{name[:90]}-copy" if number == 1 else f"{name[:90]}-copy-{number}"
        try:
            copy_chain(name, wanted)
        except Conflict:
            continue
        return open_card(wanted)
    raise Conflict(
        gettext("There are too many copies of {name}, or it is broken.").format(name=name)
    )


@for_admins("delete-chain-{name}-alert")
def delete(request: HttpRequest, by: str, name: str) -> HttpResponse:
    delete_chain(name)
    return HttpResponseClientRedirect(reverse("chains"))


@posted("chain-{name}-run-alert")
def run(request: HttpRequest, name: str) -> HttpResponse:
    """A turn in a conversation of its own, as `POST /chains/{id}/run` makes one."""
    by = person(request)
    text = request.POST.get("input", "")
    if not text.strip():
        raise Invalid(gettext("Say what to run it with."), field="input")
    own_file(name)
    count_message(by.pk)
    with about("agent"):
        agent = agent_of(by, request.POST.get("agent", ""))
    return HttpResponse(draw_run(run_once.queue_chain(by, name, text, agent.id)))


@require_GET
def progress(request: HttpRequest, name: str, turn: int) -> HttpResponse:
    """How far a run is by now."""
    rows = Turn.objects.select_related("conversation")
    row = get_object_or_404(rows, pk=turn, chain=name, conversation__owner_id=request.user.pk)
    return HttpResponse(draw_run(row))


def own_file(id: str) -> ChainFile:
    try:
        return file_of(id)
    except NotFound as error:
        raise Http404 from error


def rights(request: HttpRequest) -> dict[str, object]:
    return {"is_admin": person(request).is_superuser}


def body_context(request: HttpRequest, id: str) -> dict[str, object]:
    own = agents_of(person(request))
    return {
        "opened_place": place_of(id),
        "own_agents": own,
        "users": users(id, own),
        "is_shipped": is_shipped(id),
    }


def draw_card(request: HttpRequest, id: str) -> str:
    card = next(card for card in cards() if card.id == id)
    context = {"card": card, "chain": file_of(id), "opened": id, **rights(request)}
    html = render_to_string("chains/_chain.html", context | body_context(request, id))
    return replace(f"chain-{card.place}", html)


def draw_file(
    request: HttpRequest, chain: ChainFile, template: str = "", *, saved: bool = False
) -> str:
    context = {"chain": chain, "saved": saved, **rights(request)}
    return replace("file", render_to_string(template or "chains/_file.html", context))


def draw_run(turn: Turn) -> str:
    context = {"run": run_of(turn), "place": place_of(turn.chain)}
    html = render_to_string("chains/_run.html", context)
    return replace(f"chain-{place_of(turn.chain)}-run", html)


def open_card(name: str) -> HttpResponse:
    return HttpResponseClientRedirect(f"{reverse('chains')}?{urlencode({'chain': name})}")
