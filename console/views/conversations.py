"""The conversation's page, its list, and what is done to it as a whole."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET, require_POST

from agents.actions import create_conversation, delete_conversation, rename_conversation, save_draft
from agents.config.ownership import agent_of, agents_of
from agents.config.store import AgentRecord
from agents.errors import Refused
from agents.models import Conversation
from console.conversation_state import ConversationState, read_state
from console.expected_version import EVENT, number
from console.fragments import cleared, earlier, replace, thread
from console.htmx import owned, verb
from console.sidebar import grouped, newest_among
from console.views.live import unless_known


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
    now = read_state(owned(request, pk).pk)
    context = {
        "now": now,
        "conversation": now.conversation,
        "plan": now.plan,
        "thread": thread(now),
        "cleared": cleared(now) if wants_cleared(request, now) else "",
        **sidebar_context(request, pk),
    }
    return render(request, "conversation/page.html", context)


def wants_cleared(request: HttpRequest, now: ConversationState) -> bool:
    """In the address, so that it is still shown when the page is loaded again."""
    return request.GET.get("cleared") == "true" and now.conversation.cleared_seq > 0


def sidebar_context(request: HttpRequest, current: int | None) -> dict[str, object]:
    group = chosen_group(request.COOKIES.get("group"))
    agents = agents_of(person(request))
    return {
        "group": group,
        "agents": agents,
        "groups": groups(request, agents, group, current),
        "list_tag": tag_of(request, group, current),
    }


def chosen_group(group: str | None) -> str:
    return "date" if group == "date" else "agent"


def tag_of(request: HttpRequest, group: str, current: int | None) -> str:
    return f'"{group}-{newest_among(person(request), current)}"'


def groups(
    request: HttpRequest, agents: list[AgentRecord], group: str, current: int | None
) -> object:
    return grouped(person(request), agents, by_date=group == "date", current=current)


@require_GET
def sidebar(request: HttpRequest) -> HttpResponse:
    """The list, drawn anew when it is grouped another way (the choice is remembered) or has news.

    Each open page asks every two seconds, as nobody tells it what happens in the other
    conversations; one short query answers that there is nothing.
    """
    group = chosen_group(request.GET.get("group") or request.COOKIES.get("group"))
    current = request.GET.get("current", "")
    pk = number(current, EVENT)

    def drawn() -> str:
        shown = groups(request, agents_of(person(request)), group, pk)
        context = {"groups": shown, **present_context(request, pk)}
        return replace(
            "conversations", render_to_string("conversation/_conversations.html", context)
        )

    response = unless_known(request, tag_of(request, group, pk), drawn)
    if "group" in request.GET:
        keep = 60 * 60 * 24 * 365
        response.set_cookie("group", group, max_age=keep, samesite="Lax", httponly=True)
    return response


def present_context(request: HttpRequest, pk: int | None) -> dict[str, object]:
    """The conversation that the page is about, which its row shows in full."""
    mine = Conversation.objects.filter(owner_id=request.user.pk, parent_call=None)
    if pk is None or not mine.filter(pk=pk).exists():
        return {}
    now = read_state(pk)
    return {"now": now, "plan": now.plan}


@require_GET
def show_earlier(request: HttpRequest, pk: int) -> HttpResponse:
    before = number(request.GET.get("before"), EVENT)
    if before is None:
        raise Http404
    is_cleared = request.GET.get("cleared") == "true"
    return HttpResponse(earlier(read_state(owned(request, pk).pk), before, cleared=is_cleared))


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
