"""Everything on the screen that can change, as `<hx-partial>` pieces.

One function, `changes`, serves the socket, the polls and the answers to forms. Each piece carries
the number of the event it was read at (`data-seq`), so a browser never goes back; the page itself
is made of the same templates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from agents.models import Event, Message
from console.markdown import block
from console.marks import Snapshot
from console.present import Present, look
from console.thread import SHOWN, Leg, last_legs, leg_id, legs_of, read_messages
from plans.models import Attempt, Plan
from plans.snapshot import snapshot

# Element id and template of what sums up the present state.
STATE = {
    "plan": "plans/_drawer.html",
    "plan-button": "plans/_button.html",
    "dock": "plans/_dock.html",
    "status": "conversation/_status.html",
    "actions": "conversation/_actions.html",
    "heading": "conversation/_heading.html",
    "cursor": "conversation/_cursor.html",
}
DRAWER = ("plan", "plan-button")


def changes(conversation_id: int, after: int, *, growing: bool = False) -> tuple[int, str]:
    """What is new since an event's number, and the number it is true at.

    Text that is being written has no events; a poll, which has no stream, asks for it (`growing`).
    """
    now = look(conversation_id)
    pieces = [*thread_pieces(now, after, growing), *state_pieces(now, STATE), row_piece(now)]
    return now.seq, "".join(pieces)


def drawer(conversation_id: int) -> str:
    """The drawer and its button alone, for the poll that runs while it is open."""
    return "".join(state_pieces(look(conversation_id), DRAWER))


def state_pieces(now: Present, names: Iterable[str]) -> list[str]:
    return [replace(name, show(STATE[name], now)) for name in names]


def row_piece(now: Present) -> str:
    """The sidebar's row of this conversation."""
    row = show("conversation/_row.html", now, row=now.conversation, current=True)
    return replace(f"conversation-{now.conversation.pk}", row)


def thread_pieces(now: Present, after: int, growing: bool = False) -> list[str]:
    """New messages are appended, changed ones replaced; after a clearing, all is replaced."""
    rows = read_messages(now.conversation)
    is_new = Q(changed_seq__gt=after) | Q(streaming=True) if growing else Q(changed_seq__gt=after)
    changed = list(rows.filter(is_new)[: SHOWN + 1])
    is_fresh = after <= now.conversation.cleared_seq or not rows.filter(seq__lte=after).exists()
    if is_fresh or len(changed) > SHOWN:
        return [replace("thread", thread(now))]
    touched = touched_turns(now, changed, after)
    return list(leg_pieces(now, changed, touched, after))


def leg_pieces(
    now: Present, changed: list[Message], touched: set[int], after: int
) -> Iterable[str]:
    rows = read_messages(now.conversation)
    cards = [m for m in rows.filter(kind=Message.Kind.PLAN) if is_card_of(m, now)]
    yours = rows.filter(turn__in=touched, role="user")
    asked = rows.filter(turn__in=touched, kind=Message.Kind.APPROVAL)
    again = {m.pk: m for m in [*cards, *yours, *asked, *changed]}
    legs = {leg.id: leg for leg in legs_of(rows.filter(turn__in=touched))}
    thread = Thread(now)
    appended: set[str] = set()
    for message in sorted(again.values(), key=lambda m: m.seq):
        leg = legs.get(leg_id(message)) or Leg(leg_id(message), None, [message])
        if leg.id in appended:
            continue
        if leg.first_seq > after:
            appended.add(leg.id)
            yield append("thread", thread.leg(leg))
        elif message.seq > after:
            yield append(f"{leg.id}-body", thread.message(message))
        else:
            yield replace(f"message-{message.pk}", thread.message(message))
    for leg in legs.values():
        if leg.id not in appended:
            yield from thread.around(leg)
    for gone in {f"turn-{pk}" for pk in touched} - legs.keys():
        yield f'<hx-partial hx-target="#{gone}" hx-swap="delete"></hx-partial>'


