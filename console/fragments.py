"""Everything on the screen that can change, as `<hx-partial>` pieces.

One function, `changes`, serves the socket, the polls and the answers to forms. Each piece carries
the number of the event it was read at (`data-seq`), so a browser never goes back; the page itself
is made of the same templates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from agents.events import read_after
from agents.models import Message
from agents.statements import prepared
from console.components import append, partial, remove, replace
from console.conversation_state import ConversationState, read_state
from console.markdown import block, is_long
from console.status_labels import Snapshot
from console.thread import SHOWN, TurnGroup, group_id, groups_of, last_groups, read_messages
from plans.models import Attempt, Plan
from plans.snapshot import snapshot

# Element id and template of what sums up the present state.
STATE = {
    "plan": "plans/_drawer.html",
    "plan-button": "plans/_button.html",
    "dock": "plans/_dock.html",
    "status": "conversation/_status.html",
    "alarm": "conversation/_alarm.html",
    "agent-note": "conversation/_agent_note.html",
    "actions": "conversation/_actions.html",
    "heading": "conversation/_heading.html",
    "cursor": "conversation/_cursor.html",
}
DRAWER = ("plan", "plan-button")
AT_A_GLANCE = (*DRAWER, "dock", "status", "alarm")


def messages_between(conversation: int, after: int, until: int) -> QuerySet[Message]:
    return Message.objects.filter(conversation=conversation, seq__gt=after, seq__lte=until)


@prepared
def seen_messages(conversation: int, after: int, until: int) -> QuerySet[Message, tuple[int]]:
    return messages_between(conversation, after, until).values_list("pk")[:1]


@prepared
def changed_messages(
    conversation: int, after: int, until: int, changed_after: int, growing: bool
) -> QuerySet[Message, tuple[int, int | None]]:
    """The messages and their turns; those still being written too, if `growing`."""
    is_growing = Q(streaming=True) & Q(streaming=growing)
    rows = messages_between(conversation, after, until)
    rows = rows.filter(Q(changed_seq__gt=changed_after) | is_growing)
    return rows.order_by("seq").values_list("pk", "turn_id")[: SHOWN + 1]


def changes(conversation_id: int, after: int, *, growing: bool = False) -> tuple[int, str]:
    """What is new since an event's number, and the number it is true at.

    Text that is being written has no events; a poll, which has no stream, asks for it (`growing`).
    """
    now = read_state(conversation_id)
    pieces = [*thread_pieces(now, after, growing), *state_pieces(now, STATE), row_piece(now)]
    return now.seq, "".join(pieces)


def plan_first(conversation_id: int) -> tuple[ConversationState, str]:
    """What a change of a plan shows at a glance; `the_rest` follows."""
    now = read_state(conversation_id)
    return now, "".join(state_pieces(now, AT_A_GLANCE))


def the_rest(now: ConversationState, after: int) -> str:
    """With the cursor, which says that the page has everything up to there."""
    others = [name for name in STATE if name not in AT_A_GLANCE]
    return "".join([*thread_pieces(now, after), *state_pieces(now, others), row_piece(now)])


def drawer(conversation_id: int) -> str:
    """The drawer and its button alone, for the poll that runs while it is open."""
    return "".join(state_pieces(read_state(conversation_id), DRAWER))


def state_pieces(now: ConversationState, names: Iterable[str]) -> list[str]:
    return [replace(name, show(STATE[name], now)) for name in names]


def row_piece(now: ConversationState) -> str:
    """The sidebar's row of this conversation."""
    row = show("conversation/_row.html", now, row=now.conversation, current=True)
    return replace(f"conversation-{now.conversation.pk}", row)


def thread_pieces(now: ConversationState, after: int, growing: bool = False) -> list[str]:
    """New messages are appended, changed ones replaced; after a clearing, all is replaced."""
    c = now.conversation
    changed = news_of(now, after, growing)
    seen = after > c.cleared_seq and seen_messages.rows(
        conversation=c.pk, after=c.cleared_seq, until=after
    )
    if not seen or len(changed) > SHOWN:
        old = [remove("cleared")] if after < c.cleared_seq else []  # it ends with an earlier /clear
        return [*old, replace("thread", thread(now))]
    touched = touched_turns(now, after) | {turn for turn in changed.values() if turn}
    wanted = Q(pk__in=changed) | Q(turn__in=touched) | Q(kind=Message.Kind.PLAN)
    rows = list(read_messages(c).filter(wanted))
    return list(group_pieces(now, rows, changed.keys(), touched, after))


def news_of(now: ConversationState, after: int, growing: bool) -> dict[int, int | None]:
    """The messages in view that are new or changed, each with its turn."""
    c = now.conversation
    return dict(
        changed_messages.rows(
            conversation=c.pk,
            after=c.cleared_seq,
            until=now.seq,
            changed_after=after,
            growing=growing,
        )
    )


def group_pieces(
    now: ConversationState,
    rows: list[Message],
    changed: Collection[int],
    touched: set[int],
    after: int,
) -> Iterable[str]:
    legs = {leg.id: leg for leg in groups_of(row for row in rows if row.turn_id in touched)}
    thread = Thread(now)
    appended: set[str] = set()
    for message in rows:
        if message.pk not in changed and not shows_more_than_itself(message, now, touched):
            continue
        leg = legs.get(group_id(message)) or TurnGroup(group_id(message), None, [message])
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
        yield remove(gone)


