"""Reading a plan's snapshot from its rows, at every change of every plan that somebody looks at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from agents.errors import NotFound
from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from agents.statements import prepared
from agents.timestamps import timestamp
from plans.attempts import AttemptSummary, attempts_of, times_of_plan, used_by
from plans.changes.recorded import recordings_of
from plans.changes.undone import ChangedSnapshot, UndoHistory, summary
from plans.check_results import CheckSnapshot, check_snapshots
from plans.check_text import DETERMINISTIC
from plans.comments import kept_comments
from plans.models import SUBTASK_TEXT, ActivePlan, CheckResult, Plan, State, Subtask
from plans.progress import ProgressSnapshot, approved_keys, progress
from plans.queries import active_plan_and_goal, asking_plan, reload
from plans.snapshot import (
    OF_ROW,
    ActivitySnapshot,
    ApprovalSnapshot,
    CheckingSnapshot,
    PlanSnapshot,
    SecondsSnapshot,
    SubtaskSnapshot,
)
from plans.status import Asking, Facts, status_of
from plans.verification import FILLED, Verification, Word, results_in, verify

MOMENTS = ("approved_at", "created_at", "updated_at", "finished_at")


def conversation_snapshot(conversation: Conversation) -> PlanSnapshot | None:
    """The plan in the drawer, or None."""
    plan, _ = active_plan_and_goal(conversation.pk)
    return next(iter(plan_snapshots([plan] if plan else [])), None)


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


def snapshot_of(plan: Plan, seq: int, open_turns: list[Turn]) -> PlanSnapshot:
    """The plan's row and the conversation's open turns have just been read, after `seq`."""
    rows = checklist.models(plan=plan.pk)
    attempts = attempts_of(plan)
    comments = kept_comments(plan)
    has_results = any(each.checks or each.state == State.DONE for each in rows)
    results = results_in([plan.pk] if has_results else [])
    known = verify(plan, rows, results)
    changes = changes_in(plan, rows, attempts)
    turns = [turn for turn in open_turns if turn.plan == plan.pk and turn.lane != Lane.CHAT]
    run = [turn for turn in turns if turn.lane == Lane.RUN]
    looking = next((turn for turn in turns if turn.lane == Lane.CHECK), None)
    subtasks = [
        subtask_snapshot(
            each,
            attempts[each.pk],
            changes[each.key],
            comments.get(each.pk, ""),
            check_snapshots(each, results),
            known.get(each.pk),
        )
        for each in rows
    ]
    waits = plan.approved_version is not None and not plan.is_confirmed
    counted = approved_keys([plan.pk]).get(plan.pk) if waits else None
    so_far, asking = progress(plan, rows, known, counted), Asking.of(turns)
    retries = [turn.not_before for turn in run if turn.not_before]
    facts = facts_of_snapshot(plan, subtasks, so_far, asking.facts(turns))
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
        in_force=not subtasks and bool(plan.approved_version) and plan.state != State.ABANDONED,
        retry_at=timestamp(min(retries, default=None)),
        attention=status.attention,
        standing=status.word,
        status=status,
        counted=counted or [each.key for each in rows],
        question=open_question(plan) if plan.is_open and facts.asks_question else "",
        approvals=[approval(call) for call in asking.calls],
        activity=activity(plan, run),
        checking=checking(looking, rows) if looking is not None else None,
        progress=so_far,
        changes=changes[""],
        subtasks=subtasks,
        **used_by(attempts).document() | {"seconds": SecondsSnapshot.model_construct(**seconds)},
    )


def facts_of_snapshot(
    plan: Plan,
    subtasks: list[SubtaskSnapshot],
    so_far: ProgressSnapshot,
    of_turns: dict[str, Any],
) -> Facts:
    """What its status follows from, as `facts_of` has it, from rows that have been read."""
    return Facts(
        state=plan.state,
        reason=plan.reason,
        run=plan.run,
        pause_reason=plan.pause_reason,
        is_confirmed=plan.is_confirmed,
        is_halted=bool(plan.run_options.get("halted")),
        is_hidden=has_hidden_card(plan),
        has_subtasks=bool(subtasks),
        is_tried=any(each.attempts for each in subtasks),
        has_failed=any(each.failed for each in subtasks),
        words=so_far.by_verification,
        **of_turns,
    )


def has_hidden_card(plan: Plan) -> bool:
    """Whether it was proposed in an alternative that is not shown; once approved it is in view."""
    if plan.approved_version is not None or plan.card_id is None:
        return False
    return bool(hidden_message.rows(message=plan.card_id))


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
    checks: list[CheckSnapshot],
    known: Verification | None,
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
        checks=checks,
        **verification_of(known),
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


def verification_of(known: Verification | None) -> dict[str, Any]:
    """The fields that follow from what it is known to be done by."""
    word, by, at = known or (None, "", None)
    looked, undone = word == Word.LOOKED, word == Word.UNDONE
    return {
        "verification": word,
        "verified": True if word in FILLED else False if word == Word.REGRESSED else None,
        "looked_by": by if looked else "",
        "looked_at": timestamp(at) if looked else None,
        "untrue_since": timestamp(at) if word == Word.REGRESSED else None,
        "undone_by": by if undone else "",
        "undone_at": timestamp(at) if undone else None,
    }


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
