"""The plan as one document: page, socket, poll and API all show this."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from django.utils import timezone

from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from agents.statements import found, one
from agents.turns.children import descendants
from plans.below import asking_plan
from plans.models import Plan, Run, State, Subtask
from plans.rows import pointed_at, reread
from plans.tries import Tries, tries_of, used_by

Document = dict[str, object]

# Read at every change of every plan that somebody looks at.
SEQ = "SELECT seq FROM agents_conversation WHERE id = %s"
CHECKLIST = (
    "SELECT * FROM plans_subtask WHERE plan_id = %s AND position IS NOT NULL ORDER BY position"
)
OPEN_TURNS = """
SELECT * FROM agents_turn
WHERE conversation_id = %s AND state IN ('queued', 'running', 'waiting') ORDER BY id
"""
LAST_CALL = """
SELECT * FROM agents_toolcall
WHERE turn_id = %s AND started_at IS NOT NULL ORDER BY started_at DESC LIMIT 1
"""
LAST_SAID = "SELECT id, created_at FROM agents_message WHERE turn_id = %s ORDER BY seq DESC LIMIT 1"


def conversation_snapshot(conversation: Conversation) -> Document | None:
    """The plan in the drawer, or None."""
    plan, _ = pointed_at(conversation.pk)
    return snapshot(plan) if plan else None


def snapshot(plan: Plan) -> Document:
    """The plan as it is now. `seq` is read before the rows: it is never older than it says."""
    (seq,) = one(SEQ, [plan.conversation_id]) or (0,)
    return document(reread(plan), seq, open_turns_of(plan.conversation_id))


def open_turns_of(conversation_id: int) -> list[Turn]:
    return found(Turn, OPEN_TURNS, [conversation_id])


def document(plan: Plan, seq: int, open_turns: list[Turn]) -> Document:
    """The plan's row and the conversation's open turns have just been read, after `seq`."""
    subtasks = found(Subtask, CHECKLIST, [plan.pk])
    tries = tries_of(plan)
    turn = open_run_turn(plan, open_turns)
    approvals = list(asked_calls(turn))
    question = question_of(plan, turn)
    return {
        "id": plan.pk,
        "conversation": plan.conversation_id,
        "seq": seq,
        **{name: getattr(plan, name) for name in ("goal", "title", "content", "expected_outcome")},
        **{name: getattr(plan, name) for name in ("state", "reason", "outcome", "version")},
        "approved_version": plan.approved_version,
        "approved_by": plan.approved_by,
        "approved_at": iso(plan.approved_at),
        "run": plan.run,
        "run_mode": plan.run_options.get("mode"),
        "pause_reason": plan.pause_reason,
        "retry_at": iso(turn.not_before) if turn else None,
        "attention": attention(plan, subtasks, tries, bool(approvals), question),
        "question": question,
        "approvals": [approval(call) for call in approvals],
        "activity": activity(plan, turn),
        "progress": progress(subtasks),
        **used_by(tries).document(),
        "budget": plan.budget,
        "metadata": plan.metadata,
        "subtasks": [subtask_document(each, tries[each.pk]) for each in subtasks],
        "created_at": iso(plan.created_at),
        "updated_at": iso(plan.updated_at),
        "finished_at": iso(plan.finished_at),
    }


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
    tries: defaultdict[int, Tries],
    approvals: bool,
    question: str,
) -> str:
    """What needs a person, the most pressing first."""
    if not plan.is_open:
        return "none"
    failed = any(is_failed(each, tries[each.pk]) for each in subtasks)
    if failed and plan.run == Run.IDLE:
        return "failed"
    if approvals:
        return "approval"
    if question:
        return "question"
    if plan.pause_reason == Plan.PauseReason.BUDGET and plan.run == Run.PAUSED:
        return "budget"
    return "none" if plan.is_confirmed else "confirm"


def is_failed(subtask: Subtask, tries: Tries) -> bool:
    return subtask.state == State.TODO and bool(tries.last_error)


def progress(subtasks: list[Subtask]) -> Document:
    done = sum(1 for each in subtasks if each.state == State.DONE)
    abandoned = sum(1 for each in subtasks if each.state == State.ABANDONED)
    total = len(subtasks)
    percent = round(100 * (done + abandoned) / total) if total else 0
    return {"done": done, "abandoned": abandoned, "total": total, "percent": percent}


def activity(plan: Plan, turn: Turn | None) -> Document | None:
    """What happens now: the tool that runs, since when, and when something last happened."""
    if turn is None or turn.state != TurnState.RUNNING or not plan.is_live:
        return None
    last = next(iter(found(ToolCall, LAST_CALL, [turn.pk])), None)
    running = last is not None and last.state == ToolCall.State.RUNNING
    said = found(Message, LAST_SAID, [turn.pk])
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


def subtask_document(subtask: Subtask, tries: Tries) -> Document:
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