def touched_turns(now: Present, changed: list[Message], after: int) -> set[int]:
    """Turns whose head or foot may read differently now."""
    events = Event.objects.filter(
        conversation=now.conversation, seq__gt=after, subject__startswith="turn:"
    )
    named = {int(subject.partition(":")[2]) for subject in events.values_list("subject", flat=True)}
    spoke = {message.turn_id for message in changed if message.turn_id}
    return named | spoke | attempts_at_news(now, after) | {turn.pk for turn in now.open_turns}


def attempts_at_news(now: Present, after: int) -> set[int]:
    """The turns of subtasks that were settled or changed by hand."""
    events = Event.objects.filter(
        conversation=now.conversation, seq__gt=after, subject__startswith="plan:"
    )
    keys = {str(key) for key in events.values_list("data__subtask", flat=True) if key}
    if not keys or now.plan is None:
        return set()
    tried = Attempt.objects.filter(subtask__plan=now.plan["id"], subtask__key__in=keys)
    return set(tried.values_list("turn", flat=True))


def is_card_of(message: Message, now: Present) -> bool:
    return bool(now.plan) and message.meta.get("plan") == (now.plan or {})["id"]


@dataclass
class Thread:
    """Renders legs and messages; plans are read once each."""

    now: Present

    def __post_init__(self) -> None:
        self.plans: dict[int, Snapshot | None] = {}
        if self.now.plan:
            self.plans[self.now.plan["id"]] = self.now.plan

    def leg(self, leg: Leg) -> SafeString:
        said = [self.message(message) for message in leg.messages]
        return show("conversation/_leg.html", self.now, leg=leg, said=said)

    def around(self, leg: Leg) -> Iterable[str]:
        """The head of a subtask's leg, or the foot of a reply."""
        name = "head" if leg.subtask else "foot"
        yield replace(f"{leg.id}-{name}", show(f"conversation/_{name}.html", self.now, leg=leg))

    def message(self, message: Message) -> SafeString:
        extra: dict[str, object] = {"message": message}
        if message.kind == Message.Kind.PLAN:
            extra["card"] = self.plan(int(message.meta.get("plan") or 0))
        if message.turn_id in self.now.waiting_turns:
            extra["waiting"] = True
        return show("conversation/_message.html", self.now, **extra)

    def plan(self, pk: int) -> Snapshot | None:
        if pk not in self.plans:
            plan = Plan.objects.filter(pk=pk, conversation=self.now.conversation).first()
            self.plans[pk] = snapshot(plan) if plan else None
        return self.plans[pk]


def thread(now: Present) -> SafeString:
    """The newest part of the whole conversation."""
    legs, before = last_legs(now.conversation)
    shown = Thread(now)
    parts = [shown.leg(leg) for leg in legs]
    return show("conversation/_thread.html", now, legs=parts, before=before)


def earlier(now: Present, before: int) -> str:
    """The part before that, put where the button was."""
    legs, rest = last_legs(now.conversation, before)
    shown = Thread(now)
    button = show("conversation/_earlier.html", now, before=rest)
    html = "".join([button, *(shown.leg(leg) for leg in legs)])
    return f'<hx-partial hx-target="#earlier" hx-swap="outerHTML">{html}</hx-partial>'


def streamed(message_id: int, blocks: list[tuple[int, str]]) -> str:
    """Blocks of a growing message; the browser replaces those it has and adds the others."""
    return "".join(
        append(f"message-{message_id}-body", block(message_id, i, text)) for i, text in blocks
    )


def show(template: str, now: Present, **extra: object) -> SafeString:
    context: dict[str, object] = {"now": now, "conversation": now.conversation, "plan": now.plan}
    return mark_safe(render_to_string(template, context | extra).strip())


def replace(target: str, html: str) -> str:
    return f'<hx-partial hx-target="#{target}" hx-swap="outerMorph">{html}</hx-partial>'


def append(target: str, html: str) -> str:
    return f'<hx-partial hx-target="#{target}" hx-swap="beforeend">{html}</hx-partial>'
