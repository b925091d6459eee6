"""The conversation's page, the list beside it, their polls, and verbs on a whole conversation."""

from __future__ import annotations

from django.db.models import Sum
from django.db.models.functions import Length
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.actions import (
    LONGEST_MESSAGE,
    fresh_conversation,
    rename_conversation,
    save_draft,
)
from agents.config.ownership import agent_of, agents_of
from agents.conversations import deleted_of
from agents.errors import Refused
from agents.llm.catalog import is_fresh
from agents.models import Conversation, Message
from console import fragments
from console.call_progress import progress_tag
from console.components import replace
from console.conversation_state import read_state
from console.form_parsing import EVENT, number
from console.htmx import own_conversation, person, seen_by, unless_known, verb
from console.sidebar import group_of, grouped, has_put_away, sidebar_context, sidebar_tag


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The newest conversation, or an empty one to begin with."""
    own = Conversation.objects.filter(owner_id=request.user.pk, deleted_at=None, parent_call=None)
    newest = own.filter(archived_at=None).order_by("-updated_at", "-pk").first()
    if newest is None:
        agents = agents_of(person(request))
        if not agents:
            return redirect("agents")
        newest = fresh_conversation(person(request), agents[0].id)
    deleted = number(request.GET.get("deleted"), EVENT)
    address = reverse("conversation", args=[newest.pk])
    return redirect(f"{address}?deleted={deleted}" if deleted else address)


@require_GET
def conversation(request: HttpRequest, pk: int) -> HttpResponse:
    now = read_state(own_conversation(request, pk).pk)
    if now.asks_for_model:
        context = {"conversation": now.conversation, "now": now, **sidebar_context(request, pk)}
        return render(request, "conversation/first_run.html", context)
    # In the address, so that it is still shown when the page is loaded again.
    with_cleared = request.GET.get("cleared") == "true" and now.conversation.cleared_seq > 0
    found = found_message(now.conversation, number(request.GET.get("at"), EVENT))
    deleted = number(request.GET.get("deleted"), EVENT)
    context = {
        "now": now,
        "conversation": now.conversation,
        "plan": now.plan,
        "thread": fragments.thread(now, found),
        "cleared": fragments.cleared(now) if with_cleared else "",
        "gone": deleted_of(person(request)).filter(pk=deleted).first() if deleted else None,
        "undone": undone_here(now.conversation, number(request.GET.get("undone"), EVENT)),
        "excerpt": fragments.excerpt(now, found, request.GET.get("words", "")) if found else "",
        "asks_for_models": now.agent is not None and not is_fresh(now.model_in_use[0]),
        **sidebar_context(request, pk),
    }
    return render(request, "conversation/page.html", context)


def undone_here(conversation: Conversation, pk: int | None) -> Message | None:
    """The notice of what was undone just now, as long as that can be taken back."""
    notices = conversation.messages.filter(meta__undo=pk).exclude(meta__has_key="reversed")
    return notices.first() if pk is not None else None


def found_message(conversation: Conversation, pk: int | None) -> Message | None:
    """The message that the page is to open at."""
    return conversation.messages.filter(pk=pk).first() if pk is not None else None


@require_POST
def look(request: HttpRequest, pk: int) -> HttpResponse:
    """The page is in view and shows that its plan is finished: elsewhere that is no news now."""
    found = own_conversation(request, pk)
    Conversation.objects.filter(pk=found.pk).update(looked_at=timezone.now())
    return HttpResponse(status=204)


@require_GET
def sidebar(request: HttpRequest) -> HttpResponse:
    """The list, drawn anew when it is grouped another way (the choice is remembered) or has news.

    Each open page asks every two seconds, as no event of theirs tells it what happens in the
    other conversations; one short query answers that there is nothing.
    """
    user = person(request)
    group = group_of(request.GET.get("group") or request.COOKIES.get("group"))
    current = number(request.GET.get("current"), EVENT)

    def draw() -> str:
        groups = grouped(user, agents_of(user), by_date=group == "date", current=current)
        context: dict[str, object] = {"groups": groups, "has_put_away": has_put_away(user)}
        own = Conversation.objects.filter(owner_id=user.pk, deleted_at=None, parent_call=None)
        if current is not None and own.filter(pk=current).exists():
            # The conversation that the page is about: its row shows it in full.
            now = read_state(current)
            context |= {"now": now, "plan": now.plan}
        html = render_to_string("conversation/_conversations.html", context)
        return replace("conversations", html)

    tag, seq = sidebar_tag(user, group, current)
    response = unless_known(request, tag, draw)
    response.headers["Planside-Seq"] = str(seq)
    if "group" in request.GET:
        year = 60 * 60 * 24 * 365
        response.set_cookie("group", group, max_age=year, samesite="Lax", httponly=True)
    return response


@require_GET
def show_earlier(request: HttpRequest, pk: int) -> HttpResponse:
    before = number(request.GET.get("before"), EVENT)
    if before is None:
        raise Http404
    is_cleared = request.GET.get("cleared") == "true"
    now = read_state(own_conversation(request, pk).pk)
    return HttpResponse(fragments.earlier(now, before, cleared=is_cleared))


@require_GET
def turn(request: HttpRequest, pk: int, message: int) -> HttpResponse:
    """The whole turn of a message, for a page on which it began before "Show earlier"."""
    now = read_state(own_conversation(request, pk).pk)
    html = fragments.turn_of(now, message)
    if not html:
        raise Http404
    return HttpResponse(html, headers={"Planside-Seq": str(now.seq)})


# The polls beside the socket. Each answers 304 from a few indexed columns when nothing is new, and
# names the last event: a page whose socket brings nothing learns so that something is missing.


@require_GET
def drawer(request: HttpRequest, pk: int) -> HttpResponse:
    """Every five seconds while the drawer is open, whatever the socket says."""
    seq = seq_of(request, pk)
    tag = f'"{pk}-{seq}-{progress_tag(pk)}"'
    response = unless_known(request, tag, lambda: fragments.drawer(pk))
    response.headers["Planside-Seq"] = str(seq)
    return response


@require_GET
def changes(request: HttpRequest, pk: int) -> HttpResponse:
    """What the socket does not bring, every five seconds while it is down and after a POST.

    Text that is being written counts as news, and how far calls are.
    """
    seq = seq_of(request, pk)
    growing = Message.objects.filter(conversation=pk, streaming=True)
    written = growing.aggregate(length=Sum(Length("text"), default=0))["length"]
    after = number(request.GET.get("after"), EVENT) or 0
    return unless_known(
        request,
        f'"{pk}-{seq}-{written}-{progress_tag(pk)}"',
        lambda: fragments.changes(pk, after, growing=True)[1],
    )


def seq_of(request: HttpRequest, pk: int) -> int:
    """The number of the conversation's last event; 404 when it is not this person's."""
    own = Conversation.objects.filter(owner=person(request), deleted_at=None, parent_call=None)
    return get_object_or_404(own.only("seq"), pk=pk).seq


# Verbs


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """An empty conversation with an agent of one's own; without one named, the first. Opening the
    address begins nothing."""
    if request.method != "POST":
        return redirect("home")
    user = person(request)
    wanted = request.POST.get("agent") or next((a.id for a in agents_of(user)), "")
    try:
        made = fresh_conversation(user, agent_of(user, wanted).id)
        save_draft(made, request.POST.get("text", "")[:LONGEST_MESSAGE])
    except Refused as refusal:
        raise Http404(str(refusal)) from refusal
    return redirect("conversation", made.pk)


@verb(alert="rename-alert")
def rename(request: HttpRequest, conversation: Conversation, by: str) -> None:
    rename_conversation(conversation, request.POST.get("title", ""), by)


@require_POST
def draft(request: HttpRequest, pk: int) -> HttpResponse:
    text = request.POST.get("text", "")
    is_saved = save_draft(own_conversation(request, pk), text, seen_by(request))
    return HttpResponse(status=204 if is_saved else 409)
