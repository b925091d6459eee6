"""The plan as one typed value: page, socket, poll, API, commands and export all read this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, JsonValue

from agents.engine.usage import Times
from agents.errors import NotFound
from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from agents.statements import prepared
from agents.timestamps import Moment, timestamp
from plans.attempts import AttemptSummary, attempts_of, times_of_plan, used_by
from plans.changes.recorded import recordings_of
from plans.changes.undone import ChangedSnapshot, UndoHistory, summary
from plans.check_results import CheckSnapshot, Latest, check_snapshots, latest_results
from plans.check_text import DETERMINISTIC
from plans.comments import digest_of, kept_comments
from plans.models import (
    PLAN_TEXT,
    SUBTASK_TEXT,
    ActivePlan,
    CheckResult,
    Plan,
    Run,
    State,
    Subtask,
)
from plans.progress import ProgressSnapshot, progress
from plans.queries import active_plan_and_goal, asking_plan, reload
from plans.schemas import why_too_many
from plans.status import (
    ENDED,
    MARKS,
    STATUSES,
    Asking,
    Facts,
    Status,
    mark_of_done,
    status_of,
)

Json = dict[str, JsonValue]
OF_ROW = (
    *("goal", *PLAN_TEXT, "state", "reason", "outcome", "version", "approved_version"),
    *("approved_by", "run", "pause_reason", "paused_by", "budget", "metadata"),
)
MOMENTS = ("approved_at", "created_at", "updated_at", "finished_at")


class ApprovalSnapshot(BaseModel, extra="forbid"):
    id: int
    tool: str
    arguments: JsonValue
    asked_at: Moment | None


class ActivitySnapshot(BaseModel, extra="forbid"):
    """The tool that runs now, since when, and when anything was last heard.

    `progress` is what the tool said last of how far it is, if it says so.
    """

    tool: str | None
    call: int | None
    arguments: JsonValue
    progress: str
    since: Moment | None
    last_at: Moment | None


class CheckingSnapshot(BaseModel, extra="forbid"):
    """Checks of what is done are being run again: so many of so many, of these subtasks."""

    done: int
    total: int
    subtasks: list[str]


class SecondsSnapshot(BaseModel, extra="forbid"):
    """Of all attempts, and between them: working, waiting for a person, paused."""

    worked: float
    waited: float
    paused: float

    @property
    def times(self) -> Times:
        return Times(self.worked, self.waited, self.paused)


# A dataclass, as a plan may have 500: a model takes several times as long to make.
@dataclass(slots=True)
class SubtaskSnapshot:
    __pydantic_config__ = ConfigDict(extra="forbid")

    key: str
    position: int | None
    name: str
    description: str
    expected_outcome: str
    state: str
    reason: str
    progress: str
    outcome: str
    result: JsonValue
    checks: list[CheckSnapshot]
    verified: bool | None
    looked_by: str
    looked_at: Moment | None
    untrue_since: Moment | None
    comment: str
    error: str
    failed: bool
    failure: str
    attempts: int
    changes: ChangedSnapshot | None
    plan: int | None
    started_at: Moment | None
    finished_at: Moment | None
    seconds: float
    counts_from: Moment | None
    tokens: int
    tokens_cached: int
    usage_estimated: bool
    cost: float | None

    @property
    def is_open(self) -> bool:
        return self.state in (State.TODO, State.IN_PROGRESS)

    @property
    def is_by_word(self) -> bool:
        """Done, and nothing but the agent's word says so."""
        return self.state == State.DONE and self.verified is None

    @property
    def is_regressed(self) -> bool:
        return self.state == State.DONE and self.verified is False

    @property
    def mark(self) -> str:
        """The shape that stands for it."""
        if self.state == State.DONE:
            return mark_of_done(self.verified)
        if self.failed:
            return "check_failed" if self.failure == "check" else "failed"
        return self.state

    @property
    def mark_name(self) -> str:
        """What a screen reader says for it."""
        return name_of_mark(self.mark, self.reason)

    @property
    def text(self) -> list[tuple[str, str]]:
        """Each field with its text, for the editor to begin with."""
        return [(field, getattr(self, field)) for field in SUBTASK_TEXT]

    @property
    def digest(self) -> str:
        """What a start from this page names its comment by."""
        return digest_of(self.key, self.comment)

    @property
    def checks_words(self) -> str:
        count = len(self.checks)
        words = ngettext("{n} check", "{n} checks", count) if count else gettext("no check")
        return words.format(n=count)

    @property
    def not_run(self) -> CheckSnapshot | None:
        """The check for which the run rests: the last that could not be run."""
        left = [each for each in self.checks if each.state == "could_not_run"]
        return max(left, key=lambda each: each.result.at if each.result else "", default=None)

    @property
    def checked_at(self) -> str:
        """When it was checked last, or looked at; empty where neither has been."""
        results = [each.result.at for each in self.checks if each.result]
        return max([*results, self.looked_at or ""])

    @property
    def untrue_at(self) -> str:
        """Since when a check has said no; of older rows the last time is known alone."""
        return self.untrue_since or self.checked_at


