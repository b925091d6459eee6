"""What a subtask, a plan or a reply changed: the page, single files, the patch, and the undo."""

from __future__ import annotations

from pathlib import Path

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_POST

from agents.changes.compare import Version
from agents.changes.store import Store, StoreBroken
from agents.changes.undo import Preview, PreviewChanged, Wanted
from agents.errors import Refused
from agents.models import Conversation, Undo
from agents.tools.images import NotShown, image_of
from console.call_images import HEADERS
from console.changed_files import Subject, listed_files, one_change, one_file, subject_of
from console.components import append, remove, replace, replace_content
from console.conversation_state import read_state
from console.form_parsing import number
from console.htmx import own_conversation, verb
from console.undo_rows import undo_rows
from plans import actions
from plans.models import Plan

VARIES = "Cookie, Authorization"


@require_GET
def page(request: HttpRequest, pk: int) -> HttpResponse:
    now = read_state(own_conversation(request, pk).pk)
    subject = subject_of(request, now.conversation)
    files = listed_files(subject, number(request.GET.get("page")) or 1)
    origin = origin_of(request, subject)
    context = {
        "now": now,
        "conversation": now.conversation,
        "plan": now.plan
        if subject.plan and now.plan and now.plan["id"] == subject.plan.pk
        else None,
        "subject": subject,
        "sums": subject.changes.sums,
        "files": files,
        "earlier": other_page(request, files.page - 1) if files.has_earlier else "",
        "later": other_page(request, files.page + 1) if files.has_later else "",
        "back": back_to(origin or subject),
        "opens_undo": "undo" in request.GET,
        "may_undo": may_undo(subject),
        "whole": whole_address(subject, now.plan["id"] if now.plan else None),
        "origin": origin,
    }
    return render(request, "changes/page.html", context)


def may_undo(subject: Subject) -> bool:
    """Whether something is left that could be taken back."""
    changes = subject.changes
    changed = changes.sums.files or changes.sums.unsure
    return bool(changes.kept and changed) and not subject.taken_back.at


def other_page(request: HttpRequest, page: int) -> str:
    """Of the same files, whatever led to them."""
    query = request.GET.copy()
    query["page"] = str(page)
    query.pop("undo", None)
    return f"?{query.urlencode()}"


def back_to(subject: Subject) -> str:
    """The conversation, at the link that led here."""
    address = reverse("conversation", args=[subject.conversation.pk])
    if subject.turn is not None:
        return f"{address}#turn-{subject.turn.pk}"
    assert subject.plan is not None
    return f"{address}#subtask-{subject.plan.pk}-{subject.key}" if subject.key else address


def whole_plan_of(subject: Subject, current: int | None) -> Subject | None:
    """The whole plan, beside one of its subtasks, or beside a turn where it has changed files."""
    if subject.turn is not None:
        plan = Plan.objects.filter(pk=current or 0).first()
        whole = Subject(subject.conversation, plan) if plan else None
        return whole if whole and whole.changes.ended else None
    if not subject.key:
        return None
    return Subject(subject.conversation, subject.plan)


def whole_address(subject: Subject, current: int | None) -> str:
    """It leads back, too."""
    whole = whole_plan_of(subject, current)
    came = {"from_turn": subject.turn.pk} if subject.turn else {"from": subject.key}
    return whole.address("changed-files", **came) if whole else ""


def origin_of(request: HttpRequest, subject: Subject) -> Subject | None:
    """The subtask or turn that led to the whole plan."""
    conversation, plan = subject.conversation, subject.plan
    if plan is None or subject.key:
        return None
    key = request.GET.get("from", "")
    if key and plan.subtasks.filter(key=key).exists():
        return Subject(conversation, plan, key)
    turn = conversation.turns.filter(pk=number(request.GET.get("from_turn")) or 0).first()
    return Subject(conversation, turn=turn) if turn else None


@require_GET
def file(request: HttpRequest, pk: int) -> HttpResponse:
    """One file with all of its lines."""
    subject = subject_of(request, own_conversation(request, pk))
    given = (request.GET.get("path", ""), request.GET.get("origin", ""), request.GET.get("id", ""))
    try:
        found = one_file(subject, *given)
    except Refused as refusal:
        raise Http404(str(refusal)) from None
    return render(request, "changes/_file_body.html", {"file": found})


