"""What a person says, and what they do with a reply."""

from __future__ import annotations

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from django.views.decorators.http import require_GET
from django_htmx.http import HttpResponseClientRedirect

from agents import actions
from agents.changes.preview import FileChanged
from agents.engine.subagents import show_call_again
from agents.errors import Conflict, NoModel, Refused
from agents.events import lock_conversation
from agents.models import Conversation, Lane, Message, ToolCall
from console import alternatives, chat_commands, plan_requests
from console.changes.calls import diff_of, result_of
from console.components import partial
from console.form_parsing import expected, number, numbers, text_in
from console.htmx import is_htmx, own_conversation, seen_by, verb
from console.throttling import count_message
from console.views.first_run import draw_notes
from plans import actions as plan_actions
from plans.queries import plan_of_turn


@verb(alert="say-alert")
def say(request: HttpRequest, conversation: Conversation, by: str) -> HttpResponse | None:
    """Whatever is typed goes through one door; the page names the plan and version it shows."""
    text = request.POST.get("text", "")
    # First: with the message, pages draw an empty box.
    actions.save_draft(conversation, "", seen_by(request))
    seen = expected(request, version="plan_version")
    try:
        result = chat_commands.handle_message(
            conversation,
            text,
            by,
            seen,
            unsaved="unsaved" in request.POST,
            asking=number(request.POST.get("asking")),
            question=number(request.POST.get("question")),
            attached=numbers(request.POST.get("attachments", "")),
            sent_as=request.POST.get("sent_as", "")[:64],
        )
    except Refused as refusal:
        actions.save_draft(conversation, text, seen_by(request))
        if isinstance(refusal, NoModel) and is_htmx(request):  # the note above the box says so
            notes = draw_notes(request, conversation.pk, is_refused=True)
            return HttpResponse(notes, status=refusal.status)
        raise
    if result.conversation.pk == conversation.pk:
        return None
    address = reverse("conversation", args=[result.conversation.pk])
    return HttpResponseClientRedirect(address) if is_htmx(request) else redirect(address)


@verb(alert="say-alert")
def stop(request: HttpRequest, conversation: Conversation, by: str) -> None:
    actions.stop_reply(conversation, by)


@verb(alert="say-alert")
def retry(request: HttpRequest, conversation: Conversation, by: str) -> None:
    turn = number(request.GET.get("turn"))
    alternatives.retry(conversation, by, turn)


@verb(alert="say-alert")
def again(request: HttpRequest, conversation: Conversation, by: str, turn: int) -> None:
    """Another reply in the place of this one, by the model that is named."""
    row = get_object_or_404(conversation.turns, pk=turn, lane=Lane.CHAT)
    alternatives.ask_again(row, by, request.POST.get("model", ""))


@verb(alert="message-editor-alert")
def edit(request: HttpRequest, conversation: Conversation, by: str, message: int) -> None:
    row = get_object_or_404(conversation.messages, pk=message)
    alternatives.send_edited(row, request.POST.get("text", ""), by)


@verb(alert="say-alert")
def show(request: HttpRequest, conversation: Conversation, by: str, turn: int) -> None:
    """Walk to this alternative."""
    row = get_object_or_404(conversation.turns, pk=turn, lane=Lane.CHAT)
    plan_actions.show_alternative(conversation, row, by)


@require_GET
def reply_text(request: HttpRequest, pk: int, turn: int) -> HttpResponse:
    """What the model said in this turn, as it wrote it."""
    conversation = own_conversation(request, pk)
    said = conversation.messages.filter(turn=turn, role=Message.Role.ASSISTANT, hidden=False)
    texts = said.filter(kind=Message.Kind.TEXT).exclude(text="").order_by("seq")
    text = "\n\n".join(texts.values_list("text", flat=True))
    if not text:
        raise Http404
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_GET
def closing_text(request: HttpRequest, pk: int, message: int) -> HttpResponse:
    """What the agent said when its plan ended, as it wrote it."""
    closing = own_conversation(request, pk).messages.filter(meta__has_key="closing", hidden=False)
    text = get_object_or_404(closing, pk=message).text
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_GET
def call_diff(request: HttpRequest, pk: int) -> HttpResponse:
    """All lines of what a call did to a file; the page has the first ones."""
    call = own_call(request, pk)
    diff = diff_of(call, is_whole=True)
    if diff is None or not diff.blocks:
        raise Http404
    return part_of_call("_file_diff", f"call-{call.pk}-diff", call=call, diff=diff)


@require_GET
def call_result(request: HttpRequest, pk: int) -> HttpResponse:
    """All lines of what a call gave back; the page has the first ones."""
    call = own_call(request, pk)
    result = result_of(call, is_whole=True)
    return part_of_call("_result", f"call-{call.pk}-result", call=call, result=result)


def own_call(request: HttpRequest, pk: int) -> ToolCall:
    """One made for this person, also by an agent that works for theirs."""
    calls = ToolCall.objects.select_related("file_change")
    return get_object_or_404(
        calls, pk=pk, turn__conversation__owner=request.user.pk, turn__conversation__deleted_at=None
    )


def part_of_call(name: str, target: str, **values: object) -> HttpResponse:
    html = render_to_string(f"conversation/{name}.html", {**values, "is_whole": True})
    return HttpResponse(partial(target, "outerHTML", mark_safe(html)))


@verb(alert="say-alert")
def discard(request: HttpRequest, conversation: Conversation, by: str, message: int) -> None:
    row = get_object_or_404(conversation.messages, pk=message, role=Message.Role.USER)
    actions.discard_queued(row, by, keeps_files="to_box" in request.POST)


@verb(alert="say-alert")
def try_now(request: HttpRequest, conversation: Conversation, by: str, message: int) -> None:
    """The model call that is held back goes at once."""
    row = get_object_or_404(conversation.messages, pk=message)
    if row.turn is None:
        raise Http404
    actions.retry_now(row.turn, by)


@verb(alert="say-alert")
def decide(request: HttpRequest, conversation: Conversation, by: str, call: int) -> None:
    """A call of the conversation's own agent, or of one that works for it."""
    row = call_here(conversation, call)
    decision, reason = request.POST.get("decision", ""), request.POST.get("reason", "")
    try:
        actions.decide_call(row, decision, by, reason, request.POST.get("against", ""))
    except FileChanged:
        show_call_again(row)
        raise


@verb(alert="say-alert")
def answer(request: HttpRequest, conversation: Conversation, by: str, call: int) -> None:
    """Answer the call's question; the words are nothing else, whatever they are.

    The draft in the message box stays, which `say` would take.
    """
    call_here(conversation, call)  # of another's, nothing is told but that
    text = text_in(request, gettext("Write an answer first."))
    actions.check_text(text)
    count_message(conversation.owner_id)
    with transaction.atomic():
        lock_conversation(conversation.pk)
        row = call_here(conversation, call)
        asking = plan_of_turn(row.turn)
        if asking is None or (row.tool, row.state) != ("ask_user", ToolCall.State.ASKED):
            raise Conflict(gettext("The plan has no open question."))
        plan_requests.typed(conversation, text, by, "answer", stays=True)
        plan_actions.answer_question(asking, text, by)


def call_here(conversation: Conversation, call: int) -> ToolCall:
    """One of the conversation's own agent, or of one that works for it."""
    row = get_object_or_404(ToolCall, pk=call)
    if row.turn.conversation.top != conversation.pk:
        raise Http404
    return row