class PlanSnapshot(BaseModel, extra="forbid"):
    """A plan as it is now; a reader ignores one with a lower seq than it has seen."""

    id: int
    conversation: int
    active: bool
    seq: int
    goal: str
    title: str
    content: str
    expected_outcome: str
    state: str
    reason: str
    outcome: str
    version: int
    approved_version: int | None
    approved_by: str
    approved_at: Moment | None
    run: str
    run_mode: str | None
    halted: bool
    hidden: bool
    pause_reason: str
    paused_by: str
    retry_at: Moment | None
    attention: str
    standing: str
    question: str
    approvals: list[ApprovalSnapshot]
    activity: ActivitySnapshot | None
    checking: CheckingSnapshot | None
    progress: ProgressSnapshot
    changes: ChangedSnapshot | None
    seconds: SecondsSnapshot
    counts_from: Moment | None
    tokens: int
    tokens_cached: int
    usage_estimated: bool
    cost: float | None
    budget: Json
    metadata: Json
    subtasks: list[SubtaskSnapshot]
    created_at: Moment
    updated_at: Moment
    finished_at: Moment | None
    status: Annotated[InstanceOf[Status], Field(exclude=True)]  # in words: attention and standing

    def document(self) -> dict[str, Any]:
        """As JSON has it: a check with the fields of its kind alone."""
        return self.model_dump(exclude_unset=True)

    @property
    def row(self) -> Plan:
        """Enough of its row to ask the database about it; the plan may be gone by now."""
        now = {name: getattr(self, name) for name in OF_ROW}
        return Plan(pk=self.id, conversation_id=self.conversation, **now)

    @property
    def is_open(self) -> bool:
        return self.state in (State.TODO, State.IN_PROGRESS)

    @property
    def is_confirmed(self) -> bool:
        return self.version == self.approved_version

    @property
    def is_proposed(self) -> bool:
        """Whether its present version waits for a yes: then all of its text is shown."""
        return self.is_open and not self.is_confirmed

    @property
    def is_pausing(self) -> bool:
        """A person has asked it to pause, which it does with or after what it waits for."""
        return self.pause_reason == Plan.PauseReason.USER

    @property
    def works(self) -> bool:
        """Whether something goes on now: not while it rests, waits for a person or a next try."""
        return self.status.mark == "in_progress"

    @property
    def takes_edits(self) -> bool:
        """By hand, while nothing runs."""
        return self.is_open and self.run in (Run.IDLE, Run.PAUSED)

    @property
    def takes_retry(self) -> list[str]:
        """The keys of what has failed, or is not true any more, and may be done again: nothing runs
        or comes before it."""
        at_rest = self.is_confirmed and self.state != State.ABANDONED and self.run == Run.IDLE
        first = self.number(State.TODO)
        rows = self.subtasks[: first or None]
        keys = [each.key for each in rows if at_rest and each.is_regressed]
        if self.is_confirmed and self.takes_edits and first and rows[-1].failed:
            keys.append(rows[-1].key)
        return keys

    @property
    def why_full(self) -> str:
        """Why no subtask is added; empty where one may be."""
        return why_too_many(len(self.subtasks) + 1)

    @property
    def current(self) -> SubtaskSnapshot | None:
        """The subtask that is worked on, or would be next."""
        return next((each for each in self.subtasks if each.is_open), None)

    def number(self, *states: str) -> int:
        """The place, counted from 1, of the first subtask in one of these; 0 for none."""
        rows = enumerate(self.subtasks, 1)
        return next((place for place, each in rows if each.state in states), 0)

    @property
    def failed_number(self) -> int:
        rows = enumerate(self.subtasks, 1)
        return next((place for place, each in rows if each.failed), 0)

    @property
    def done(self) -> list[SubtaskSnapshot]:
        return [each for each in self.subtasks if each.state == State.DONE]

    @property
    def done_by_word(self) -> list[SubtaskSnapshot]:
        return [each for each in self.subtasks if each.is_by_word]

    @property
    def left_out(self) -> list[SubtaskSnapshot]:
        return [each for each in self.subtasks if each.state == State.ABANDONED]

    @property
    def comments(self) -> int:
        """Subtasks with a comment that has not gone out."""
        return sum(bool(each.comment) for each in self.subtasks)

    @property
    def checked_at(self) -> str:
        """When what is done was checked last, or looked at."""
        return max((each.checked_at for each in self.subtasks), default="")

    @property
    def checked(self) -> dict[str, Any]:
        """Its progress, with the numbers of what is done by word or no longer true, and when that
        was seen."""
        rows = list(enumerate(self.subtasks, 1))
        return {
            **self.progress.model_dump(),
            "by_word_at": [place for place, each in rows if each.is_by_word],
            "regressed_at": [place for place, each in rows if each.is_regressed],
            "at": self.checked_at,
        }

    @property
    def runnable_checks(self) -> int:
        """How many checks of what is done can be run again."""
        return sum(len(each.checks) for each in self.done)

    @property
    def not_run_words(self) -> str:
        """1 check could not be run, of what is done; nothing where all of them could."""
        n = sum(check.state == "could_not_run" for each in self.done for check in each.checks)
        words = ngettext("{n} check could not be run", "{n} checks could not be run", n)
        return words.format(n=n) if n else ""

    @property
    def with_checks(self) -> int:
        """How many subtasks have a check."""
        return sum(bool(each.checks) for each in self.subtasks)

    @property
    def and_checks(self) -> str:
        """What follows the number of subtasks: , 6 checks."""
        n = sum(len(each.checks) for each in self.subtasks)
        return ngettext(", {n} check", ", {n} checks", n).format(n=n) if n else ""


