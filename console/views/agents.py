"""Settings > Agents: a card per agent, what it may do, and the file that is the truth about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect
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
from agents.leaving import delete_agent
from agents.llm.catalog import is_fresh, model_problem, window_for
from agents.llm.providers import provider_names
from agents.normalization import slug
from agents.text.tokens import estimate_tokens
from agents.tools.base import BETWEEN
from agents.tools.integrations.actions import source_named
from console.agent_form import fields_of, in_form, save_field
from console.agent_settings import slug_of
from console.agent_tools import (
    CHOICES,
    DEFAULT_GRANTS,
    grant_rows,
    note_on_large_offers,
    operations_of,
)
from console.components import alert, remove, replace, replace_content
from console.htmx import headers_of, person, refusal_response
from console.line_faults import draw_faults, of_agent

MOST_COPIES = 100
GRANTS = ("allow", "ask", "off")
AS_ABOVE = "as-above"  # an operation is granted what its service is


@dataclass(frozen=True)
class Line:
    text: str
    is_marked: bool


@require_GET
def agents(request: HttpRequest) -> HttpResponse:
    own = ownership.agents_of(person(request))
    wanted = request.GET.get("agent")
    opened = next((agent for agent in own if agent.id == wanted), own[0] if own else None)
    context: dict[str, object] = {
        "page": "agents",
        "cards": [(each, model_problem(each.file.provider, each.file.model)) for each in own],
        "asks_for_models": not all(is_fresh(each.file.provider) for each in own),
    }
    if opened:
        context |= {"opened": opened.id, **card_context(opened), **file_context(opened)}
    return render(request, "agents/settings.html", context)


@require_GET
def file(request: HttpRequest, agent_id: str) -> HttpResponse:
    """The third column for one agent: to read, or to edit; and its `card`, opened just now.

    With `since`, what an open page gets when the file was changed by hand; text that is being typed
    stays.
    """
    agent = own_agent(request, agent_id)
    is_edited, since = "edit" in request.GET, request.GET.get("since")
    if since is None:
        html = draw_editor(agent) if is_edited else draw_file(agent)
        if "card" in request.GET:
            settings = render_to_string("agents/_settings.html", card_context(agent))
            html += replace_content(f"agent-{agent.id}-settings", settings)
        return HttpResponse(html)
    if agent.digest == since:
        return HttpResponse(status=204)
    pieces = [draw_card(agent, is_news=True)]
    if is_edited:
        clash = render_to_string("agents/_clash.html", {"agent": agent})
        pieces += [replace_content("file-alert", clash), remove("file-news")]
    else:
        pieces.append(draw_file(agent))
    return HttpResponse("".join(pieces))


def changing(do: Callable[[HttpRequest, str], str]) -> Callable[..., HttpResponse]:
    """A change of one agent; the card, the file and a sentence come back, refused or not."""

    @require_POST
    @wraps(do)
    def view(request: HttpRequest, agent_id: str) -> HttpResponse:
        before = own_agent(request, agent_id)
        try:
            sentence, refused, status = do(request, agent_id), "", 200
            headers: Mapping[str, str] = {}
        except NotFound:
            raise
        except Refused as refusal:
            sentence, refused, status = "", in_form(refusal), refusal.status
            headers = headers_of(refusal)
        after = read_agent(agent_id)
        html = draw_card(after) + alert(f"agent-{agent_id}-alert", refused)
        html += draw_file(after, before, sentence)
        return HttpResponse(html, status=status, headers=headers)

    return view


@changing
def plan_mode(request: HttpRequest, agent_id: str) -> str:
    """Writes plan.enabled and nothing else."""
    enabled = "enabled" in request.POST
    change_agent(agent_id, {"plan": {"enabled": enabled}})
    return gettext("Plan Mode is on.") if enabled else gettext("Plan Mode is off.")


@require_POST
def field(request: HttpRequest, agent_id: str) -> HttpResponse:
    """One field of the form. What is refused stays typed, with the reason under it."""
    before, form = own_agent(request, agent_id), request.POST
    key, text = form.get("key", ""), form.get("value", "")
    place = f"setting-{agent_id}-{slug_of(key)}-alert"
    if "own" in form:  # the model's own, or a number that may still have to be typed
        text = "" if form["own"] else text.strip()
        if not text and not form["own"]:
            return HttpResponse(status=204)
    try:
        saved = save_field(agent_id, key, text, None if "keep" in form else form.get("was", ""))
    except Stale as stale:
        clash = render_to_string("agents/_field_clash.html", {"agent": before})
        return HttpResponse(replace_content(place, clash), status=stale.status)
    except NotFound:
        raise
    except Refused as refusal:
        html = draw_card(before) + alert(place, in_form(refusal))
        return HttpResponse(html, status=refusal.status)
    after = read_agent(agent_id)
    html = draw_card(after) + alert(place, "")
    return HttpResponse(html + draw_file(after, before, saved) if saved else html)


@changing
def undo(request: HttpRequest, agent_id: str) -> str:
    """The file as it was before the last change, unless it was changed since."""
    try:
        replace_agent_text(agent_id, request.POST.get("text", ""), request.POST.get("digest", ""))
    except Stale:
        raise Conflict(
            gettext("agent.json has changed since: this cannot be undone any more.")
        ) from None
    return gettext("Undone.")


@changing
def model(request: HttpRequest, agent_id: str) -> str:
    """By two fields, or by the picker's one: provider/model."""
    name = request.POST.get("model", "").strip()
    provider = request.POST.get("provider")
    if provider is None:
        provider, _, name = name.partition("/")
    if provider not in provider_names():
        why = gettext("There is no provider “{provider}”.").format(provider=provider)
        raise Invalid(why, field="provider")
    change_agent(agent_id, {"provider": provider, "model": name})
    return gettext("The model is {provider}/{name}.").format(provider=provider, name=name)


