"""The drawer's second face: a plan's versions, and what changed between two of them."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from agents.models import Conversation
from console.answers import owned, replace_text, verb
from console.versions import versions as versions_of
from console.views.conversations import person
from console.views.plans import active, seen_version
from plans import actions


@require_GET
def versions(request: HttpRequest, pk: int) -> HttpResponse:
    """The list and the comparison, and the button that goes back."""
    conversation = owned(request, pk)
    to, since = number(request.GET.get("to")), number(request.GET.get("from"))
    found = versions_of(active(conversation), person(request).username, to, since)
    if found is None:
        raise Http404
    context = {"versions": found, "conversation": conversation}
    return HttpResponse(
        replace_text("versions", render_to_string("plans/_versions.html", context))
        + replace_text("go-back", render_to_string("plans/_go_back.html", context))
    )


def number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else None


@verb(alert="plan-alert")
def go_back(request: HttpRequest, conversation: Conversation) -> None:
    """Without asking: it makes one more version."""
    wanted = number(request.POST.get("to"))
    if wanted is None:
        raise Http404
    by = person(request).username
    actions.go_back(active(conversation), wanted, by, seen_version(request))