def name_of_mark(mark: str, reason: str) -> str:
    """What a screen reader says for a subtask's mark."""
    kind = reason.partition(":")[0] if mark == "abandoned" else ""
    if kind in ENDED:  # with its plan, and in the same word
        return STATUSES[kind].word
    return gettext("Skipped") if kind == "skipped" else str(MARKS[mark])


# How it is read


def conversation_snapshot(conversation: Conversation) -> PlanSnapshot | None:
    """The plan in the drawer, or None."""
    plan, _ = active_plan_and_goal(conversation.pk)
    return plan_snapshot(plan) if plan else None


def plan_snapshot(plan: Plan) -> PlanSnapshot:
    """The plan as it is now. `seq` is read before the rows: it is never older than it says."""
    (seq,) = seq_of.first(conversation=plan.conversation_id) or (0,)
    return snapshot_of(reload(plan), seq, open_turns_of(plan.conversation_id))


def plan_snapshots(plans: Iterable[Plan]) -> list[PlanSnapshot]:
    """Of those that are still there."""
    found = []
    for plan in plans:
        with suppress(NotFound):
            found.append(plan_snapshot(plan))
    return found


def open_turns_of(conversation_id: int) -> list[Turn]:
    return open_turns.models(conversation=conversation_id)


# Read at every change of every plan that somebody looks at.


@prepared
def seq_of(conversation: int) -> QuerySet[Conversation, tuple[int]]:
    return Conversation.objects.filter(pk=conversation).values_list("seq")


@prepared
def open_turns(conversation: int) -> QuerySet[Turn]:
    turns = Turn.objects.filter(conversation=conversation, state__in=Turn.OPEN_STATES)
    return turns.order_by("pk")


