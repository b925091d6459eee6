"""What a browser's notification says. Never a command, a path or an argument; never of what the
person did."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy, ngettext

from agents.actors import PERSON
from agents.engine.usage import duration
from agents.models import Conversation, Event, Message, Preferences, Turn
from agents.sentences import beside, commas
from console.language import agent_name
from console.need_cards import NeedCard, cards_of
from console.visible_text import visible_plain
from plans.models import Plan, PlanVersion, State
from plans.needs import NeedKind, needs_of
from plans.snapshot_reading import plan_snapshot

ENDED = re.compile(r"(done|reply)-(\d{1,18})")
LONGEST = 140  # characters of what somebody wrote
RESTS = {  # what a run rests for
    NeedKind.BUDGET: gettext_lazy("{title}: the budget is used up"),
    NeedKind.HALTED: gettext_lazy("{title}: waiting for you to go on"),
    NeedKind.CHECK: gettext_lazy("{title}: a check could not be run"),
}


@dataclass(frozen=True)
class Notice:
    """`key` is told once; a press opens `address`. `is_need` makes a sound."""

    key: str
    title: str
    body: str
    address: str
    is_need: bool = False


def notices_of(user: User, wanted: Preferences, keys: list[str]) -> list[Notice]:
    """For those of the keys that still hold and that the person wants to be told of."""
    waiting = [need for need in needs_of(user.pk) if need.key in keys]
    told = [notice_of_need(card) for card in cards_of(waiting) if is_wanted(card, user, wanted)]
    for key in keys:
        kind, _, pk = key.partition("-")
        if ENDED.fullmatch(key) is None:
            continue
        if kind == "done" and wanted.tells_finished:
            told += notice_of_plan(key, int(pk), user)
        elif kind == "reply" and wanted.tells_replies:
            told += notice_of_reply(key, int(pk), user)
    return told


def is_wanted(card: NeedCard, user: User, wanted: Preferences) -> bool:
    if card.need.kind == NeedKind.FAILED:
        return wanted.tells_failed
    return wanted.tells_needs and not (
        card.need.kind == NeedKind.START and is_own_version(card, user)
    )


def is_own_version(card: NeedCard, user: User) -> bool:
    """Whether it waits because the person has changed it themselves."""
    versions = PlanVersion.objects.filter(plan=card.need.plan, version=card.need.version)
    return versions.filter(author_kind=PERSON, author=user.username).exists()


def notice_of_need(card: NeedCard) -> Notice:
    title, body = words_of(card)
    return Notice(card.need.key, shown(title), shown(body), card.address, is_need=True)


def words_of(card: NeedCard) -> tuple[str, str]:
    kind, title = card.need.kind, card.title
    if kind == NeedKind.APPROVAL and card.call:
        may_it = gettext("{title}: may it use {tool}?")
        if card.call.tool == "shell":
            may_it = gettext("{title}: may it run a shell command?")
        return waits_for_you(card.agent), may_it.format(title=title, tool=card.call.tool)
    if kind in (NeedKind.QUESTION, NeedKind.UNANSWERED):
        asks = gettext("{agent} asks").format(agent=card.agent)
        return asks, gettext("{title}: “{question}”").format(title=title, question=card.question)
    if kind in RESTS:
        return waits_for_you(card.now.agent_name), str(RESTS[kind]).format(title=title)
    if kind == NeedKind.REGRESSED:
        name = card.row.name if card.row else title
        return gettext("{title}: no longer true").format(title=title), str(name)
    if kind == NeedKind.START:
        count = len(card.plan.subtasks) if card.plan else 0
        words = ngettext("{title}, {n} subtask", "{title}, {n} subtasks", count)
        body = words.format(title=title, n=count) if count else title
        return gettext("A plan waits for your start"), body
    name, tries = (card.row.name, card.row.attempts) if card.row else ("", 0)
    words = ngettext(
        "Subtask {number}, {name}, after {n} attempt",
        "Subtask {number}, {name}, after {n} attempts",
        tries,
    )
    body = words.format(number=card.number, name=name, n=tries)
    return gettext("{title} failed").format(title=title), body


def waits_for_you(agent: str) -> str:
    return gettext("{agent} waits for you").format(agent=agent)


def notice_of_plan(key: str, pk: int, user: User) -> list[Notice]:
    own = Plan.objects.filter(
        conversation__owner=user, conversation__deleted_at=None, conversation__parent_call=None
    )
    plan = own.filter(pk=pk, state=State.DONE).first()
    if plan is None or is_finished_by(plan, user):
        return []
    now = plan_snapshot(plan)
    parts = (now.progress.parts, duration(now.seconds.worked))
    body = commas([each for each in parts if each])
    told = Message.objects.filter(conversation=plan.conversation_id, meta__closing=pk)
    last = told.order_by("-seq").first()
    place = f"#message-{last.pk}" if last else ""
    address = reverse("conversation", args=[plan.conversation_id]) + place
    return [
        Notice(key, shown(gettext("{title} is finished").format(title=plan.title)), body, address)
    ]


def is_finished_by(plan: Plan, user: User) -> bool:
    """A document is finished by the yes to it."""
    ends = Event.objects.filter(subject=f"plan:{plan.pk}", type="plan.finished").order_by("-seq")
    last = ends.filter(conversation=plan.conversation_id).first()
    return last is not None and (last.actor_kind, last.actor) == (PERSON, user.username)


def notice_of_reply(key: str, pk: int, user: User) -> list[Notice]:
    own = Turn.objects.filter(
        conversation__owner=user, conversation__deleted_at=None, conversation__parent_call=None
    )
    turn = own.select_related("conversation").filter(pk=pk).first()
    if turn is None:
        return []
    talk: Conversation = turn.conversation
    address = f"{reverse('conversation', args=[talk.pk])}#turn-{pk}"
    name = agent_name(talk.agent_id)
    title = beside(gettext("{agent_name} has answered").format(agent_name=name), name)
    return [Notice(key, shown(title), shown(talk.title or gettext("New chat")), address)]


def shown(text: str) -> str:
    """On one line, with nothing hidden in it."""
    line = visible_plain(" ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
