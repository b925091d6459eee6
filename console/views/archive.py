"""Conversations out of the list: pinned, archived, deleted and taken back; their export."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from agents import conversations
from agents.errors import Refused
from agents.models import Conversation
from console.components import replace_content
from console.exports import exported
from console.form_parsing import EVENT, number
from console.htmx import is_htmx, own_conversation, person, verb
from console.sidebar import sidebar_context

MOST = 200  # conversations on the page
FROM_LIST = "?place=list"  # what is done in the menu of a row is answered beside the list


@require_GET
def archive(request: HttpRequest) -> HttpResponse:
    """What is archived, and what was deleted lately."""
    own = Conversation.objects.filter(owner=person(request), parent_call=None, deleted_at=None)
    context = {
        "archived": own.filter(archived_at__isnull=False).order_by("-archived_at")[:MOST],
        "deleted": conversations.deleted_of(person(request))[:MOST],
    }
    return render(request, "archive/page.html", context | sidebar_context(request, None))


@require_GET
def row_menu(request: HttpRequest, pk: int) -> HttpResponse:
    """What can be done with a conversation of the list, for the one menu that its rows share."""
    context = {
        "conversation": own_conversation(request, pk),
        "of": "row",
        "where": FROM_LIST,
        "is_elsewhere": number(request.GET.get("current"), EVENT) != pk,
    }
    html = render_to_string("conversation/_menu_entries.html", context, request)
    return HttpResponse(replace_content("row-menu-entries", html))


@verb(alert="say-alert")
def pin(request: HttpRequest, conversation: Conversation, by: str) -> None:
    conversations.pin_conversation(conversation, request.POST.get("pinned") == "true", by)


@verb(alert="say-alert")
def put_away(request: HttpRequest, conversation: Conversation, by: str) -> str | HttpResponse:
    """Archived, or put back, with an Undo."""
    archived = request.POST.get("archived") == "true"
    conversations.archive_conversation(conversation, archived, by)
    if not is_htmx(request):
        return redirect("archive")
    return toast(request, "archive/_toast.html", conversation=conversation, archived=archived)


def toast(request: HttpRequest, template: str, **context: object) -> str:
    """With an Undo, where it was done: in the list of conversations, or above the message box."""
    is_in_list = request.GET.get("place") == "list"
    where = FROM_LIST if is_in_list else ""
    html = render_to_string(template, {**context, "where": where}, request)
    return replace_content("list-toast" if is_in_list else "toast", html)


@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """At once; the page after it, or the list, offers to take it back."""
    gone = own_conversation(request, pk)
    conversations.delete_conversation(gone, person(request).username)
    if is_htmx(request):
        return HttpResponse(toast(request, "archive/_deleted.html", gone=gone))
    if request.POST.get("next") == "archive":
        return redirect("archive")
    return redirect(f"{reverse('home')}?deleted={pk}")


@require_POST
def restore(request: HttpRequest, pk: int) -> HttpResponse:
    try:
        conversations.restore_conversation(person(request), pk, person(request).username)
    except Refused as refusal:
        raise Http404(str(refusal)) from refusal
    return HttpResponse(status=204) if is_htmx(request) else redirect("conversation", pk)


@require_GET
def export(request: HttpRequest, pk: int, form: str) -> HttpResponse:
    return exported(request, own_conversation(request, pk), form)
