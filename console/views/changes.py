"""What a subtask, a plan or a reply changed: the page, single files, the patch, and the undo."""

from __future__ import annotations

from pathlib import Path

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from agents.changes.compare import Version
from agents.changes.store import Store, StoreBroken
from agents.changes.undo import Preview, PreviewChanged, Wanted
from agents.errors import Refused
from agents.models import Conversation
from agents.tools.images import NotShown, image_of
from console.call_images import HEADERS
from console.changes.changed_files import (
    address,
    commands_in,
    listed_files,
    one_file,
    scope_of,
)
from console.changes.undo_rows import undo_rows
from console.components import append, remove, replace, replace_content
from console.conversation_state import read_state
from console.form_parsing import number
from console.htmx import own_conversation, verb
from plans import actions
from plans.changes.scope import Scope
from plans.models import Plan

VARIES = "Cookie, Authorization"


@require_GET
def page(request: HttpRequest, pk: int) -> HttpResponse:
    now = read_state(own_conversation(request, pk).pk)
    scope = scope_of(request, now.conversation)
    files = listed_files(scope, number(request.GET.get("page")) or 1)
    origin = origin_of(request, scope)
    is_shown = scope.plan is not None and now.plan is not None and now.plan.id == scope.plan.pk
    context = {
        "now": now,
        "conversation": now.conversation,
        "plan": now.plan if is_shown else None,
        "scope": scope,
        "title": title_of(scope),
        "sums": scope.changes.sums,
        "files": files,
        "earlier": other_page(request, files.page.number - 1) if files.page.has_previous() else "",
        "later": other_page(request, files.page.number + 1) if files.page.has_next() else "",
        "back": back_to(origin or scope),
        "opens_undo": "undo" in request.GET,
        "may_undo": may_undo(scope),
        "whole": whole_address(scope, now.plan.id if now.plan else None),
        "origin": origin,
    }
    return render(request, "changes/page.html", context)


def title_of(scope: Scope) -> str:
    if scope.turn is not None:
        return gettext("Changes of this reply")
    if scope.subtask is None:
        return gettext("Changes of the plan")
    return gettext("Changes of subtask {number}").format(number=scope.number)


def may_undo(scope: Scope) -> bool:
    """Whether something is left that could be taken back."""
    changes = scope.changes
    changed = changes.sums.files or changes.sums.unsure
    return bool(changes.kept and changed) and not scope.taken_back.at


def other_page(request: HttpRequest, page: int) -> str:
    """Of the same files, whatever led to them."""
    query = request.GET.copy()
    query["page"] = str(page)
    query.pop("undo", None)
    return f"?{query.urlencode()}"


def back_to(scope: Scope) -> str:
    """The conversation, at the link that led here."""
    back = reverse("conversation", args=[scope.conversation.pk])
    if scope.turn is not None:
        return f"{back}#turn-{scope.turn.pk}"
    return f"{back}#subtask-{scope.plan.pk}-{scope.key}" if scope.plan and scope.key else back


def whole_address(scope: Scope, current: int | None) -> str:
    """Of the whole plan, beside one of its subtasks, or beside a turn where the plan in the drawer
    has changed files. It leads back, too."""
    if scope.turn is not None:
        plan = Plan.objects.filter(pk=current or 0).first()
        is_changed = plan is not None and Scope(plan).changes.ended
        return address(Scope(plan), from_turn=scope.turn.pk) if plan and is_changed else ""
    return address(Scope(scope.plan), **{"from": scope.key}) if scope.plan and scope.key else ""


def origin_of(request: HttpRequest, scope: Scope) -> Scope | None:
    """The subtask or turn that led to the whole plan."""
    plan = scope.about
    if not isinstance(plan, Plan):
        return None
    if subtask := plan.subtasks.filter(key=request.GET.get("from", "")).first():
        return Scope(subtask)
    turn = scope.conversation.turns.filter(pk=number(request.GET.get("from_turn")) or 0).first()
    return Scope(turn) if turn else None


@require_GET
def file(request: HttpRequest, pk: int) -> HttpResponse:
    """One file with all of its lines."""
    scope = scope_of(request, own_conversation(request, pk))
    given = (request.GET.get("path", ""), request.GET.get("origin", ""), request.GET.get("id", ""))
    try:
        found = one_file(scope, *given)
    except Refused as refusal:
        raise Http404(str(refusal)) from None
    return render(request, "changes/_file_body.html", {"file": found})


