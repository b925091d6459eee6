"""The thread of a conversation: messages in the order they were added, in groups by turn.

A turn group is what belongs to one turn: a person's message and the reply, or everything said and
done under one subtask. A message without a turn is a group of its own. A group stands where its
first message stands, so a new one always comes last, live as after a reload.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import accumulate

from django.db.models import F, Prefetch, Q, QuerySet
from django.utils.translation import gettext

from agents.engine.alternatives import Alternative, alternatives_of
from agents.engine.usage import counts_from, times_of
from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from console.status_labels import name_of_model, name_of_shape, why_left_out
from plans.models import Attempt, PlanVersion, State, Subtask

MESSAGES_PER_PAGE = 200  # messages on a page before "Show earlier"
MOST_BACK = 1000  # and of one that opens at an older message
AROUND = 10  # messages before one that is shown by itself, and twice as many after it
MOST_TEXT = 400_000  # characters on it, of more than one message

# Card, checklist and group show what these did; a refusal is shown like any other.
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
class TurnGroup:
    """One turn's part of the conversation."""

    id: str
    turn: Turn | None
    messages: list[Message] = field(default_factory=list)
    name_then: str = ""
    alternative: Alternative | None = None

    @property
    def first_seq(self) -> int:
        return self.messages[0].seq

    @property
    def subtask(self) -> Subtask | None:
        attempt = getattr(self.turn, "attempt", None)
        return attempt.subtask if attempt else None

    @cached_property
    def attempt(self) -> int | None:
        """Which attempt at the subtask it is, where there was or may be another one. What was
        interrupted does not count."""
        attempt = getattr(self.turn, "attempt", None)
        if attempt is None or (attempt.number == 1 and not self.error):
            return None
        before = Attempt.objects.filter(subtask=attempt.subtask_id, number__lt=attempt.number)
        counted = before.exclude(failure_class=Attempt.FailureClass.INTERRUPTED).count()
        return counted + 1 if counted or self.error else None

    @property
    def name(self) -> str:
        """The subtask's when this was tried: one that failed may be called otherwise since."""
        return self.name_then or (self.subtask.name if self.subtask else "")

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
        if subtask.state == State.ABANDONED:  # nobody has to do anything about its failures
            return "abandoned"
        if self.error:
            return "failed"
        if turn.state == TurnState.STOPPED:
            return "paused"
        return str(subtask.state) if subtask.is_settled else "todo"

    @property
    def state_name(self) -> str:
        return name_of_shape(self.shape, self.subtask.reason if self.subtask else "")

    @property
    def error(self) -> str:
        """Why this attempt failed."""
        attempt = getattr(self.turn, "attempt", None)
        if self.turn is None or attempt is None or self.turn.is_open:
            return ""
        failed = self.turn.state == TurnState.FAILED
        return attempt.error or (self.turn.error or gettext("It failed.") if failed else "")

    @property
    def is_settled(self) -> bool:
        return self.turn is not None and not self.turn.is_open

    @property
    def note(self) -> str:
        """Why it ended, when it did not end well."""
        if self.shape == "failed":
            return " · ".join(filter(None, [self.error, self.left_out]))
        if self.shape == "abandoned":
            return " · ".join(filter(None, [self.error, self.left_out]))
        return gettext("Stopped") if self.shape == "paused" else ""

    @property
    def left_out(self) -> str:
        """Why there was no further attempt, said at the last one."""
        subtask = self.subtask
        if self.turn is None or subtask is None or subtask.state != State.ABANDONED:
            return ""
        later = subtask.attempts.filter(number__gt=self.turn.attempt.number)
        return "" if later.exists() else why_left_out(subtask.reason)

    @property
    def seconds(self) -> float | None:
        """How long it worked; None before it has begun."""
        turn = self.turn
        return times_of(turn).worked if turn and turn.started_at else None

    @property
    def counts_from(self) -> datetime | None:
        return counts_from(self.turn) if self.turn else None

    @property
    def calls(self) -> int:
        return sum(len(visible_calls(message)) for message in self.messages)

    @property
    def can_be_asked_again(self) -> bool:
        """Whether it is a reply that has ended, with or without a text."""
        turn = self.turn
        is_reply = turn is not None and turn.lane == Lane.CHAT and not turn.is_open
        return is_reply and any(message.role == Message.Role.USER for message in self.messages)

    @property
    def model(self) -> str:
        """The model that wrote the reply, as provider/model."""
        names = [str(m.meta["model"]) for m in self.messages if m.meta.get("model")]
        return names[-1] if names else ""

    @property
    def model_name(self) -> str:
        return name_of_model(*self.model.split("/", 1)) if self.model else ""

    @property
    def reply(self) -> Message | None:
        """What a person may copy: the last text of a reply that has ended."""
        if self.turn is None or self.turn.is_open or self.subtask:
            return None
        texts = [m for m in self.messages if m.role == "assistant" and m.kind == "text" and m.text]
        return texts[-1] if texts else None


def visible_calls(message: Message) -> list[ToolCall]:
    return [
        call
        for call in message.tool_calls.all()
        if call.tool not in QUIET_TOOLS or call.state not in ("", "asked", "running", "done")
    ]


