"""Alternatives: replies that were asked for again, and messages that were edited and sent again.

Chat turns form a tree. A turn's parent is the chat turn that stood before it; those with the same
parent are alternatives, of which one is shown. What follows an alternative stays with it. All that
is not on the shown path is hidden: neither pages nor models read it until a person walks there.

A message without a turn goes with the chat turn that was shown last when it came. The turns of a
run are never hidden, since what an approved plan came out of stays (plans/actions/alternatives.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from agents import events
from agents.actors import Actor
from agents.engine.handlers import handler_of
from agents.errors import Conflict
from agents.models import Conversation, Lane, Message, Turn
from agents.statements import prepared
from agents.stored_text import gettext_lazy

BUSY = gettext_lazy("Stop the reply first.")
CLEARED = gettext_lazy("This was cleared: it can only be read.")
NOT_SHOWN = gettext_lazy("Another alternative is shown here by now. Nothing was changed.")
AT_ONCE = 1000  # rows that one statement names


@dataclass(frozen=True)
class Alternative:
    """Which one of several this is, from 1, and the turns beside it."""

    number: int
    count: int
    earlier: int | None
    later: int | None


def chat_turns(conversation: int) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation=conversation, lane=Lane.CHAT)


@prepared
def shown_turns(conversation: int) -> QuerySet[Turn, tuple[int]]:
    """The last one."""
    rows = Turn.objects.filter(conversation=conversation, lane=Lane.CHAT, hidden=False)
    return rows.order_by("-pk").values_list("pk")[:1]


def last_shown(conversation: int) -> int | None:
    """The chat turn at the end of the shown path; the next one and what comes now follow it."""
    row = shown_turns.first(conversation=conversation)
    return row[0] if row else None


def alternatives_of(conversation: Conversation, turns: Iterable[int]) -> dict[int, Alternative]:
    """Of those turns that have any."""
    if not conversation.branched_seq:
        return {}
    wanted = set(turns)
    chat = chat_turns(conversation.pk)
    parents = set(chat.filter(pk__in=wanted).values_list("parent", flat=True))
    same_parent = Q(parent__in=parents - {None})
    if None in parents:
        same_parent |= Q(parent=None)
    families: dict[int | None, list[int]] = defaultdict(list)
    for pk, parent in chat.filter(same_parent).order_by("pk").values_list("pk", "parent"):
        families[parent].append(pk)
    return {
        pk: Alternative(
            place + 1,
            len(family),
            family[place - 1] if place else None,
            family[place + 1] if place + 1 < len(family) else None,
        )
        for family in families.values()
        for place, pk in enumerate(family)
        if len(family) > 1 and pk in wanted
    }


def demand_free(conversation: Conversation, turn: Turn) -> None:
    """Refuse while a reply is written, and for what was cleared."""
    if chat_turns(conversation.pk).filter(state__in=Turn.OPEN_STATES).exists():
        raise Conflict(str(BUSY))
    if turn.messages.filter(seq__lte=conversation.cleared_seq).exists():
        raise Conflict(str(CLEARED))


def shown_from(turn: Turn) -> QuerySet[Turn]:
    """The shown alternative at this turn's place, and what follows it: children come later."""
    chat = chat_turns(turn.conversation_id).filter(hidden=False)
    first = chat.filter(parent=turn.parent_id).values_list("pk", flat=True).first()
    return chat.filter(pk__gte=first) if first is not None else chat.none()


def messages_with(conversation: int, turns: QuerySet[Turn] | Collection[int]) -> QuerySet[Message]:
    """What is said in these turns, and what goes with them."""
    rows = Message.objects.filter(conversation=conversation)
    return rows.filter(Q(turn__in=turns) | Q(after__in=turns))


def path_from(turn: Turn) -> list[int]:
    """This turn and what follows it, by what was shown there last."""
    followers: dict[int | None, list[tuple[int, int]]] = defaultdict(list)
    later = chat_turns(turn.conversation_id).filter(pk__gt=turn.pk)
    for pk, parent, shown in later.values_list("pk", "parent", "shown_seq"):
        followers[parent].append((shown, pk))
    path = [turn.pk]
    while beyond := followers.get(path[-1]):
        path.append(max(beyond)[1])
    return path


def leave(turn: Turn, by: Actor) -> int:
    """Hide what is shown at this turn's place and behind it; gives the number of the event.

    In the caller's transaction, which puts something else there.
    """
    left = shown_from(turn)
    messages_with(turn.conversation_id, left).update(hidden=True)
    left.update(hidden=True)
    seq = events.record(turn.conversation_id, "conversation.branched", f"turn:{turn.pk}", by)
    Conversation.objects.filter(pk=turn.conversation_id).update(branched_seq=seq)
    return seq


def hidden_line(turn: Turn) -> list[Turn]:
    """From where this turn's way leaves the shown path, to the turn itself."""
    earlier = chat_turns(turn.conversation_id).filter(hidden=True, pk__lt=turn.pk)
    hidden = {row.pk: row for row in earlier.only("conversation", "parent")}
    line = [turn]
    while (above := hidden.get(line[-1].parent_id or 0)) is not None:
        line.append(above)
    return line[::-1]


def show(line: list[Turn], by: Actor) -> list[int]:
    """Put a hidden line, and what followed it there, in place of what is shown now."""
    seq = leave(line[0], by)
    for part in batched([turn.pk for turn in line]):
        Turn.objects.filter(pk__in=part).update(shown_seq=seq)
    path = path_from(line[0])
    for part in batched(path):
        Turn.objects.filter(pk__in=part).update(hidden=False)
        messages_with(line[0].conversation_id, part).update(hidden=False)
    return path


def batched(keys: list[int]) -> Iterator[list[int]]:
    return (keys[start : start + AT_ONCE] for start in range(0, len(keys), AT_ONCE))


def choose(turn: Turn, seq: int) -> None:
    """It is the one of its alternatives that is shown when somebody walks back to them."""
    Turn.objects.filter(pk=turn.pk).update(shown_seq=seq)


def drop(turn: Turn) -> None:
    """Delete a turn that was never begun; what was shown in its place before comes back."""
    conversation = turn.conversation_id
    # As it is now: the one before it may have been dropped just before.
    parent = Turn.objects.values_list("parent", flat=True).get(pk=turn.pk)
    turn.following.update(parent=parent)
    Message.objects.filter(after=turn).update(after=parent)
    turn.delete()
    others = chat_turns(conversation).filter(parent=parent)
    last = others.order_by("shown_seq", "pk").last()
    if last is not None and not others.filter(hidden=False).exists():
        handler_of(turn).came_back(turn.conversation, show([last], ""))
