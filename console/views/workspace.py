"""The files of a conversation's agent beside it: the tree, the one that is open, and what a person
does with them. What has changed the page asks for by itself (static/js/workspace.js)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import islice
from typing import cast, get_args

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods

from agents.errors import Conflict, Invalid, Refused
from agents.models import Conversation, Trashed
from agents.workspace import trash
from agents.workspace.files import MOST_LISTED, AgentFiles, IfTaken
from console.attachments import body_pieces
from console.components import append, partial, replace, replace_content
from console.downloads import file_response, pdf_response, zip_response
from console.form_parsing import EVENT, number
from console.htmx import own_conversation, refusal_response
from console.language import agent_name
from console.plan_marks import Marks, marks_of
from console.throttling import count_upload
from console.visible_text import visible_plain
from console.workspace import (
    OpenFile,
    Rows,
    folder_rows,
    found_rows,
    open_file,
    open_or_gone,
    stamp_of,
)

MOST_ROWS = 10_000  # of a folder that are on a page at once
MOST_FOLDERS = 100  # that are looked at in one request

View = Callable[..., HttpResponseBase]


def of_files(method: str, alert: str = "files-alert") -> Callable[[View], View]:
    """A view `do(request, files, conversation)`; a refusal is said in the element `alert`."""

    def decorate(do: View) -> View:
        @require_http_methods([method])
        @wraps(do)
        def view(request: HttpRequest, pk: int) -> HttpResponseBase:
            conversation = own_conversation(request, pk)
            try:
                return do(request, AgentFiles.of(conversation), conversation)
            except Refused as refusal:
                return refusal_response(alert, refusal)

        return view

    return decorate


def downloaded(answer: Callable[[AgentFiles, str], HttpResponseBase]) -> View:
    """A browser goes to this address by itself: what is not there is a page that says so."""

    @require_GET
    def view(request: HttpRequest, pk: int) -> HttpResponseBase:
        try:
            return answer(AgentFiles.of(own_conversation(request, pk)), request.GET.get("path", ""))
        except Refused as refusal:
            raise Http404(str(refusal)) from None

    return view


content, all_as_zip, pdf = map(downloaded, (file_response, zip_response, pdf_response))


def drawn(part: str, conversation: Conversation, **context: object) -> str:
    return render_to_string(f"workspace/_{part}.html", {"conversation": conversation, **context})


@require_GET
def panel(request: HttpRequest, pk: int) -> HttpResponse:
    """All of it, with the first folder; where there is none, why."""
    conversation = own_conversation(request, pk)
    context: dict[str, object] = {"conversation": conversation}
    try:
        files = AgentFiles.of(conversation)
        folder = folder_rows(files, "", 0, MOST_LISTED, marks_of(conversation, files))
        name = files.name if files.is_linked else agent_name(files.agent)
        context |= {"files": files, "name": name, "folder": folder}
    except Refused as refusal:
        context["refusal"] = str(refusal)
    return render(request, "workspace/_panel.html", context)


@of_files("GET")
def rows(request: HttpRequest, files: AgentFiles, conversation: Conversation) -> HttpResponse:
    """More of a folder, from `start` on; with `q` what was found."""
    marks = marks_of(conversation, files)
    if "q" in request.GET:
        words = request.GET["q"].strip()
        found = found_rows(files, words, marks) if words else Rows([])
        html = drawn("found", conversation, folder=found, words=words)
        return HttpResponse(replace("files-found", html))
    start = number(request.GET.get("start"), EVENT) or 0
    folder = folder_rows(files, request.GET.get("path", ""), start, MOST_LISTED, marks)
    html = drawn("rows", conversation, folder=folder, files=files)
    return HttpResponse(partial(f"more-{folder.id}", "outerHTML", html))


@of_files("GET")
def file(request: HttpRequest, files: AgentFiles, conversation: Conversation) -> HttpResponse:
    path, form = request.GET.get("path", ""), request.GET.get("as", "")
    marks = marks_of(conversation, files)
    opened = open_file(files, path, conversation.pk, form, marks)
    return HttpResponse(file_change(opened, files, conversation, marks))


@of_files("GET")
def refresh(request: HttpRequest, files: AgentFiles, conversation: Conversation) -> HttpResponse:
    """What has changed of the open folders and of the open file since each had its stamp."""
    asked, marks, changes = request.GET, marks_of(conversation, files), ""
    folders = zip(*map(asked.getlist, ("folder", "stamp", "most")), strict=False)
    for folder, stamp, most in islice(folders, MOST_FOLDERS):
        if stamp_of(files, folder, marks) not in ("", stamp):
            count = min(max(number(most, EVENT) or 0, MOST_LISTED), MOST_ROWS)
            now = folder_rows(files, folder, 0, count, marks)
            html = drawn("rows", conversation, folder=now, files=files)
            changes += partial(f"in-{now.id}", "innerMorph", html)
    path, seen = asked.get("path", ""), asked.get("seen", "")
    if path and stamp_of(files, path, marks) != seen:
        opened = open_or_gone(files, path, conversation.pk, asked.get("as", ""), marks)
        changes += file_change(opened, files, conversation, marks, seen)
    return HttpResponse(changes)


def file_change(
    file: OpenFile, files: AgentFiles, conversation: Conversation, marks: Marks, seen: str = ""
) -> str:
    """Draw the file; says that it has changed since the page has `seen` it."""
    stamp = stamp_of(files, file.path, marks)
    is_news = bool(seen and stamp) and seen.partition(".")[0] != stamp.partition(".")[0]
    html = drawn("file", conversation, file=file, files=files, stamp=stamp, is_news=is_news)
    return partial("file-view", "innerMorph", html)


@of_files("POST")
def upload(request: HttpRequest, files: AgentFiles, conversation: Conversation) -> HttpResponse:
    """One file, as the body of the request; asks what to do where its name is taken."""
    count_upload(files.person)
    folder, name = request.GET.get("folder", ""), request.GET.get("name", "")
    wanted = request.GET.get("if_taken", "")
    if_taken = cast(IfTaken, wanted) if wanted in get_args(IfTaken) else "refuse"
    pieces = body_pieces(request)
    try:
        path, replaced = trash.store(files, folder, name, pieces, if_taken)
    except Refused as refusal:
        html = partial("files-alert", "beforeend", f"{refusal} ")  # beside that of other files
        if isinstance(refusal, Conflict) and if_taken == "refuse":
            html = append("files-taken", drawn("taken", conversation, sentence=str(refusal)))
        return HttpResponse(html, status=refusal.status, headers=refusal.headers)
    said = gettext("Uploaded {name}").format(name=visible_plain(path))
    return done(conversation, path, replaced, said)


@of_files("POST", "files-rename-alert")
def rename(request: HttpRequest, files: AgentFiles, conversation: Conversation) -> HttpResponse:
    """Within its folder."""
    path = request.POST.get("path", "")
    folder, between, _ = path.rpartition("/")
    name = request.POST.get("name", "")
    if "/" in name:
        raise Invalid(gettext("A name cannot have a / in it."))
    now = files.rename(path, f"{folder}{between}{name}")
    return done(conversation, now)


@of_files("POST")
def delete(request: HttpRequest, files: AgentFiles, conversation: Conversation) -> HttpResponse:
    gone = trash.delete(files, request.POST.get("path", ""))
    return done(conversation, "", gone)


@of_files("POST")
def restore(request: HttpRequest, files: AgentFiles, conversation: Conversation) -> HttpResponse:
    """What was deleted, or replaced; what gives way to it can be brought back in its turn."""
    path, replaced = trash.restore(files, request.POST.get("deleted", ""))
    return done(conversation, path, replaced)


def done(
    conversation: Conversation, here: str, undo: Trashed | None = None, said: str = ""
) -> HttpResponse:
    """Answer a deed: the path that the page leads to now, and a toast with Undo."""
    status = replace("files-status", drawn("status", conversation, said=said, here=here))
    toast = drawn("toast", conversation, undo=undo, said=toast_words(undo)) if undo else ""
    return HttpResponse(status + replace_content("files-toast", toast))


def toast_words(gone: Trashed) -> str:
    words = gettext("Replaced {path}") if gone.was_replaced else gettext("Deleted {path}")
    return words.format(path=visible_plain(gone.path))
