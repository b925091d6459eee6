"""The conversation's page, its list, and what is done to it as a whole."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET, require_POST

from agents.actions import create_conversation, delete_conversation, rename_conversation, save_draft
from agents.agent_file.owners import agent_of, agents_of
from agents.agent_file.record import AgentRecord
from agents.errors import Refused
from agents.models import Conversation
from console.answers import owned, verb
from console.fragments import earlier, replace, thread
from console.present import look
from console.sidebar import grouped


def person(request: HttpRequest) -> User:
    """Whose session it is; the middleware lets nobody else in."""
    assert isinstance(request.user, User)
    return request.user


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The newest conversation, or an empty one to begin with."""
    mine = Conversation.objects.filter(owner_id=request.user.pk, parent_call=None)
    newest = mine.order_by("-updated_at", "-pk").first()
    if newest is not None:
        return redirect("conversation", newest.pk)
    agents = agents_of(person(request))
    if not agents:
        return redirect("agents")
    return redirect("conversation", create_conversation(person(request), agents[0].id).pk)


@require_GET
def conversation(request: HttpRequest, pk: int) -> HttpResponse:
    now = look(owned(request, pk).pk)
    context = {
        "now": now,
        "conversation": now.conversation,
        "plan": now.plan,
        "thread": thread(now),
        **sidebar_context(request, pk),
    }
    return render(request, "conversation/page.html", context)


def sidebar_context(request: HttpRequest, current: int | None) -> dict[str, object]:
    group = "date" if request.COOKIES.get("group") == "date" else "agent"
    agents = agents_of(person(request))
    return {"group": group, "agents": agents, "groups": groups(request, agents, group, current)}


def groups(
    request: HttpRequest, agents: list[AgentRecord], group: str, current: int | None
) -> object:
    return grouped(person(request), agents, by_date=group == "date", current=current)


@require_GET
def sidebar(request: HttpRequest) -> HttpResponse:
    """The list grouped another way; the choice is remembered."""
    group = "date" if request.GET.get("group") == "date" else "agent"
    current = request.GET.get("current", "")
    shown = groups(
        request, agents_of(person(request)), group, int(current) if current.isdecimal() else None
    )
    html = render_to_string("conversation/_conversations.html", {"groups": shown})
    response = HttpResponse(replace("conversations", html))
    response.set_cookie("group", group, max_age=60 * 60 * 24 * 365, samesite="Lax", httponly=True)
    return response


@require_GET
def show_earlier(request: HttpRequest, pk: int) -> HttpResponse:
    before = request.GET.get("before", "")
    if not before.isdecimal():
        raise Http404
    return HttpResponse(earlier(look(owned(request, pk).pk), int(before)))


@require_POST
def new(request: HttpRequest) -> HttpResponse:
    """A new conversation with an agent of one's own; without one named, the first."""
    wanted = request.POST.get("agent") or next((a.id for a in agents_of(person(request))), "")
    try:
        agent = agent_of(person(request), wanted)
        made = create_conversation(person(request), agent.id)
    except Refused as refusal:
        raise Http404(str(refusal)) from refusal
    return redirect("conversation", made.pk)


@verb(alert="rename-alert")
def rename(request: HttpRequest, conversation: Conversation) -> None:
    rename_conversation(conversation, request.POST.get("title", ""), person(request).username)


@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    delete_conversation(owned(request, pk), person(request).username)
    return redirect("home")


@require_POST
def draft(request: HttpRequest, pk: int) -> HttpResponse:
    save_draft(owned(request, pk), request.POST.get("text", ""))
    return HttpResponse(status=204)