@prepared
def pointers_to(plan: int) -> QuerySet[ActivePlan, tuple[int]]:
    return ActivePlan.objects.filter(plan=plan).values_list("pk")


@prepared
def checklist(plan: int) -> QuerySet[Subtask]:
    return Subtask.objects.filter(plan=plan, position__isnull=False).order_by("position")


@prepared
def last_call(turn: int) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(turn=turn, started_at__isnull=False).order_by("-started_at")[:1]


@prepared
def last_message(turn: int) -> QuerySet[Message, tuple[datetime]]:
    return Message.objects.filter(turn=turn).order_by("-seq").values_list("created_at")[:1]


@prepared
def hidden_message(message: int) -> QuerySet[Message, tuple[int]]:
    return Message.objects.filter(pk=message, hidden=True).values_list("pk")


def snapshot_of(plan: Plan, seq: int, open_turns: list[Turn]) -> PlanSnapshot:
    """The plan's row and the conversation's open turns have just been read, after `seq`."""
    rows = checklist.models(plan=plan.pk)
    attempts = attempts_of(plan)
    comments = kept_comments(plan)
    results = latest_results(plan, rows)
    changes = changes_in(plan, rows, attempts)
    turns = [turn for turn in open_turns if turn.plan == plan.pk and turn.lane != Lane.CHAT]
    run = [turn for turn in turns if turn.lane == Lane.RUN]
    looking = next((turn for turn in turns if turn.lane == Lane.CHECK), None)
    subtasks = [
        subtask_snapshot(
            each, attempts[each.pk], changes[each.key], comments.get(each.pk, ""), results
        )
        for each in rows
    ]
    so_far, asking = progress(plan, rows), Asking.of(turns)
    asks = plan.is_open and any(turn.pk in asking.questions for turn in run)
    question = open_question(plan) if asks else ""
    retries = [turn.not_before for turn in run if turn.not_before]
    facts = Facts(
        state=plan.state,
        reason=plan.reason,
        run=plan.run,
        pause_reason=plan.pause_reason,
        is_confirmed=plan.is_confirmed,
        is_halted=bool(plan.run_options.get("halted")),
        is_hidden=has_hidden_card(plan),
        **marks_of(subtasks, so_far),
        is_held=bool(retries),
        asks_question=bool(question),
        asks_approval=bool(asking.calls),
    )
    status, seconds = status_of(facts), times_of_plan(plan, attempts).document()
    return PlanSnapshot.model_construct(
        id=plan.pk,
        conversation=plan.conversation_id,
        active=bool(pointers_to.rows(plan=plan.pk)),
        seq=seq,
        **{name: getattr(plan, name) for name in OF_ROW},
        **{name: timestamp(getattr(plan, name)) for name in MOMENTS},
        run_mode=plan.run_options.get("mode"),
        halted=facts.is_halted,
        hidden=facts.is_hidden,
        retry_at=timestamp(min(retries, default=None)),
        attention=status.attention,
        standing=status.word,
        status=status,
        question=question,
        approvals=[approval(call) for call in asking.calls],
        activity=activity(plan, run),
        checking=checking(looking, rows) if looking is not None else None,
        progress=so_far,
        changes=changes[""],
        subtasks=subtasks,
        **used_by(attempts).document() | {"seconds": SecondsSnapshot.model_construct(**seconds)},
    )


def has_hidden_card(plan: Plan) -> bool:
    """Whether it was proposed in an alternative that is not shown; once approved it is in view."""
    if plan.approved_version is not None or plan.card_id is None:
        return False
    return bool(hidden_message.rows(message=plan.card_id))


def marks_of(subtasks: list[SubtaskSnapshot], so_far: ProgressSnapshot) -> dict[str, Any]:
    """The facts that its subtasks are."""
    return {
        "has_subtasks": bool(subtasks),
        "is_tried": any(each.attempts for each in subtasks),
        "has_failed": any(each.failed for each in subtasks),
        "has_checked": bool(so_far.checked),
        "has_by_word": bool(so_far.by_word),
        "has_regressed": bool(so_far.regressed),
    }


