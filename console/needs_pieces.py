"""The pieces of "Needs you": drawn anew, after a press on a card, and once something is settled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from agents.changes.preview import FileChanged
from agents.models import Conversation, ToolCall
from console import components
from console.need_cards import MOST_CARDS, cards_of
from console.needs import Waiting, running_plans, waiting_now
from console.status_labels import DECIDED
from plans.models import Plan, State
from plans.needs import Need, NeedKind, needs_of

# What a press is called where what it settled does not say, by the name of its address.
OWN_WORDS = {
    "subtask-retry": gettext_lazy("Tried again"),
    "subtask-skip": gettext_lazy("Skipped"),
    "subtask-replan": gettext_lazy("Asked for other subtasks"),
    "plan-revise": gettext_lazy("Asked for changes"),
    "plan-cancel-asking": gettext_lazy("Cancelled"),
}
MOST_SHOWN = 100  # keys that a page may ask about
KEY = re.compile(r"([a-z]{1,10})-(\d{1,18})(?:-(\d{1,18}))?")


def rest_of(waiting: Waiting) -> dict[str, object]:
    """What stands below the cards: those that do not fit, or that nothing waits."""
    running = [] if waiting.needs else running_plans(waiting.owner)
    return {"further": max(0, waiting.count - MOST_CARDS), "running": running}


def pieces(
    waiting: Waiting, shown: list[str] | None, own: tuple[str, str] | None = None
) -> Iterable[str]:
    """`own` is what was settled by this very request, and the name of its address."""
    context = {"waiting": waiting, "here": "" if shown is None else "needs"}
    for name in ("entry", "count", *(() if shown is None else ("head",))):
        html = render_to_string(f"needs/_{name}.html", context)
        yield components.replace(f"needs-{name}", html)
    if shown is None:
        return
    keys = {need.key for need in waiting.needs}
    for key in shown:
        if key not in keys and (line := settled(waiting.owner, key)):
            is_own = own is not None and key == own[0]
            if own and is_own and own[1] in OWN_WORDS:
                line = replace(line, words=str(OWN_WORDS[own[1]]), is_gone=False)
            html = render_to_string("needs/_settled.html", {"line": line, "is_own": is_own})
            yield components.replace(f"need-{key}", html)
    new = [need for need in waiting.needs[:MOST_CARDS] if need.key not in shown]
    for card in cards_of(new):
        # What has failed comes first, as when the page is opened.
        put = components.prepend if card.need.kind == NeedKind.FAILED else components.append
        yield put("needs-list", render_to_string("needs/_card.html", {"card": card}))
    rest = render_to_string("needs/_rest.html", context | rest_of(waiting))
    yield components.replace("needs-rest", rest)


def press_card(
    request: HttpRequest, conversation: Conversation, act: Callable[[], object]
) -> str | HttpResponse:
    """What the page gets for a press on the card that the form names as `need`.

    Where it was answered meanwhile nothing is done, and that is all that is said. Raises Http404
    for what never waited for this person, or waits in another conversation.
    """
    owner, key = conversation.owner_id, request.POST["need"]
    if settled(owner, key) is None:
        raise Http404
    need = next((each for each in needs_of(owner) if each.key == key), None)
    own = None
    if need is not None:
        if need.conversation != conversation.pk:
            raise Http404
        try:
            with transaction.atomic():
                act()
        except FileChanged as refusal:
            return shown_again(need, refusal)
        match = request.resolver_match
        own = (key, (match and match.url_name) or "")
    shown = request.POST.getlist("shows")[:MOST_SHOWN]
    return "".join(pieces(waiting_now(request), shown, own))


def shown_again(need: Need, refusal: FileChanged) -> HttpResponse:
    """The card with the change as it would be now, and why nothing was allowed."""
    [card] = cards_of([need])
    html = components.replace(
        f"need-{need.key}", render_to_string("needs/_card.html", {"card": card})
    )
    alert = components.alert(f"need-{need.key}-alert", str(refusal))
    return HttpResponse(html + alert, status=refusal.status)


# What became of a thing that waited for a person and does not any more


@dataclass(frozen=True)
class Settled:
    """`words` say what was done, and `at` when, where that is known."""

    key: str
    words: str
    title: str = ""
    address: str = ""
    at: datetime | None = None
    goes_on: bool = False
    is_gone: bool = False  # not by a person's word


def settled(owner: int, key: str) -> Settled | None:
    """None for what never was this person's."""
    match = KEY.fullmatch(key)
    if match is None or match[1] not in tuple(NeedKind):
        return None
    kind, pk = match[1], int(match[2])
    gone = Settled(key, gettext("It is gone."), is_gone=True)
    if kind in (NeedKind.APPROVAL, NeedKind.QUESTION):
        call = own_calls(owner).filter(pk=pk).first()
        return settled_call(key, call) if call else gone
    if kind == NeedKind.UNANSWERED:
        own = Conversation.objects.filter(owner=owner, deleted_at=None, messages=pk).first()
        return settled_request(key, own) if own else gone
    plan = Plan.objects.filter(
        pk=pk,
        conversation__owner=owner,
        conversation__deleted_at=None,
        conversation__parent_call=None,
    )
    row = plan.select_related("conversation").first()
    return settled_plan(key, kind, row, int(match[3] or 0)) if row else gone


def own_calls(owner: int) -> QuerySet[ToolCall]:
    rows = ToolCall.objects.filter(
        turn__conversation__owner=owner, turn__conversation__deleted_at=None
    )
    return rows.select_related("turn__conversation__root")


def settled_call(key: str, call: ToolCall) -> Settled:
    root = call.turn.conversation.root or call.turn.conversation
    address = reverse("conversation", args=[root.pk])
    words = str(DECIDED.get(call.decision, ""))
    if call.tool == "ask_user" and call.state == ToolCall.State.DONE:
        words = gettext("Answered")
    title, at = root.title or gettext("New chat"), call.finished_at or call.started_at
    if not words:
        return Settled(key, gettext("It does not ask any more."), title, address, is_gone=True)
    return Settled(key, words, title, f"{address}#call-{call.pk}", at, goes_on=True)


def settled_request(key: str, conversation: Conversation) -> Settled:
    """It was answered, or the plan is not asked for any more."""
    title = conversation.title or gettext("New chat")
    address = reverse("conversation", args=[conversation.pk])
    return Settled(key, gettext("Answered"), title, address)


def settled_plan(key: str, kind: str, plan: Plan, version: int) -> Settled:
    address = reverse("conversation", args=[plan.conversation_id])
    words, at, goes_on = gettext("Settled"), plan.updated_at, plan.is_live
    if plan.state == State.ABANDONED:
        words, at = gettext("Cancelled"), plan.finished_at or at
    elif kind == NeedKind.START and plan.version != version:
        return Settled(
            key,
            gettext("It is v{version} now.").format(version=plan.version),
            plan.title,
            address,
            is_gone=True,
        )
    elif kind == NeedKind.START and plan.is_confirmed:
        words, at = (
            (gettext("Started") if plan.subtasks.exists() else gettext("Approved")),
            plan.approved_at or at,
        )
    elif kind == NeedKind.BUDGET and goes_on:
        words = gettext("Raised")
    elif kind in (NeedKind.HALTED, NeedKind.CHECK) and goes_on:
        words = gettext("Went on")
    return Settled(key, words, plan.title, address, at, goes_on)
