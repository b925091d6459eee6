"""What waits for a person, as pages show and say it: cards, what became of them, and notices.

Which things these are says plans/needs.py alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from hashlib import sha256

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext, gettext_lazy, ngettext

from agents.models import Conversation, Message, Preferences, ToolCall
from agents.statements import by_key
from console.call_display import question_of
from console.conversation_state import ConversationState, agent_name, read_state
from console.exceeded_limits import ExceededLimit, used_up
from console.language import listed
from console.preferences import preferences
from console.status_labels import UNANSWERED as WAITS_FOR_ANSWER
from console.status_labels import Snapshot
from plans.models import OPEN, Attempt, Plan, Run, State
from plans.needs import (
    APPROVAL,
    BUDGET,
    FAILED,
    HALTED,
    QUESTION,
    START,
    UNANSWERED,
    Need,
    ended_of,
    last_words,
    needs_of,
)
from plans.snapshot import snapshot

MOST_CARDS = 30  # drawn at once; the others come as these are answered
MOST_RUNNING = 10
KEY = re.compile(
    r"(approval|question|start|failed|budget|unanswered|halted)-(\d{1,18})(?:-(\d{1,18}))?"
)
LATELY = timedelta(minutes=10)
DECIDED = {
    "allow_once": gettext_lazy("Allowed once"),
    "always": gettext_lazy("Always allowed"),
    "deny": gettext_lazy("Denied"),
}


@dataclass(frozen=True)
class Waiting:
    """What waits for a person now, and what has ended lately: drawn on every page."""

    needs: list[Need]
    ended: list[str]
    preferences: Preferences

    @property
    def count(self) -> int:
        return len(self.needs)

    @property
    def keys(self) -> list[str]:
        return [*(need.key for need in self.needs), *self.ended]

    @property
    def tag(self) -> str:
        """Another one when something else waits."""
        chosen = self.preferences.counts_in_title, self.preferences.sounds
        return sha256(f"{self.keys} {chosen}".encode()).hexdigest()[:16]

    @property
    def oldest(self) -> str:
        """How long the oldest has waited; nothing for less than a minute."""
        since = min((need.since for need in self.needs), default=timezone.now())
        is_new = timezone.now() - since < timedelta(minutes=1)
        return "" if is_new else minutes_since(since)


def waiting_for(owner: int, preferences: Preferences) -> Waiting:
    since = timezone.now() - LATELY
    ended = ended_of(owner, since, replies=preferences.tells_replies)
    return Waiting(needs_of(owner), ended, preferences)


def waiting_now(request: HttpRequest) -> Waiting:
    """For the person whose request this is."""
    return waiting_for(request.user.pk or 0, preferences(request))


def in_templates(request: HttpRequest) -> dict[str, object]:
    """`waiting` in every template of a request; it is read if a template asks for it."""
    return {"waiting": SimpleLazyObject(lambda: waiting_now(request))}


@dataclass
class NeedCard:
    """One thing that waits, with all that a person decides by."""

    need: Need
    now: ConversationState

    @property
    def id(self) -> str:
        return f"need-{self.need.key}"

    @cached_property
    def call(self) -> ToolCall | None:
        rows = ToolCall.objects.select_related("turn__conversation")
        return rows.filter(pk=self.need.call).first()

    @cached_property
    def plan(self) -> Snapshot | None:
        """The plan that rests, or whose run asks."""
        shown = self.now.plan
        key = self.need.plan or self.asking_plan
        if shown and shown["id"] == key:
            return shown
        row = by_key(Plan, key) if key else None
        return snapshot(row) if row else None

    @property
    def asking_plan(self) -> int:
        """The plan for whose subtask the call asks, however deep below it; 0 in a chat."""
        turn = self.call.turn if self.call else None
        while turn and (above := turn.conversation.parent_call):
            turn = above.turn
        found = Attempt.objects.filter(turn=turn).values_list("subtask__plan", flat=True)
        return (turn and found.first()) or 0

    @property
    def title(self) -> str:
        return str(self.plan["title"]) if self.need.plan and self.plan else self.now.title

    @property
    def agent(self) -> str:
        """Who asks: it may be one that works for the conversation's own."""
        asker = self.call.turn.conversation.agent_id if self.call else ""
        own = self.now.conversation.agent_id
        return agent_name(asker) if asker and asker != own else self.now.agent_name

    @property
    def is_helper(self) -> bool:
        return self.agent != self.now.agent_name

    @property
    def shape(self) -> str:
        marks = {FAILED: "failed", QUESTION: "question"}
        return marks.get(self.need.kind, "waiting")

    @property
    def words(self) -> str:
        """What it is, in the words that stand out."""
        kind, plan = self.need.kind, self.plan
        if kind == QUESTION:
            return gettext("{agent} asks").format(agent=self.agent)
        if kind == APPROVAL:
            return question_of(self.call) if self.call else ""
        if kind == BUDGET:
            return gettext("Budget used up")
        if kind == UNANSWERED:
            return str(WAITS_FOR_ANSWER.words)
        if kind == HALTED:
            return gettext("Waiting for you to go on")
        total = len(plan["subtasks"]) if plan else 0
        if kind == FAILED:
            return gettext("Failed at subtask {number} of {total}").format(
                number=self.number, total=total
            )
        return (
            gettext("Waiting for you to start it")
            if total
            else gettext("Waiting for you to approve it")
        )

    @property
    def more(self) -> str:
        """What follows these words."""
        plan = self.plan
        if plan is None:
            return ""
        total, kind = len(plan["subtasks"]), self.need.kind
        if kind == FAILED and self.row:
            tries = int(self.row["attempts"])
            return ngettext(", after {n} attempt", ", after {n} attempts", tries).format(n=tries)
        if kind == HALTED and self.number:
            return gettext(", next is subtask {number} of {total}").format(
                number=self.number, total=total
            )
        if kind == QUESTION and self.number:
            return gettext(", at subtask {number} of {total}").format(
                number=self.number, total=total
            )
        if kind == START and total:
            words = ngettext(
                ", {n} subtask, version {version}", ", {n} subtasks, version {version}", total
            )
            return words.format(n=total, version=plan["version"])
        if kind == START:
            return gettext(", version {version}").format(version=plan["version"])
        return ""

    @cached_property
    def row(self) -> Snapshot | None:
        """The subtask that it is about."""
        rows = self.plan["subtasks"] if self.plan else []
        if self.need.kind == FAILED:
            return next((row for row in rows if row["failed"]), None)
        if self.need.kind == HALTED:
            return next((row for row in rows if row["state"] == State.TODO), None)
        return next((row for row in rows if row["state"] == State.IN_PROGRESS), None)

    @property
    def number(self) -> int:
        return self.plan["subtasks"].index(self.row) + 1 if self.plan and self.row else 0

    @property
    def kept(self) -> str:
        """What stays as it is, whatever is decided about the one that failed."""
        rows = self.plan["subtasks"] if self.plan else []
        done = [str(i) for i, row in enumerate(rows, 1) if row["state"] == State.DONE]
        if not done:
            return ""
        words = ngettext(
            "Subtask {numbers} is done and stays so.",
            "Subtasks {numbers} are done and stay so.",
            len(done),
        )
        return words.format(numbers=listed(done))

    @property
    def question(self) -> str:
        if self.need.kind == UNANSWERED:
            return last_words(self.need.conversation)
        return str((self.call.arguments if self.call else {}).get("question") or "")

    @property
    def used_up(self) -> list[ExceededLimit]:
        return used_up(Plan.objects.get(pk=self.need.plan))

    @cached_property
    def address(self) -> str:
        """The place in the conversation where it is asked."""
        page = reverse("conversation", args=[self.need.conversation])
        if self.need.kind == APPROVAL:
            return f"{page}#approval-{self.need.call}"
        asked = Message.objects.filter(conversation=self.need.conversation, hidden=False)
        if self.need.kind == UNANSWERED:
            found = asked.filter(role=Message.Role.ASSISTANT).order_by("-seq").first()
        elif self.need.kind == QUESTION:
            found = asked.filter(kind=Message.Kind.QUESTION).order_by("-seq").first()
        else:
            found = asked.filter(kind=Message.Kind.PLAN, meta__plan=self.need.plan).first()
        return f"{page}#message-{found.pk}" if found else page


