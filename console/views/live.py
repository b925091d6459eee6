"""The polls beside the socket. Each answers 304 from one indexed column when nothing is new."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import Sum
from django.db.models.functions import Length
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.views.decorators.http import require_GET

from agents.models import Conversation, Message
from console import fragments
from console.htmx import cursor_of


def seq_of(request: HttpRequest, pk: int) -> int:
    """The number of the conversation's last event; 404 when it is not this person's."""
    mine = Conversation.objects.filter(pk=pk, owner_id=request.user.pk, parent_call=None)
    seq = mine.values_list("seq", flat=True).first()
    if seq is None:
        raise Http404
    return seq


@require_GET
def drawer(request: HttpRequest, pk: int) -> HttpResponse:
    """Every five seconds while the drawer is open, whatever the socket says."""
    tag = f'"{pk}-{seq_of(request, pk)}"'
    return unless_known(request, tag, lambda: fragments.drawer(pk))


@require_GET
def changes(request: HttpRequest, pk: int) -> HttpResponse:
    """Every five seconds while the socket is down; text that is being written counts as news."""
    seq = seq_of(request, pk)
    growing = Message.objects.filter(conversation=pk, streaming=True)
    written = growing.aggregate(length=Sum(Length("text")))["length"]
    tag = f'"{pk}-{seq}-{written or 0}"'
    after = cursor_of(request)
    return unless_known(request, tag, lambda: fragments.changes(pk, after, growing=True)[1])


def unless_known(request: HttpRequest, tag: str, read: Callable[[], str]) -> HttpResponse:
    is_known = request.headers.get("If-None-Match") == tag
    response = HttpResponseNotModified() if is_known else HttpResponse(read())
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = "private, no-cache"
    return response