@changing
def grant(request: HttpRequest, agent_id: str) -> str:
    """One grant of `tools`; an operation may go back to what its service has."""
    name, wanted = request.POST.get("tool", ""), request.POST.get("grant", "")
    if not name or wanted not in (*GRANTS, AS_ABOVE):
        raise Invalid(gettext("A tool is allow, ask or off."))
    value = None if wanted == AS_ABOVE else wanted
    change_agent(agent_id, {"tools": {name: value}})
    if value is None:
        service = name.partition(BETWEEN)[0]
        return gettext("{tool} follows {service}.").format(tool=name, service=service)
    return gettext("{name} is set to {wanted}.").format(name=name, wanted=dict(CHOICES)[wanted])


@require_GET
def operations(request: HttpRequest, agent_id: str, source: str) -> HttpResponse:
    """The operations of a service, when somebody unfolds them."""
    agent = own_agent(request, agent_id)
    try:
        row = source_named(source)
    except NotFound as error:
        raise Http404 from error
    context = {"agent": agent, "source": row, "rows": operations_of(agent, row)}
    html = render_to_string("agents/_operations.html", context)
    return HttpResponse(replace(f"operations-{agent.id}-{source}", html))


@require_POST
def check(request: HttpRequest, agent_id: str) -> HttpResponse:
    """What is wrong with the text as typed, while it is typed."""
    agent = own_agent(request, agent_id)
    return HttpResponse(draw_faults(of_agent(request.POST.get("text", ""), agent)))


@require_POST
def save_file(request: HttpRequest, agent_id: str) -> HttpResponse:
    """The whole text as typed. A refusal keeps it in the editor and says why."""
    before = own_agent(request, agent_id)
    digest = None if "keep" in request.POST else request.POST.get("digest", "")
    text = request.POST.get("text", "")
    try:
        after = replace_agent_text(agent_id, text, digest)
    except Stale:
        html = render_to_string("agents/_clash.html", {"agent": before})
        return HttpResponse(replace_content("file-alert", html), status=Stale.status)
    except Refused as refusal:
        faults = of_agent(text, before)
        why = gettext("Not saved: the last good version stays in use.")
        said = alert("file-alert", why if faults else str(refusal))
        return HttpResponse(draw_faults(faults) + said, status=refusal.status)
    return HttpResponse(draw_card(after) + draw_file(after, before, gettext("As you typed it.")))