def checking(turn: Turn, subtasks: list[Subtask]) -> CheckingSnapshot:
    """What is done is being looked at again: how many checks of how many have been run."""
    keys = turn.checkpoint.get("checks_of", [])
    only, hard = turn.checkpoint.get("check"), turn.checkpoint.get("deterministic")
    wanted = [
        check
        for each in subtasks
        if each.key in keys
        for check in each.checks
        if only in (None, check["key"]) and (not hard or check["kind"] in DETERMINISTIC)
    ]
    rows = CheckResult.objects.filter(turn=turn, call__isnull=True)
    run = rows.values("subtask", "key").distinct().count()
    return CheckingSnapshot(done=min(run, len(wanted)), total=len(wanted), subtasks=list(keys))


def open_question(plan: Plan) -> str:
    asking = asking_plan(plan)
    return asking.question if asking else ""


def approval(call: ToolCall) -> ApprovalSnapshot:
    return ApprovalSnapshot.model_construct(
        id=call.pk, tool=call.tool, arguments=call.arguments, asked_at=timestamp(call.asked_at)
    )


def activity(plan: Plan, turns: list[Turn]) -> ActivitySnapshot | None:
    """What happens now: the tool that runs, since when, and when something last happened."""
    turn = next((turn for turn in turns if turn.state == TurnState.RUNNING), None)
    if turn is None or not plan.is_live:
        return None
    last = next(iter(last_call.models(turn=turn.pk)), None)
    running = last if last is not None and last.state == ToolCall.State.RUNNING else None
    moments = [turn.started_at, *(last_message.first(turn=turn.pk) or ())]
    if last is not None:
        moments += [last.started_at, last.finished_at]
    told = running.progress if running else None
    if told:
        moments.append(datetime.fromisoformat(told["at"]))
    last_at = max((moment for moment in moments if moment), default=timezone.now())
    return ActivitySnapshot.model_construct(
        tool=running.tool if running else None,
        call=running.pk if running else None,
        arguments=running.arguments if running else None,
        progress=told["words"] if told else "",
        since=timestamp(running.started_at if running else last_at),
        last_at=timestamp(last_at),
    )


def changes_in(
    plan: Plan, subtasks: list[Subtask], attempts: Mapping[int, AttemptSummary]
) -> dict[str, ChangedSnapshot | None]:
    """How much each subtask has changed, by key, and the plan, without one."""
    of_turn = {each.turn_id: each for each in recordings_of.models(plan=plan.pk)}
    undos = UndoHistory(plan.conversation_id)
    found = {"": list(of_turn.values())}
    for each in subtasks:
        turns = [attempt.turn_id for attempt in attempts[each.pk].attempts]
        found[each.key] = [of_turn[turn] for turn in turns if turn in of_turn]
    return {
        key: summary(recordings, undos.of_plan(plan.pk, recordings, key))
        for key, recordings in found.items()
    }


def subtask_snapshot(
    subtask: Subtask,
    summary: AttemptSummary,
    changes: ChangedSnapshot | None,
    comment: str,
    results: Latest,
) -> SubtaskSnapshot:
    failed = subtask.state == State.TODO and bool(summary.last_error)
    return SubtaskSnapshot(
        key=subtask.key,
        position=subtask.position,
        **{name: getattr(subtask, name) for name in SUBTASK_TEXT},
        state=subtask.state,
        reason=subtask.reason,
        progress=subtask.progress,
        outcome=subtask.outcome,
        result=subtask.result,
        checks=check_snapshots(subtask, results),
        verified=subtask.verified if subtask.state == State.DONE else None,
        looked_by=subtask.looked_by,
        looked_at=timestamp(subtask.looked_at),
        untrue_since=timestamp(subtask.untrue_since),
        comment=comment,
        error=summary.last_error if failed else "",
        failed=failed,
        failure=summary.last_failure if failed else "",
        attempts=len(summary.attempts),
        changes=changes,
        plan=summary.below,
        started_at=timestamp(subtask.started_at),
        finished_at=timestamp(subtask.finished_at),
        **summary.used.document(),
    )
