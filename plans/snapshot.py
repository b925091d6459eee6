"""The plan as one document: page, socket, poll and API all show this."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from django.utils import timezone

from agents.engine.subagents import descendants
from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from agents.statements import fetch_models, fetch_one
from plans.attempts import AttemptSummary, attempts_of, times_of_plan, used_by
from plans.models import Plan, State, Subtask
from plans.queries import active_plan_and_goal, reload
from plans.standing import attention_of, of_document
from plans.subplan_queries import asking_plan

Document = dict[str, object]

# Read at every change of every plan that somebody looks at.
SEQ = "SELECT seq FROM agents_conversation WHERE id = %s"
ACTIVE = "SELECT 1 FROM plans_activeplan WHERE plan_id = %s"
CHECKLIST = (
    "SELECT * FROM plans_subtask WHERE plan_id = %s AND position IS NOT NULL ORDER BY position"
)
OPEN_TURNS = (
    "SELECT * FROM agents_turn WHERE conversation_id = %s"
    f" AND state IN ({', '.join(repr(str(state)) for state in Turn.OPEN_STATES)}) ORDER BY id"
)
LAST_CALL = """
SELECT * FROM agents_toolcall
WHERE turn_id = %s AND started_at IS NOT NULL ORDER BY started_at DESC LIMIT 1
"""
LAST_SAID = "SELECT id, created_at FROM agents_message WHERE turn_id = %s ORDER BY seq DESC LIMIT 1"


def conversation_snapshot(conversation: Conversation) -> Document | None:
    """The plan in the drawer, or None."""
    plan, _ = active_plan_and_goal(conversation.pk)
    return snapshot(plan) if plan else None


def snapshot(plan: Plan) -> Document:
    """The plan as it is now. `seq` is read before the rows: it is never older than it says."""
    (seq,) = fetch_one(SEQ, [plan.conversation_id]) or (0,)
    return document(reload(plan), seq, open_turns_of(plan.conversation_id))


def open_turns_of(conversation_id: int) -> list[Turn]:
    return fetch_models(Turn, OPEN_TURNS, [conversation_id])


def document(plan: Plan, seq: int, open_turns: list[Turn]) -> Document:
    """The plan's row and the conversation's open turns have just been read, after `seq`."""
    subtasks = fetch_models(Subtask, CHECKLIST, [plan.pk])
    tries = attempts_of(plan)
    turn = open_run_turn(plan, open_turns)
    approvals = list(asked_calls(turn))
    question = question_of(plan, turn)
    used = used_by(tries).document()
    told: Document = {
        "id": plan.pk,
        "conversation": plan.conversation_id,
        "active": fetch_one(ACTIVE, [plan.pk]) is not None,
        "seq": seq,
        **{name: getattr(plan, name) for name in ("goal", "title", "content", "expected_outcome")},
        **{name: getattr(plan, name) for name in ("state", "reason", "outcome", "version")},
        "approved_version": plan.approved_version,
        "approved_by": plan.approved_by,
        "approved_at": iso(plan.approved_at),
        "run": plan.run,
        "run_mode": plan.run_options.get("mode"),
        "halted": bool(plan.run_options.get("halted")),
        "pause_reason": plan.pause_reason,
        "retry_at": iso(turn.not_before) if turn else None,
        "attention": attention(plan, subtasks, tries, bool(approvals), question),
        "question": question,
        "approvals": [approval(call) for call in approvals],
        "activity": activity(plan, turn),
        "progress": progress(plan, subtasks),
        **used,
        "seconds": times_of_plan(plan, tries).document(),
        "budget": plan.budget,
        "metadata": plan.metadata,
        "subtasks": [subtask_document(each, tries[each.pk]) for each in subtasks],
        "created_at": iso(plan.created_at),
        "updated_at": iso(plan.updated_at),
        "finished_at": iso(plan.finished_at),
    }
    return told | {"standing": of_document(told).word}


def question_of(plan: Plan, turn: Turn | None) -> str:
    """Its own, or that of a plan below it, for whose agent the run waits."""
    waits = turn is not None and turn.waiting_for == Turn.WaitingFor.CHILD
    if not plan.is_open or not (plan.question or waits):
        return ""
    asking = asking_plan(plan)
    return asking.question if asking else ""


def iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def open_run_turn(plan: Plan, open_turns: list[Turn]) -> Turn | None:
    mine = (turn for turn in open_turns if turn.checkpoint.get("plan") == plan.pk)
    return next((turn for turn in mine if turn.lane == Lane.RUN), None)


def asked_calls(turn: Turn | None) -> list[ToolCall]:
    """Calls that wait for a person's leave; a question is not one of them."""
    if turn is None or turn.state != TurnState.WAITING:
        return []
    waiting = [turn, *(descendants(turn) if turn.waiting_for == "child" else [])]
    asked = ToolCall.objects.filter(turn__in=waiting, state=ToolCall.State.ASKED, decision="")
    return list(asked.exclude(tool="ask_user").order_by("pk"))


def approval(call: ToolCall) -> Document:
    return {
        "id": call.pk,
        "tool": call.tool,
        "arguments": call.arguments,
        "asked_at": iso(call.asked_at),
    }


def attention(
    plan: Plan,
    subtasks: list[Subtask],
    tries: defaultdict[int, AttemptSummary],
    approvals: bool,
    question: str,
) -> str:
    failed = any(is_failed(each, tries[each.pk]) for each in subtasks)
    return attention_of(plan, failed=failed, approvals=approvals, question=bool(question))


def is_failed(subtask: Subtask, tries: AttemptSummary) -> bool:
    return subtask.state == State.TODO and bool(tries.last_error)


def progress(plan: Plan, subtasks: list[Subtask]) -> Document:
    """A text alone is done with its plan."""
    done = sum(1 for each in subtasks if each.state == State.DONE)
    abandoned = sum(1 for each in subtasks if each.state == State.ABANDONED)
    total = len(subtasks)
    alone = 100 if plan.state == State.DONE else 0
    percent = round(100 * (done + abandoned) / total) if total else alone
    return {"done": done, "abandoned": abandoned, "total": total, "percent": percent}


def activity(plan: Plan, turn: Turn | None) -> Document | None:
    """What happens now: the tool that runs, since when, and when something last happened."""
    if turn is None or turn.state != TurnState.RUNNING or not plan.is_live:
        return None
    last = next(iter(fetch_models(ToolCall, LAST_CALL, [turn.pk])), None)
    running = last is not None and last.state == ToolCall.State.RUNNING
    said = fetch_models(Message, LAST_SAID, [turn.pk])
    moments = [turn.started_at, *(message.created_at for message in said)]
    if last is not None:
        moments += [last.started_at, last.finished_at]
    last_at = max((moment for moment in moments if moment), default=timezone.now())
    return {
        "tool": last.tool if last and running else None,
        "arguments": last.arguments if last and running else None,
        "since": iso(last.started_at if last and running else last_at),
        "last_at": iso(last_at),
    }


def subtask_document(subtask: Subtask, tries: AttemptSummary) -> Document:
    failed = is_failed(subtask, tries)
    names = ("key", "position", "name", "description", "expected_outcome", "state", "reason")
    return {
        **{name: getattr(subtask, name) for name in (*names, "progress", "outcome", "result")},
        "error": tries.last_error if failed else "",
        "failed": failed,
        "attempts": len(tries.attempts),
        "plan": tries.below,
        "started_at": iso(subtask.started_at),
        "finished_at": iso(subtask.finished_at),
        **tries.used.document(),
    }