@require_POST
def new(request: HttpRequest) -> HttpResponse:
    name = " ".join(request.POST.get("name", "").split())
    values: dict[str, JsonValue] = {"name": name, "tools": dict(DEFAULT_GRANTS)}
    if "plan_mode" in request.POST:
        values["plan"] = {"enabled": True}
    try:
        if not name:
            raise Invalid(gettext("Give the agent a name."), field="name")
        return make(
            request, slug(name)[:60].strip("-") or "agent", lambda id: create_agent(id, values)
        )
    except Refused as refusal:
        return refusal_response("new-agent-alert", refusal, in_form(refusal))


@require_POST
def copy(request: HttpRequest, agent_id: str) -> HttpResponse:
    source = own_agent(request, agent_id)
    try:
        return make(request, f"{source.id}-copy"[:60], lambda id: copy_agent(source.id, id))
    except Refused as refusal:
        return refusal_response(f"agent-{agent_id}-alert", refusal)


def make(request: HttpRequest, wanted: str, create: Callable[[str], AgentRecord]) -> HttpResponse:
    """An agent under the first id that is free: wanted, wanted-2, … Its page is loaded anew."""
    for number in range(1, MOST_COPIES):
        id = wanted if number == 1 else f"{wanted}-{number}"
        try:
            made = ownership.make_agent(person(request), id, partial(create, id))
        except Conflict:
            continue
        query = urlencode({"agent": made.id})
        return HttpResponseClientRedirect(f"{reverse('agents')}?{query}")
    raise Conflict(gettext("There are too many agents called {wanted}.").format(wanted=wanted))


@require_POST
def delete(request: HttpRequest, agent_id: str) -> HttpResponse:
    """Refused with what is under way, where it is at work."""
    try:
        delete_agent(own_agent(request, agent_id).id, person(request))
    except Refused as refusal:
        return refusal_response(f"delete-{agent_id}-alert", refusal)
    return HttpResponseClientRedirect(reverse("agents"))


def own_agent(request: HttpRequest, agent_id: str) -> AgentRecord:
    try:
        return ownership.agent_of(person(request), agent_id)
    except NotFound as error:
        raise Http404 from error


def draw_card(agent: AgentRecord, *, is_news: bool = False) -> str:
    context = card_context(agent) | {"opened": agent.id, "is_news": is_news}
    return replace(f"agent-{agent.id}", render_to_string("agents/_agent.html", context))


def card_context(agent: AgentRecord) -> dict[str, object]:
    return {
        "agent": agent,
        "grants": grant_rows(agent),
        "large_offers": note_on_large_offers(agent),
        "providers": provider_names(),
        "chain_problems": problems_of(agent),
        "model_problem": model_problem(agent.file.provider, agent.file.model),
        "window": window_for(agent.file.settings()),
        "form": fields_of(agent),
        "tokens": estimate_tokens(agent.file.instructions),
    }


def draw_editor(agent: AgentRecord) -> str:
    context = {"agent": agent, "faults": of_agent(agent.text, agent)}
    return replace("file", render_to_string("agents/_edit.html", context))


def draw_file(agent: AgentRecord, before: AgentRecord | None = None, saved: str = "") -> str:
    context = file_context(agent, before, saved)
    return replace("file", render_to_string("agents/_file.html", context))


def file_context(
    agent: AgentRecord, before: AgentRecord | None = None, saved: str = ""
) -> dict[str, object]:
    """The file's lines; marked are those that have just changed, or the one that is wrong."""
    old = set(before.text.splitlines()) if before else None
    lines = [
        Line(text, number == agent.problem_line or (old is not None and text not in old))
        for number, text in enumerate(agent.text.splitlines(), 1)
    ]
    undoes = before.text if before and saved and before.text != agent.text else None
    return {"agent": agent, "lines": lines, "saved": saved, "undoes": undoes, "now": timezone.now()}
