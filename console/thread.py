"""The thread of a conversation: messages in the order they were added, in groups by turn.

A turn group is what belongs to one turn: a person's message and the reply, or everything said and
done under one subtask. A message without a turn is a group of its own. A group stands where its
first message stands, so a new one always comes last, live as after a reload.

Attempts at one subtask that failed in a row with the same error are one group: the last, with those
before it folded away inside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import accumulate

from django.db.models import F, Prefetch, Q, QuerySet
from django.utils.translation import gettext

from agents.engine.alternatives import Alternative, alternatives_of
from agents.engine.usage import counts_from, times_of
from agents.models import Conversation, Message, Recording, ToolCall, Turn, TurnState
from console.finish_blocks import is_drawn_apart
from console.status_labels import name_of_model, why_left_out
from plans.alternatives import why_it_stays
from plans.changes.undone import ChangedSnapshot, UndoHistory, summary
from plans.models import Attempt, PlanVersion, State, Subtask
from plans.snapshot import name_of_mark
from plans.status import mark_of_done
from plans.verification import Word, verified_in

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
    undos: UndoHistory  # of the conversation
    messages: list[Message] = field(default_factory=list)
    name_then: str = ""
    alternative: Alternative | None = None
    before: list[TurnGroup] = field(default_factory=list)  # attempts that failed like this one
    is_inside: bool = False  # of the group of an attempt that failed like this one
    is_far: bool = False  # from the end, where a page opens
    word: str = Word.BY_WORD  # of a subtask that is done

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
        if subtask.state == State.DONE:
            return mark_of_done(self.word)
        return "todo"

    @property
    def works(self) -> bool:
        """Whether it goes on now: one that waits, for a person or its next try, does not."""
        turn = self.turn
        return (
            turn is not None
            and turn.state in (TurnState.QUEUED, TurnState.RUNNING)
            and (turn.not_before is None)
        )

    @property
    def state_name(self) -> str:
        return name_of_mark(self.shape, self.subtask.reason if self.subtask else "")

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
    def is_open(self) -> bool:
        """Whether it is to be read: what is worked on, and the last of attempts that failed."""
        return self.shape in ("in_progress", "failed") and not self.is_inside

    @property
    def note(self) -> str:
        """Why it ended, when it did not end well."""
        if self.shape == "failed":
            return " · ".join(filter(None, [self.error, self.left_out]))
        if self.shape == "regressed":
            return gettext("No longer true")
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
    def tries(self) -> int:
        """How many attempts it stands for."""
        return 1 + len(self.before)

    def failed_like(self, other: TurnGroup) -> bool:
        """Whether both are attempts at the same subtask, in the same words, with the same error."""
        if not self.error or self.error != other.error:
            return False
        return (self.subtask, self.name) == (other.subtask, other.name)

    @property
    def seconds(self) -> float | None:
        """How long it worked, with the attempts it stands for; None before it has begun."""
        turns = [group.turn for group in (*self.before, self)]
        begun = [turn for turn in turns if turn and turn.started_at]
        return sum(times_of(turn).worked for turn in begun) if begun else None

    @property
    def counts_from(self) -> datetime | None:
        return counts_from(self.turn) if self.turn else None

    @property
    def calls(self) -> int:
        own = sum(len(visible_calls(message)) for message in self.messages)
        return own + sum(group.calls for group in self.before)

    @cached_property
    def changes(self) -> ChangedSnapshot | None:
        """How much it changed in its folder, with the attempts it stands for: as a plan's."""
        turns = [group.turn for group in (*self.before, self) if group.turn]
        found: list[Recording] = [turn.recording for turn in turns if hasattr(turn, "recording")]
        if not any(each.files for each in found):
            return summary(found)
        if self.subtask is None:
            return summary(found, self.undos.of_turn(turns[-1].pk, found))
        return summary(found, self.undos.of_plan(self.subtask.plan_id, found, self.subtask.key))

    @property
    def can_be_asked_again(self) -> bool:
        """Whether it is a reply that has ended, with or without a text."""
        has_ended = self.turn is not None and not self.turn.is_open
        return has_ended and self.asked is not None and not why_it_stays(self.asked)

    @cached_property
    def asked(self) -> Message | None:
        """The person's message that it answers."""
        return next((m for m in self.messages if m.role == Message.Role.USER), None)

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
        if (call.tool not in QUIET_TOOLS or call.state not in ("", "asked", "running", "done"))
        and not is_drawn_apart(call, message)
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
    rows = rows.select_related("turn__attempt__subtask", "turn__recording").defer("turn__config")
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
        groups = fold_attempts(groups_of(reversed(newest)))
        return with_alternatives(conversation, groups), 0
    turns = {message.turn_id for message in newest if message.turn_id}
    first = newest[-1].seq
    groups = fold_attempts(groups_of(rows.filter(Q(seq__gte=first) | Q(turn__in=turns))))
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
    return fold_attempts(groups_of(with_what_belongs(Message.objects.filter(pk__in=wanted))))


