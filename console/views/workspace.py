"""The files of a conversation's agent beside it: the tree, the one that is open, and what a person
does with them. A refusal is a sentence that the page says where it happened."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import cast, get_args

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from agents.errors import Invalid, Refused
from agents.models import Conversation, Trashed
from agents.workspace import files, trash
from agents.workspace.files import MOST_LISTED, IfTaken, Place, place_in
from console.attachments import body_pieces
from console.downloads import file_response, pdf_response, zip_response
from console.form_parsing import EVENT, number
from console.htmx import own_conversation
from console.language import agent_name
from console.plan_marks import marks_of
from console.throttling import count_upload
from console.visible_text import visible_plain
from console.workspace import folder_rows, found_rows, open_file

MOST_ROWS = 10_000  # of a folder that are on a page at once
MOST_STAMPS = 200
TEXT = "text/plain; charset=utf-8"

View = Callable[..., HttpResponseBase]


def of_place(do: View) -> View:
    """A view `do(request, place, conversation)`; what is refused is answered in a sentence."""

    @wraps(do)
    def view(request: HttpRequest, pk: int) -> HttpResponseBase:
        conversation = own_conversation(request, pk)
        try:
            return do(request, place_in(conversation), conversation)
        except Refused as refusal:
            return HttpResponse(str(refusal), TEXT, refusal.status, headers=refusal.headers)

    return view


def downloaded(do: View) -> View:
    """A browser goes to this address by itself: what is not there is a page that says so."""

    @require_GET
    @wraps(do)
    def view(request: HttpRequest, pk: int) -> HttpResponseBase:
        try:
            return do(request, place_in(own_conversation(request, pk)))
        except Refused as refusal:
            raise Http404(str(refusal)) from None

    return view


@require_GET
def panel(request: HttpRequest, pk: int) -> HttpResponse:
    """All of it, with the first folder; where there is none, why."""
    conversation = own_conversation(request, pk)
    context: dict[str, object] = {"conversation": conversation}
    try:
        place = place_in(conversation)
        marks = marks_of(conversation, place)
        folder = folder_rows(place, "", 1, 0, MOST_LISTED, marks)
        name = place.name if place.is_linked else agent_name(place.agent)
        context |= {"place": place, "name": name, "folder": folder, "marks": marks}
    except Refused as refusal:
        context["refusal"] = str(refusal)
    return render(request, "workspace/_panel.html", context)


@require_GET
@of_place
def rows(request: HttpRequest, place: Place, conversation: Conversation) -> HttpResponse:
    """A folder from `start` on, or with `q` what was found."""
    marks = marks_of(conversation, place)
    if words := request.GET.get("q", "").strip():
        return render(request, "workspace/_rows.html", {"folder": found_rows(place, words, marks)})
    level = number(request.GET.get("level"), EVENT) or 1
    start = number(request.GET.get("start"), EVENT) or 0
    most = number(request.GET.get("most"), EVENT) or MOST_LISTED
    path = request.GET.get("path", "")
    folder = folder_rows(place, path, level, start, min(most, MOST_ROWS), marks)
    return render(request, "workspace/_rows.html", {"folder": folder})


@require_GET
@of_place
def file(request: HttpRequest, place: Place, conversation: Conversation) -> HttpResponse:
    path, form = request.GET.get("path", ""), request.GET.get("as", "")
    shown = open_file(place, path, conversation.pk, form, marks_of(conversation, place))
    context = {"file": shown, "place": place, "conversation": conversation}
    return render(request, "workspace/_file.html", context)


@require_GET
@of_place
def stamps(request: HttpRequest, place: Place, conversation: Conversation) -> HttpResponse:
    """What stands for each of these paths now, in their order; asked for every few seconds."""
    files = place.files
    now = [files.stamp(each) for each in request.GET.getlist("path")[:MOST_STAMPS]]
    return JsonResponse({"stamps": now, "marks": marks_of(conversation, place).tag})


@downloaded
def content(request: HttpRequest, place: Place) -> HttpResponseBase:
    return file_response(place, request.GET.get("path", ""))


@downloaded
def all_as_zip(request: HttpRequest, place: Place) -> HttpResponseBase:
    return zip_response(place, request.GET.get("path", ""))


@downloaded
def pdf(request: HttpRequest, place: Place) -> HttpResponseBase:
    return pdf_response(place, request.GET.get("path", ""))


@require_POST
@of_place
def upload(request: HttpRequest, place: Place, conversation: Conversation) -> HttpResponse:
    """One file, as the body of the request."""
    count_upload(place.person)
    folder, name = request.GET.get("folder", ""), request.GET.get("name", "")
    wanted = request.GET.get("if_taken", "")
    if_taken = cast(IfTaken, wanted) if wanted in get_args(IfTaken) else "refuse"
    return put(*trash.store(place, folder, name, body_pieces(request), if_taken))


@require_POST
@of_place
def rename(request: HttpRequest, place: Place, conversation: Conversation) -> HttpResponse:
    """Within its folder."""
    path = request.POST.get("path", "")
    folder, between, _ = path.rpartition("/")
    name = request.POST.get("name", "")
    if "/" in name:
        raise Invalid(gettext("A name cannot have a / in it."))
    return JsonResponse({"path": files.rename(place, path, f"{folder}{between}{name}")})


@require_POST
@of_place
def delete(request: HttpRequest, place: Place, conversation: Conversation) -> HttpResponse:
    gone = trash.delete(place, request.POST.get("path", ""))
    said = gettext("Deleted {path}").format(path=visible_plain(gone.path))
    return JsonResponse({"deleted": gone.key, "said": said})


@require_POST
@of_place
def restore(request: HttpRequest, place: Place, conversation: Conversation) -> HttpResponse:
    """What was deleted, or replaced."""
    return put(*trash.restore(place, request.POST.get("deleted", "")))


def put(path: str, replaced: Trashed | None) -> HttpResponse:
    if replaced is None:
        return JsonResponse({"path": path})
    said = gettext("Replaced {path}").format(path=visible_plain(path))
    return JsonResponse({"path": path, "deleted": replaced.key, "said": said})