@require_GET
def blob(request: HttpRequest, pk: int) -> HttpResponse:
    """One side of a file: a picture to be shown, or with `save` anything to be saved."""
    subject = subject_of(request, own_conversation(request, pk))
    try:
        change = one_change(subject, request.GET.get("path", ""), request.GET.get("origin", ""))
        side = change.old if request.GET.get("side") == "old" else change.new
        content = content_of(subject, side)
        if "save" not in request.GET:
            return picture(content)
    except (Refused, NotShown, StoreBroken) as refusal:
        raise Http404(str(refusal)) from None
    name = content_disposition_header(as_attachment=True, filename=change.path.rpartition("/")[2])
    headers = {**HEADERS, "Content-Disposition": name or "attachment", "Vary": VARIES}
    return HttpResponse(content, "application/octet-stream", headers=headers)


def content_of(subject: Subject, side: Version | None) -> bytes:
    if side is None:
        raise Http404
    with Store.of(Path(subject.changes.root)) as store:
        return store.read(side.entry.oid)


def picture(content: bytes) -> HttpResponse:
    """One of four kinds, by what its bytes say. Raises NotShown."""
    image = image_of(content)
    headers = {**HEADERS, "Content-Disposition": "inline", "Vary": VARIES}
    return HttpResponse(image.data, image.media_type, headers=headers)


@require_GET
def patch(request: HttpRequest, pk: int) -> HttpResponse:
    """The turns' own changes, as git takes them."""
    subject = subject_of(request, own_conversation(request, pk))
    headers = {**HEADERS, "Content-Disposition": 'attachment; filename="changes.patch"'}
    text = subject.changes.patch()
    return HttpResponse(
        text.encode(errors="surrogateescape"),
        "application/octet-stream",
        headers={**headers, "Vary": VARIES, "Cache-Control": "private, no-store"},
    )


# The undo


@require_GET
def preview(request: HttpRequest, pk: int) -> HttpResponse:
    """The dialog: what would happen to each file."""
    subject = subject_of(request, own_conversation(request, pk))
    if start := number(request.GET.get("start")):
        return HttpResponse(more_rows(subject, start))
    return HttpResponse(replace_content("undo-slot", undo_dialog(subject)))


def undo_dialog(subject: Subject, refused: str = "") -> str:
    try:
        found = previewed(subject)
    except Refused as refusal:
        found, refused = Preview([], ""), str(refusal)
    kept = [row for row in found.rows if row.fate != "not_kept"]
    context = {
        **rows_context(found, subject),
        "conversation": subject.conversation,
        "seen": found.digest,
        "refused": refused,
        "may_undo": bool(kept),
        "takes_any": any(not row.needs_word for row in kept),
        "commands": subject.commands(),
    }
    return render_to_string("changes/_undo.html", context)


def rows_context(found: Preview, subject: Subject, start: int = 0) -> dict[str, object]:
    rows, count = undo_rows(found, subject, start), len(found.rows)
    end = start + len(rows)
    address = subject.address("undo-preview", start=end)
    given = {"subject": subject, "rows": rows, "start": start, "count": count}
    return {**given, "more": count - end, "more_address": address}


def more_rows(subject: Subject, start: int) -> str:
    """What the dialog did not draw at first, below what it has."""
    try:
        context = rows_context(previewed(subject), subject, start)
    except Refused as refusal:
        return replace_content("undo-slot", undo_dialog(subject, str(refusal)))
    rows = append("restore-list", render_to_string("changes/_undo_rows.html", context))
    button = render_to_string("changes/_undo_more.html", context)
    return rows + (replace("restore-more", button) if context["more"] else remove("restore-more"))


def previewed(subject: Subject) -> Preview:
    if subject.turn is not None:
        return actions.preview_turn(subject.turn)
    assert subject.plan is not None
    return actions.preview_changes(subject.plan, subject.key)


@require_POST
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """At once; where a file has changed since the preview, the preview anew."""
    subject = subject_of(request, own_conversation(request, pk))
    forced = tuple(request.POST.getlist("restore"))
    wanted = Wanted(None, forced, request.POST.get("seen", ""))
    by = request.user.get_username()
    try:
        if subject.turn is not None:
            row = actions.undo_turn(subject.turn, by, wanted)
        else:
            assert subject.plan is not None
            row = actions.undo_changes(subject.plan, subject.key, by, wanted)
    except Refused as refusal:
        status = refusal.status if not isinstance(refusal, PreviewChanged) else 409
        html = replace_content("undo-slot", undo_dialog(subject, str(refusal)))
        return HttpResponse(html, status=status)
    address = f"{reverse('conversation', args=[pk])}?undone={row.pk}"
    if request.headers.get("HX-Request") != "true":
        return redirect(address)
    return HttpResponse(headers={"HX-Redirect": address})


@verb(alert="say-alert")
def reverse_undo(request: HttpRequest, conversation: Conversation, by: str, undo: int) -> None:
    row = Undo.objects.filter(pk=undo, conversation=conversation).first()
    if row is None:
        raise Http404
    actions.reverse_undo(row, by)