def with_alternatives(conversation: Conversation, groups: list[TurnGroup]) -> list[TurnGroup]:
    """The groups, each with which one of the alternatives at its place it is."""
    turns = {group.turn.pk: group for group in groups if group.turn}
    for pk, alternative in alternatives_of(conversation, turns).items():
        turns[pk].alternative = alternative
    return groups


def groups_of(messages: Iterable[Message]) -> list[TurnGroup]:
    groups: dict[str, TurnGroup] = {}
    undos: dict[int, UndoHistory] = {}
    for message in messages:
        key = group_id(message)
        if key not in groups:
            number = message.conversation_id
            groups[key] = TurnGroup(
                key, message.turn, undos.setdefault(number, UndoHistory(number))
            )
        groups[key].messages.append(message)
    # Only what failed or was stopped can have another name by now; most pages hold none.
    attempts = [(g, g.turn.attempt) for g in groups.values() if g.turn and g.subtask]
    done = {a.subtask.plan_id for _, a in attempts if a.subtask.state == State.DONE}
    words = {of.pk: known.word for of, known in verified_in(done)}
    for group, attempt in attempts:
        group.word = words.get(attempt.subtask_id, Word.BY_WORD)
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


def fold_attempts(groups: list[TurnGroup], begun: Collection[int] = ()) -> list[TurnGroup]:
    """In the place of attempts that failed alike the last of them, which has the others inside.

    `begun` are the numbers at which groups begin that are not given, and may stand between them.
    """
    rows: list[TurnGroup] = []
    for group in groups:
        last = rows[-1] if rows else None
        if (
            last is not None
            and last.failed_like(group)
            and not any(last.first_seq < seq < group.first_seq for seq in begun)
        ):
            group.before, last.before = [*last.before, rows.pop()], []
            last.is_inside = True
        rows.append(group)
    return rows


def fold_some(conversation: int, groups: Iterable[TurnGroup]) -> list[TurnGroup]:
    """The same of some groups of the thread, as a change of it has them: those that hold others."""
    failed = sorted((each for each in groups if each.error), key=lambda each: each.first_seq)
    if len(failed) < 2:
        return []
    first, last = failed[0].first_seq, failed[-1].first_seq
    rows = Message.objects.filter(conversation=conversation, hidden=False, seq__lt=last)
    began_before = rows.filter(seq__lt=first, turn__isnull=False).values("turn")
    others = rows.filter(seq__gt=first).exclude(turn__in=began_before)
    others = others.exclude(turn__in=[group.turn.pk for group in failed if group.turn])
    folded = fold_attempts(failed, list(others.values_list("seq", flat=True)))
    return [group for group in folded if group.before]


def group_id(message: Message) -> str:
    return f"turn-{message.turn_id}" if message.turn_id else f"alone-{message.pk}"
