"""How a POST from the page is answered: by the number of the last event, and by a sentence if it
was refused. What has changed comes to every open page by its socket or a poll."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from pydantic import ValidationError

from agents.errors import NotFound, Refused
from agents.models import Conversation
from console import components
from console.form_parsing import EVENT, number
from console.language import grouped
from console.needs_pieces import press_card

# What forms send, as sentences call it.
FIELDS = {
    "content": gettext_lazy("content"),
    "description": gettext_lazy("description"),
    "expected_outcome": gettext_lazy("expected outcome"),
    "goal": gettext_lazy("goal"),
    "name": gettext_lazy("name"),
    "text": gettext_lazy("text"),
    "title": gettext_lazy("title"),
}

FIELD = re.compile(r"[\w.\[\]-]{1,200}", re.ASCII)

Verb = Callable[..., str | HttpResponse | None]
View = Callable[..., HttpResponse]


def person(request: HttpRequest) -> User:
    """Whose session it is; the middleware lets nobody else in."""
    assert isinstance(request.user, User)
    return request.user


def own_conversation(request: HttpRequest, pk: int) -> Conversation:
    """The person's own conversation; what is someone else's does not exist."""
    return get_object_or_404(
        Conversation, pk=pk, owner_id=request.user.pk, deleted_at=None, parent_call=None
    )


def verb(alert: str) -> Callable[[Verb], View]:
    """A view for one verb on a conversation: `verb(request, conversation, by, …)`.

    What it returns is added to the answer. A refusal is shown in the element `alert`, which may
    name parts of the address. From a card of "Needs you", which the form names as `need`, it is
    shown there, and the answer is what became of the card. The header says which event the page
    has to show by then (static/js/requests.js: shown).
    """

    def decorate(do: Verb) -> View:
        @require_POST
        @wraps(do)
        def view(request: HttpRequest, pk: int, **where: object) -> HttpResponse:
            conversation, by = own_conversation(request, pk), request.user.get_username()
            extra: str | HttpResponse = ""
            card = request.POST.get("need")

            def act() -> str | HttpResponse:
                return do(request, conversation, by, **where) or ""

            status, sentence = 200, ""
            headers: Mapping[str, str] = {}
            try:
                extra = act() if card is None else press_card(request, conversation, act)
            except (NotFound, Http404) as gone:
                if not is_htmx(request):  # without scripts a page of its own says so
                    raise Http404 from gone
                status, sentence = 404, gettext("That is gone. Nothing was changed.")
                if isinstance(gone, NotFound):
                    sentence = str(gone)
            except Refused as refusal:
                status, sentence, headers = refusal.status, str(refusal), refusal.headers
            except ValidationError as error:
                status, sentence = 422, invalid_sentence(error)
            if isinstance(extra, HttpResponse):
                return extra
            if not is_htmx(request):
                return redirect("conversation", conversation.pk)
            conversation.refresh_from_db(fields=["seq"])
            target = alert.format(**where) if card is None else f"need-{card}-alert"
            html = components.alert(target, sentence) + extra
            headers = {**headers, "Planside-Seq": str(conversation.seq)}
            return HttpResponse(html, status=status, headers=headers)

        return view

    return decorate


def refusal_response(alert: str, refusal: Refused, sentence: str = "") -> HttpResponse:
    """Why nothing was changed, in the element `alert`."""
    html = components.alert(alert, sentence or str(refusal))
    return HttpResponse(html, status=refusal.status, headers=headers_of(refusal))


def headers_of(refusal: Refused) -> dict[str, str]:
    """The field that it is about, where the page shows it then (static/js/settings.js)."""
    is_name = FIELD.fullmatch(refusal.field)  # a key of a person's own file may be any text
    about = {"Planside-Field": refusal.field} if is_name else {}
    return {**refusal.headers, **about}


def posted(alert: str) -> Callable[[View], View]:
    """For a view that changes something and answers fragments; a refusal is shown in `alert`.

    What it answers may hold a secret that is shown once: nothing keeps it.
    """

    def decorate(do: View) -> View:
        @never_cache
        @require_POST
        @wraps(do)
        def view(request: HttpRequest, **where: object) -> HttpResponse:
            try:
                return do(request, **where)
            except Refused as refusal:
                # What a chain is called may have dots, which ids of elements have not.
                return refusal_response(alert.format(**where).replace(".", "·"), refusal)

        return view

    return decorate


def is_htmx(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def seen_by(request: HttpRequest) -> int | None:
    """The number of the last event that the page shows."""
    return number(request.headers.get("Planside-Seen"), EVENT)


def invalid_sentence(error: ValidationError) -> str:
    """One sentence for a form field that cannot be used."""
    fault = error.errors()[0]
    name = str(fault["loc"][-1]) if fault["loc"] else "text"
    field = FIELDS.get(name, name.replace("_", " "))
    if fault["type"] == "string_too_short":
        return gettext("Give it a {field}.").format(field=field)
    if fault["type"] == "string_too_long":
        most = int(fault["ctx"]["max_length"])
        words = ngettext(
            "The {field} has more than {n} character.",
            "The {field} has more than {n} characters.",
            most,
        )
        return words.format(field=field, n=grouped(most))
    return gettext("The {field} cannot be used: {problem}.").format(
        field=field, problem=fault["msg"]
    )


def unless_known(request: HttpRequest, tag: str, draw: Callable[[], str]) -> HttpResponse:
    """304 when the page has what this tag stands for, else what is drawn now."""
    # A compressed answer has the tag as W/"…".
    is_known = request.headers.get("If-None-Match", "").removeprefix("W/") == tag
    response = HttpResponseNotModified() if is_known else HttpResponse(draw())
    response.headers["ETag"] = tag
    response.headers["Cache-Control"] = "private, no-cache"
    return response