def read_messages(conversation: Conversation, *, cleared: bool = False) -> QuerySet[Message]:
    """What is in view, oldest first: from the last /clear to when the conversation was read, of
    each alternative the one that is shown.

    What was added since comes with the next reading, and is not shown twice. `cleared` is what
    came before that /clear instead.
    """
    since, until = conversation.cleared_seq, conversation.seq
    if cleared:
        since, until = 0, conversation.cleared_seq
    rows = Message.objects.filter(conversation=conversation, hidden=False)
    return with_what_belongs(rows.filter(seq__gt=since, seq__lte=until))


def with_what_belongs(rows: QuerySet[Message]) -> QuerySet[Message]:
    """Oldest first, each with its turn, subtask and calls."""
    with_changes = ToolCall.objects.select_related("file_change")
    calls = Prefetch("tool_calls", with_changes.order_by("position"))
    rows = rows.select_related("turn__attempt__subtask").defer("turn__config")
    return rows.prefetch_related(calls).order_by("seq")


def last_groups(
    conversation: Conversation,
    before: int | None = None,
    *,
    cleared: bool = False,
    since: int | None = None,
) -> tuple[list[TurnGroup], int]:
    """The newest groups (before a message's number), and the number to go on from; 0 at the start.

    A page has up to MESSAGES_PER_PAGE messages and MOST_TEXT characters, at least one message; or
    all `since` a message's number.
    """
    rows = read_messages(conversation, cleared=cleared)
    if before is not None:
        on_page = rows.filter(seq__gte=before, turn__isnull=False).values("turn")
        rows = rows.filter(seq__lt=before).exclude(turn__in=on_page)
    wanted = rows.filter(seq__gte=since).count() if since is not None else 1
    candidates = list(rows.order_by("-seq")[: max(MESSAGES_PER_PAGE, wanted) + 1])
    lengths = accumulate(len(message.text) for message in candidates)
    fitting = sum(length <= MOST_TEXT for length in lengths)
    newest = candidates[: max(min(fitting, MESSAGES_PER_PAGE), wanted)]
    if len(newest) == len(candidates):
        return with_alternatives(conversation, groups_of(reversed(newest))), 0
    turns = {message.turn_id for message in newest if message.turn_id}
    first = newest[-1].seq
    groups = groups_of(rows.filter(Q(seq__gte=first) | Q(turn__in=turns)))
    return with_alternatives(conversation, groups), first


def is_within_reach(conversation: Conversation, message: Message) -> bool:
    """Whether a page can show it with all that came after it."""
    rows = read_messages(conversation).filter(seq__gte=message.seq)
    return rows.filter(pk=message.pk).exists() and rows.count() <= MOST_BACK


def groups_around(conversation: Conversation, message: Message) -> list[TurnGroup]:
    """A message with what stands around it, in whichever alternative that is."""
    rows = Message.objects.filter(conversation=conversation, hidden=message.hidden)
    rows = rows.filter(seq__lte=conversation.seq)
    if message.hidden:
        rows = rows.filter(Q(pk=message.pk) | Q(turn=message.turn_id, turn__isnull=False))
    before = rows.filter(seq__lt=message.seq).order_by("-seq")[:AROUND]
    after = rows.filter(seq__gte=message.seq).order_by("seq")[: 2 * AROUND]
    wanted = [row.pk for row in (*before.only("pk"), *after.only("pk"))]
    return groups_of(with_what_belongs(Message.objects.filter(pk__in=wanted)))


def with_alternatives(conversation: Conversation, groups: list[TurnGroup]) -> list[TurnGroup]:
    """The groups, each with which one of the alternatives at its place it is."""
    turns = {group.turn.pk: group for group in groups if group.turn}
    for pk, alternative in alternatives_of(conversation, turns).items():
        turns[pk].alternative = alternative
    return groups


def groups_of(messages: Iterable[Message]) -> list[TurnGroup]:
    groups: dict[str, TurnGroup] = {}
    for message in messages:
        key = group_id(message)
        groups.setdefault(key, TurnGroup(key, message.turn)).messages.append(message)
    # Only what failed or was stopped can have another name by now; most pages hold none.
    attempts = [(g, g.turn.attempt) for g in groups.values() if g.turn and g.subtask]
    old = [(group, attempt) for group, attempt in attempts if attempt.failure_class]
    if not old:
        return list(groups.values())
    versions = PlanVersion.objects.filter(
        version__lt=F("plan__version"),
        version__in={attempt.version for _, attempt in old},
        plan__in={attempt.subtask.plan_id for _, attempt in old},
    )
    names = {
        (version.plan_id, version.version, each["key"]): each["name"]
        for version in versions.iterator()
        for each in version.snapshot["subtasks"]
    }
    for group, attempt in old:
        subtask = attempt.subtask
        group.name_then = names.get((subtask.plan_id, attempt.version, subtask.key), "")
    return list(groups.values())


def group_id(message: Message) -> str:
    return f"turn-{message.turn_id}" if message.turn_id else f"alone-{message.pk}"