@require_GET
def blob(request: HttpRequest, pk: int) -> HttpResponse:
    """One side of a file: a picture to be shown, or with `save` anything to be saved."""
    scope = scope_of(request, own_conversation(request, pk))
    try:
        change = scope.changes.change_of(request.GET.get("path", ""), request.GET.get("origin", ""))
        side = change.old if request.GET.get("side") == "old" else change.new
        content = content_of(scope, side)
        if "save" not in request.GET:
            return picture(content)
    except (Refused, NotShown, StoreBroken) as refusal:
        raise Http404(str(refusal)) from None
    name = content_disposition_header(as_attachment=True, filename=change.path.rpartition("/")[2])
    headers = {**HEADERS, "Content-Disposition": name or "attachment", "Vary": VARIES}
    return HttpResponse(content, "application/octet-stream", headers=headers)


def content_of(scope: Scope, side: Version | None) -> bytes:
    if side is None:
        raise Http404
    with Store.of(Path(scope.changes.root)) as store:
        return store.read(side.entry.oid)


def picture(content: bytes) -> HttpResponse:
    """One of four kinds, by what its bytes say. Raises NotShown."""
    image = image_of(content)
    headers = {**HEADERS, "Content-Disposition": "inline", "Vary": VARIES}
    return HttpResponse(image.data, image.media_type, headers=headers)


@require_GET
def patch(request: HttpRequest, pk: int) -> HttpResponse:
    """The turns' own changes, as git takes them."""
    scope = scope_of(request, own_conversation(request, pk))
    headers = {**HEADERS, "Content-Disposition": 'attachment; filename="changes.patch"'}
    text = scope.changes.patch()
    return HttpResponse(
        text.encode(errors="surrogateescape"),
        "application/octet-stream",
        headers={**headers, "Vary": VARIES, "Cache-Control": "private, no-store"},
    )


# The undo


@require_GET
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """The dialog: what would happen to each file."""
    scope = scope_of(request, own_conversation(request, pk))
    if start := number(request.GET.get("start")):
        return HttpResponse(more_rows(scope, start))
    return HttpResponse(replace_content("undo-slot", undo_dialog(scope)))


def undo_dialog(scope: Scope, refused: str = "") -> str:
    try:
        found = actions.preview_changes(scope)
    except Refused as refusal:
        found, refused = Preview([]), str(refusal)
    kept = [row for row in found.rows if row.fate != "not_kept"]
    context = {
        **rows_context(found, scope),
        "conversation": scope.conversation,
        "seen": found.digest,
        "refused": refused,
        "may_undo": bool(kept),
        "takes_any": any(not row.needs_word for row in kept),
        "commands": commands_in(scope),
    }
    return render_to_string("changes/_undo.html", context)


def rows_context(found: Preview, scope: Scope, start: int = 0) -> dict[str, object]:
    rows, count = undo_rows(found, scope, start), len(found.rows)
    end = start + len(rows)
    more = {"more": count - end, "more_address": address(scope, "undo-preview", start=end)}
    return {"scope": scope, "rows": rows, "start": start, "count": count, **more}


def more_rows(scope: Scope, start: int) -> str:
    """What the dialog did not draw at first, below what it has."""
    try:
        context = rows_context(actions.preview_changes(scope), scope, start)
    except Refused as refusal:
        return replace_content("undo-slot", undo_dialog(scope, str(refusal)))
    rows = append("restore-list", render_to_string("changes/_undo_rows.html", context))
    button = render_to_string("changes/_undo_more.html", context)
    return rows + (replace("restore-more", button) if context["more"] else remove("restore-more"))


@require_POST
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """At once; where a file has changed since the preview, the preview anew."""
    scope = scope_of(request, own_conversation(request, pk))
    forced = tuple(request.POST.getlist("restore"))
    wanted = Wanted(None, forced, request.POST.get("seen", ""))
    by = request.user.get_username()
    try:
        row = actions.undo_changes(scope, by, wanted)
    except Refused as refusal:
        status = refusal.status if not isinstance(refusal, PreviewChanged) else 409
        html = replace_content("undo-slot", undo_dialog(scope, str(refusal)))
        return HttpResponse(html, status=status)
    back = f"{reverse('conversation', args=[pk])}?undone={row.pk}"
    if request.headers.get("HX-Request") != "true":
        return redirect(back)
    return HttpResponse(headers={"HX-Redirect": back})


@verb(alert="say-alert")
def reverse_undo(request: HttpRequest, conversation: Conversation, by: str, undo: int) -> None:
    row = get_object_or_404(conversation.undos, pk=undo)
    actions.undo_changes(Scope(row), by)