def shows_more_than_itself(message: Message, now: ConversationState, touched: set[int]) -> bool:
    """Cards show the plan, what a person sent whether it waits, an approval what was decided."""
    if message.kind == Message.Kind.PLAN:
        return is_card_of(message, now)
    return message.turn_id in touched and (
        message.role == "user" or message.kind == Message.Kind.APPROVAL
    )


def touched_turns(now: ConversationState, after: int) -> set[int]:
    """Turns whose head or foot may read differently now."""
    happened = read_after(now.conversation.pk, after)
    about = [event.subject.partition(":") for event in happened]
    named = {int(pk) for kind, _, pk in about if kind == "turn"}
    keys = {
        str(event.data["subtask"])
        for event, (kind, _, _) in zip(happened, about, strict=True)
        if kind == "plan" and event.data.get("subtask")
    }
    return named | attempts_at(now, keys) | {turn.pk for turn in now.open_turns}


def attempts_at(now: ConversationState, keys: set[str]) -> set[int]:
    """The turns of subtasks that were settled or changed by hand."""
    if not keys or now.plan is None:
        return set()
    tried = Attempt.objects.filter(subtask__plan=now.plan["id"], subtask__key__in=keys)
    return set(tried.values_list("turn", flat=True))


def is_card_of(message: Message, now: ConversationState) -> bool:
    return bool(now.plan) and message.meta.get("plan") == (now.plan or {})["id"]


@dataclass
class Thread:
    """Renders legs and messages; plans are read once each.

    What was `cleared` can be read only: it offers nothing to act on, and nothing replaces it.
    """

    now: ConversationState
    cleared: bool = False

    def __post_init__(self) -> None:
        self.plans: dict[int, Snapshot | None] = {}
        if self.now.plan:
            self.plans[self.now.plan["id"]] = self.now.plan

    def leg(self, leg: TurnGroup) -> SafeString:
        said = [self.message(message) for message in leg.messages]
        if self.cleared:
            leg.id = f"cleared-{leg.id}"
        extra: dict[str, object] = {"leg": leg, "said": said, "cleared": self.cleared}
        return show("conversation/_turn_group.html", self.now, **extra)

    def around(self, leg: TurnGroup) -> Iterable[str]:
        """The head of a subtask's leg, or the foot of a reply."""
        name = "head" if leg.subtask else "foot"
        yield replace(f"{leg.id}-{name}", show(f"conversation/_{name}.html", self.now, leg=leg))

    def message(self, message: Message) -> SafeString:
        extra: dict[str, object] = {"message": message, "cleared": self.cleared}
        if shown := message.meta.get("closing") or message.meta.get("plan"):
            extra["card"] = self.plan(int(shown))
        if message.turn_id in self.now.waiting_turns and not self.cleared:
            extra["waiting"] = True
        return show("conversation/_message.html", self.now, **extra)

    def plan(self, pk: int) -> Snapshot | None:
        if pk not in self.plans:
            plan = Plan.objects.filter(pk=pk, conversation=self.now.conversation).first()
            self.plans[pk] = snapshot(plan) if plan else None
        return self.plans[pk]


def thread(now: ConversationState) -> SafeString:
    """The newest part of the whole conversation."""
    legs, before = last_groups(now.conversation)
    shown = Thread(now)
    parts = [shown.leg(leg) for leg in legs]
    return show("conversation/_thread.html", now, legs=parts, before=before)


def cleared(now: ConversationState) -> SafeString:
    """The newest part of what was said before the last /clear."""
    legs, before = last_groups(now.conversation, cleared=True)
    parts = [Thread(now, cleared=True).leg(leg) for leg in legs]
    return show("conversation/_cleared.html", now, legs=parts, before=before, cleared=True)


def earlier(now: ConversationState, before: int, *, cleared: bool = False) -> str:
    """The part before that, put where the button was."""
    legs, rest = last_groups(now.conversation, before, cleared=cleared)
    shown = Thread(now, cleared)
    button = show("conversation/_earlier.html", now, before=rest, cleared=cleared)
    html = "".join([button, *(shown.leg(leg) for leg in legs)])
    return partial("earlier-cleared" if cleared else "earlier", "outerHTML", mark_safe(html))


def streamed(message_id: int, blocks: Sequence[tuple[int, str]]) -> str:
    """Blocks of a growing message; the browser replaces those it has and adds the others.

    The last one is still open: once it is long it is not parsed anew with each word.
    """
    last = len(blocks) - 1
    return "".join(
        append(
            f"message-{message_id}-body",
            block(message_id, i, text, as_it_is=place == last and is_long(text)),
        )
        for place, (i, text) in enumerate(blocks)
    )


def show(template: str, now: ConversationState, **extra: object) -> SafeString:
    context: dict[str, object] = {"now": now, "conversation": now.conversation, "plan": now.plan}
    return mark_safe(render_to_string(template, context | extra).strip())
