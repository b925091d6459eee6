"""The page "Needs you": all that waits for a person, in all of their conversations.

What a card posts goes to the addresses of its plan or call: console/needs_pieces.py answers it.
"""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from console.htmx import person, unless_known
from console.need_cards import cards_of
from console.needs import waiting_now
from console.needs_pieces import MOST_SHOWN, pieces, rest_of
from console.notices import notices_of
from console.preferences import preferences
from console.sidebar import sidebar_context


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    waiting = waiting_now(request)
    context = {"waiting": waiting, "cards": cards_of(waiting.needs), **rest_of(waiting)}
    return render(request, "needs/page.html", context | sidebar_context(request, None))


@require_GET
def changes(request: HttpRequest) -> HttpResponse:
    """How much waits, for every page; for "Needs you" also the cards it does not show, and what
    became of those it `shows`."""
    waiting = waiting_now(request)
    shown = request.GET.getlist("shows")[:MOST_SHOWN] if "page" in request.GET else None
    return unless_known(request, f'"{waiting.tag}"', lambda: "".join(pieces(waiting, shown)))


@require_GET
def notices(request: HttpRequest) -> HttpResponse:
    """What a notification says of each of these, as far as the person wants to be told."""
    keys = request.GET.getlist("key")[:MOST_SHOWN]
    told = notices_of(person(request), preferences(request), keys)
    return JsonResponse({"notices": [asdict(notice) for notice in told]})
