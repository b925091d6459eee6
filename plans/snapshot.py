"""The plan as one document: page, socket, poll and API all show this."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from agents.statements import prepared
from agents.timestamps import timestamp
from plans.attempts import AttemptSummary, attempts_of, times_of_plan, used_by
from plans.changes.recorded import recordings_of
from plans.changes.undone import UndoHistory, summary
from plans.check_results import Latest, check_documents, latest_results
from plans.check_text import DETERMINISTIC
from plans.comments import kept_comments
from plans.models import PLAN_TEXT, SUBTASK_TEXT, ActivePlan, CheckResult, Plan, State, Subtask
from plans.progress import progress
from plans.queries import active_plan_and_goal, asking_plan, reload
from plans.status import Asking, status_of_document

Document = dict[str, object]


def conversation_snapshot(conversation: Conversation) -> Document | None:
    """The plan in the drawer, or None."""
    plan, _ = active_plan_and_goal(conversation.pk)
    return snapshot(plan) if plan else None


def snapshot(plan: Plan) -> Document:
    """The plan as it is now. `seq` is read before the rows: it is never older than it says."""
    (seq,) = seq_of.first(conversation=plan.conversation_id) or (0,)
    return document(reload(plan), seq, open_turns_of(plan.conversation_id))


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


def is_hidden(card: int) -> bool:
    """Whether it belongs to an alternative that is not shown."""
    return bool(hidden_message.rows(message=card))


def document(plan: Plan, seq: int, open_turns: list[Turn]) -> Document:
    """The plan's row and the conversation's open turns have just been read, after `seq`."""
    subtasks = checklist.models(plan=plan.pk)
    attempts = attempts_of(plan)
    comments = kept_comments(plan)
    results = latest_results(plan, subtasks)
    changes = changes_in(plan, subtasks, attempts)
    run_turns = (turn for turn in open_turns if turn.lane == Lane.RUN)
    turns = [turn for turn in run_turns if turn.plan == plan.pk]
    looking = next((turn for turn in open_turns if is_checking(turn, plan)), None)
    retries = [turn.not_before for turn in turns if turn.not_before]
    facts: Document = {
        **row_document(plan),
        "active": bool(pointers_to.rows(plan=plan.pk)),
        "seq": seq,
        "retry_at": timestamp(min(retries, default=None)),
        **waits(plan, turns, looking),
        "activity": activity(plan, turns),
        "checking": checking(looking, subtasks) if looking is not None else None,
        "progress": progress(plan, subtasks),
        "changes": changes[""],
        **used_by(attempts).document(),
        "seconds": times_of_plan(plan, attempts).document(),
        "subtasks": [
            subtask_document(each, attempts[each.pk], comments.get(each.pk, ""), results)
            | {"changes": changes[each.key]}
            for each in subtasks
        ],
    }
    status = status_of_document(facts)
    return facts | {"attention": status.attention, "standing": status.word}


def waits(plan: Plan, turns: list[Turn], looking: Turn | None) -> Document:
    """What it asks of a person. `turns` are those of its run, `looking` that of its checks."""
    asking = Asking.of([*turns, looking] if looking is not None else turns)
    asks = plan.is_open and any(turn.pk in asking.questions for turn in turns)
    # What was approved stays in view.
    hidden = plan.approved_version is None and plan.card_id is not None and is_hidden(plan.card_id)
    return {
        "hidden": hidden,
        "question": open_question(plan) if asks else "",
        "approvals": [approval(call) for call in asking.calls],
    }


def row_of(plan: Mapping[str, Any]) -> Plan:
    """Enough of a snapshot's row to ask the database about it; the plan may be gone by now."""
    return Plan(pk=plan["id"], conversation_id=plan["conversation"], budget=plan["budget"])


def row_document(plan: Plan) -> Document:
    """What the plan's own row says."""
    names = (
        *("goal", *PLAN_TEXT, "state", "reason", "outcome", "version", "approved_version"),
        *("approved_by", "run", "pause_reason", "paused_by", "budget", "metadata"),
    )
    moments = ("approved_at", "created_at", "updated_at", "finished_at")
    return {
        "id": plan.pk,
        "conversation": plan.conversation_id,
        **{name: getattr(plan, name) for name in names},
        "run_mode": plan.run_options.get("mode"),
        "halted": bool(plan.run_options.get("halted")),
        **{name: timestamp(getattr(plan, name)) for name in moments},
    }


def is_checking(turn: Turn, plan: Plan) -> bool:
    return turn.lane == Lane.CHECK and turn.plan == plan.pk


def checking(turn: Turn, subtasks: list[Subtask]) -> Document:
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
    return {"done": min(run, len(wanted)), "total": len(wanted), "subtasks": list(keys)}


def open_question(plan: Plan) -> str:
    asking = asking_plan(plan)
    return asking.question if asking else ""


def approval(call: ToolCall) -> Document:
    return {
        "id": call.pk,
        "tool": call.tool,
        "arguments": call.arguments,
        "asked_at": timestamp(call.asked_at),
    }


def is_failed(subtask: Subtask, summary: AttemptSummary) -> bool:
    return subtask.state == State.TODO and bool(summary.last_error)


def activity(plan: Plan, turns: list[Turn]) -> Document | None:
    """What happens now: the tool that runs, since when, and when something last happened."""
    turn = next((turn for turn in turns if turn.state == TurnState.RUNNING), None)
    if turn is None or not plan.is_live:
        return None
    last = next(iter(last_call.models(turn=turn.pk)), None)
    running = last is not None and last.state == ToolCall.State.RUNNING
    moments = [turn.started_at, *(last_message.first(turn=turn.pk) or ())]
    if last is not None:
        moments += [last.started_at, last.finished_at]
    told = last.progress if last and running else None
    if told:
        moments.append(datetime.fromisoformat(told["at"]))
    last_at = max((moment for moment in moments if moment), default=timezone.now())
    return {
        "tool": last.tool if last and running else None,
        "call": last.pk if last and running else None,
        "arguments": last.arguments if last and running else None,
        "progress": told["words"] if told else "",
        "since": timestamp(last.started_at if last and running else last_at),
        "last_at": timestamp(last_at),
    }


def changes_in(
    plan: Plan, subtasks: list[Subtask], attempts: Mapping[int, AttemptSummary]
) -> dict[str, Document | None]:
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


def subtask_document(
    subtask: Subtask, summary: AttemptSummary, comment: str, results: Latest
) -> Document:
    failed = is_failed(subtask, summary)
    names = ("key", "position", *SUBTASK_TEXT, "state", "reason")
    return {
        **{name: getattr(subtask, name) for name in (*names, "progress", "outcome", "result")},
        "checks": check_documents(subtask, results),
        "verified": subtask.verified if subtask.state == State.DONE else None,
        "looked_by": subtask.looked_by,
        "looked_at": timestamp(subtask.looked_at),
        "untrue_since": timestamp(subtask.untrue_since),
        "comment": comment,
        "error": summary.last_error if failed else "",
        "failed": failed,
        "failure": summary.last_failure if failed else "",
        "attempts": len(summary.attempts),
        "plan": summary.below,
        "started_at": timestamp(subtask.started_at),
        "finished_at": timestamp(subtask.finished_at),
        **summary.used.document(),
    }
