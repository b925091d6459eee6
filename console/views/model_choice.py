"""Which model answers in a conversation, or one reply again: chosen from what providers list."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from agents import actions
from agents.db import in_db
from agents.errors import RateLimited
from agents.llm import discovery
from agents.models import Conversation
from console.attachments import has_pictures
from console.components import replace
from console.conversation_state import read_state
from console.htmx import own_conversation, person, refusal_response, verb
from console.model_choices import choices_of, choices_of_agent, recent_choices
from console.throttling import count_test
from console.views.agents import own_agent
from console.views.first_run import may_discover


async def choices(request: HttpRequest, pk: int) -> HttpResponse:
    """The list, narrowed to what is looked for. With `ask` providers are asked before, with `anew`
    those too that were asked lately, both within what a person may have asked."""
    await in_db(own_conversation, request, pk)
    return await ask_providers(request) or HttpResponse(await in_db(draw, request, pk))


async def choices_of_an_agent(request: HttpRequest, agent_id: str) -> HttpResponse:
    """The same list for the agent's own model, in Settings."""
    await in_db(own_agent, request, agent_id)
    refused = await ask_providers(request)
    return refused or HttpResponse(await in_db(draw_of_agent, request, agent_id))


async def ask_providers(request: HttpRequest) -> HttpResponse | None:
    """Before the list is drawn, where the page wants it; or why they are not asked."""
    if "anew" in request.GET:
        try:
            await in_db(count_test, person(request).pk)
        except RateLimited as refusal:
            return refusal_response("model-alert", refusal)
        await discovery.discover(anew=True)
    elif "ask" in request.GET and await in_db(may_discover, request):
        await discovery.discover()
    return None


def draw(request: HttpRequest, pk: int) -> str:
    now = read_state(own_conversation(request, pk).pk)
    context = {"now": now, "choices": choices_of(now, request.GET.get("find", ""))}
    return replace("model-choices", render_to_string("conversation/_model_choices.html", context))


def draw_of_agent(request: HttpRequest, agent_id: str) -> str:
    agent, find = own_agent(request, agent_id), request.GET.get("find", "")
    context = {"choices": choices_of_agent(agent, person(request).pk, find)}
    return replace("model-choices", render_to_string("conversation/_model_choices.html", context))


@require_GET
def recent(request: HttpRequest, pk: int) -> HttpResponse:
    """The models that a reply may be asked for again with, without a search; those that would get
    the names of pictures alone."""
    now = read_state(own_conversation(request, pk).pk)
    recent = recent_choices(now)
    shows_pictures = has_pictures(now.conversation)
    blind = [each.value for each in recent if shows_pictures and each.is_blind]
    context = {"now": now, "recent": recent, "blind": blind}
    return HttpResponse(
        replace("again-models", render_to_string("conversation/_again_models.html", context))
    )


@verb(alert="say-alert")
def choose(request: HttpRequest, conversation: Conversation, by: str) -> None:
    """From the next message on; none is the agent's own."""
    actions.choose_model(conversation, request.POST.get("model", ""), by)