def cards_of(waiting: list[Need]) -> list[NeedCard]:
    """The state of each conversation is read once."""
    states: dict[int, ConversationState] = {}
    cards = []
    for need in waiting[:MOST_CARDS]:
        if need.conversation not in states:
            states[need.conversation] = read_state(need.conversation)
        cards.append(NeedCard(need, states[need.conversation]))
    return cards


# What became of a thing that does not wait any more


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
    if match is None:
        return None
    kind, pk = match[1], int(match[2])
    gone = Settled(key, gettext("It is gone."), is_gone=True)
    if kind in (APPROVAL, QUESTION):
        call = own_calls(owner).filter(pk=pk).first()
        return settled_call(key, call) if call else gone
    if kind == UNANSWERED:
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
    return rows.select_related("turn__conversation__parent_call__turn__conversation")


def settled_call(key: str, call: ToolCall) -> Settled:
    root = call.turn.conversation
    while root.parent_call is not None:
        root = root.parent_call.turn.conversation
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
    elif kind == START and plan.version != version:
        return Settled(
            key,
            gettext("It is v{version} now.").format(version=plan.version),
            plan.title,
            address,
            is_gone=True,
        )
    elif kind == START and plan.is_confirmed:
        words, at = (
            (gettext("Started") if plan.subtasks.exists() else gettext("Approved")),
            plan.approved_at or at,
        )
    elif kind == BUDGET and goes_on:
        words = gettext("Raised")
    elif kind == HALTED and goes_on:
        words = gettext("Went on")
    return Settled(key, words, plan.title, address, at, goes_on)


def running_plans(owner: int) -> list[Snapshot]:
    """Plans that work without needing anybody, for the page on which nothing waits."""
    own = Plan.objects.filter(
        conversation__owner=owner, conversation__deleted_at=None, conversation__parent_call=None
    )
    rows = own.filter(state__in=OPEN, run__in=(Run.QUEUED, Run.RUNNING)).order_by("pk")
    return [snapshot(row) for row in rows[:MOST_RUNNING]]


def minutes_since(moment: datetime) -> str:
    """26 min, 3 h, 2 days."""
    minutes = max(0, int((timezone.now() - moment).total_seconds() // 60))
    if minutes < 60:
        return gettext("{n} min").format(n=minutes)
    if minutes < 48 * 60:
        return gettext("{n} h").format(n=minutes // 60)
    days = minutes // 1440
    return ngettext("{n} day", "{n} days", days).format(n=days)
