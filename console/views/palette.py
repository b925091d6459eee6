"""What Ctrl K finds and offers, drawn while a person types."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from agents.models import Conversation
from agents.words import LONGEST_QUESTION
from console import palette
from console.components import replace
from console.form_parsing import EVENT, number
from console.htmx import person

KINDS = ("conversations", "messages", "plans")


@require_GET
def find(request: HttpRequest) -> HttpResponse:
    """`only` is one kind, of which all is shown; `here` is the conversation that the page shows."""
    user, only = person(request), request.GET.get("only", "")
    here = number(request.GET.get("here"), EVENT) or 0
    found = palette.results(
        user,
        request.GET.get("q", "")[:LONGEST_QUESTION],
        only if only in KINDS else "",
        Conversation.objects.filter(pk=here, owner=user, deleted_at=None, parent_call=None).first(),
    )
    html = render_to_string("palette/_results.html", {"results": found})
    return HttpResponse(replace("palette-results", html))
