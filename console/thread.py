"""The conversation as it is read: messages in the order they were said, cut into legs.

A leg is what belongs to one turn: a person's message and the reply, or everything said and done
under one subtask. A message without a turn is a leg of its own. A leg stands where its first
message stands, so a new one always comes last, live as after a reload.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Prefetch, Q, QuerySet

from agents.models import Conversation, Message, ToolCall, Turn, TurnState
from console.marks import why_left_out
from plans.models import State, Subtask

SHOWN = 200  # messages on a page before "Show earlier"

# The card, the checklist and the leg show what these did; a refusal is shown like any other.
QUIET_TOOLS = {
    "create_plan",
    "revise_current_plan",
    "add_subtask",
    "update_subtask",
    "delete_subtask",
    "report_progress",
    "finish_subtask",
    "fail_subtask",
    "finish_plan",
    "ask_user",
}


@dataclass
class Leg:
    """One turn's part of the conversation."""

    id: str
    turn: Turn | None
    messages: list[Message] = field(default_factory=list)

    @property
    def first_seq(self) -> int:
        return self.messages[0].seq

    @property
    def subtask(self) -> Subtask | None:
        attempt = getattr(self.turn, "attempt", None)
        return attempt.subtask if attempt else None

    @property
    def number(self) -> int | None:
        """The subtask's place in the list; None once it has left it."""
        return self.subtask.position if self.subtask else None

    @property
    def shape(self) -> str:
        turn, subtask = self.turn, self.subtask
        if turn is None or subtask is None:
            return ""
        if turn.is_open:
            return "failed" if turn.not_before else "in_progress"
        if subtask.state == State.ABANDONED:
            return "abandoned"
        if self.error:
            return "failed"
        if turn.state == TurnState.STOPPED:
            return "paused"
        return str(subtask.state) if subtask.is_settled else "todo"

    @property
    def error(self) -> str:
        """Why this attempt failed."""
        attempt = getattr(self.turn, "attempt", None)
        if self.turn is None or attempt is None or self.turn.is_open:
            return ""
        failed = self.turn.state == TurnState.FAILED
        return attempt.error or (self.turn.error or "It failed." if failed else "")

    @property
    def is_settled(self) -> bool:
        return self.turn is not None and not self.turn.is_open

    @property
    def note(self) -> str:
        """Why it ended, when it did not end well."""
        if self.shape == "failed":
            return self.error
        if self.shape == "abandoned" and self.subtask:
            return why_left_out(self.subtask.reason)
        return "Stopped" if self.shape == "paused" else ""

    @property
    def seconds(self) -> float | None:
        turn = self.turn
        if turn is None or not turn.started_at or not turn.finished_at:
            return None
        return (turn.finished_at - turn.started_at).total_seconds()

    @property
    def calls(self) -> int:
        return sum(len(visible_calls(message)) for message in self.messages)

    @property
    def reply(self) -> Message | None:
        """What a person may copy or ask for again: the last text of a reply that has ended."""
        if self.turn is None or self.turn.is_open or self.subtask:
            return None
        texts = [m for m in self.messages if m.role == "assistant" and m.kind == "text" and m.text]
        return texts[-1] if texts else None


def visible_calls(message: Message) -> list[ToolCall]:
    return [call for call in message.tool_calls.all() if not is_quiet(call)]


def is_quiet(call: ToolCall) -> bool:
    return call.tool in QUIET_TOOLS and call.state in ("", "asked", "running", "done")


def read_messages(conversation: Conversation) -> QuerySet[Message]:
    """What is in view, oldest first: from the last /clear to when the conversation was read.

    What was added since comes with the next reading, and is not shown twice.
    """
    calls = Prefetch("tool_calls", ToolCall.objects.order_by("position"))
    return (
        Message.objects.filter(
            conversation=conversation, seq__gt=conversation.cleared_seq, seq__lte=conversation.seq
        )
        .select_related("turn__attempt__subtask")
        .defer("turn__config")
        .prefetch_related(calls)
        .order_by("seq")
    )


def last_legs(conversation: Conversation, before: int | None = None) -> tuple[list[Leg], int]:
    """The newest legs (before a message's number), and the number to go on from; 0 at the start."""
    rows = read_messages(conversation)
    if before is not None:
        on_page = rows.filter(seq__gte=before, turn__isnull=False).values("turn")
        rows = rows.filter(seq__lt=before).exclude(turn__in=on_page)
    newest = list(rows.order_by("-seq")[: SHOWN + 1])
    more, newest = len(newest) > SHOWN, newest[:SHOWN]
    if not more:
        return legs_of(reversed(newest)), 0
    turns = {message.turn_id for message in newest if message.turn_id}
    first = newest[-1].seq
    return legs_of(rows.filter(Q(seq__gte=first) | Q(turn__in=turns))), first


def legs_of(messages: Iterable[Message]) -> list[Leg]:
    legs: dict[str, Leg] = {}
    for message in messages:
        key = leg_id(message)
        legs.setdefault(key, Leg(key, message.turn)).messages.append(message)
    return list(legs.values())


def leg_id(message: Message) -> str:
    return f"turn-{message.turn_id}" if message.turn_id else f"alone-{message.pk}"
