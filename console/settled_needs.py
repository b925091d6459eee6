"""What became of a thing that waited for a person and does not any more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext

from agents.models import Conversation, ToolCall
from console.status_labels import DECIDED
from plans.models import Plan, State
from plans.needs import NeedKind

KEY = re.compile(r"([a-z]{1,10})-(\d{1,18})(?:-(\d{1,18}))?")
KINDS = tuple(NeedKind)


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
    if match is None or match[1] not in KINDS:
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
