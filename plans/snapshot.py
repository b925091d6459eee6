"""The plan as one document: page, socket, poll and API all show this."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.utils import timezone

from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from agents.statements import found, one
from agents.turns.children import descendants
from plans.below import asking_plan, plans_below
from plans.models import Attempt, Plan, Run, State, Subtask
from plans.rows import pointed_at, reread

Document = dict[str, object]

# Read at every change of every plan that somebody looks at.
SEQ = "SELECT seq FROM agents_conversation WHERE id = %s"
CHECKLIST = (
    "SELECT * FROM plans_subtask WHERE plan_id = %s AND position IS NOT NULL ORDER BY position"
)
ATTEMPTS = """
SELECT a.* FROM plans_attempt a JOIN plans_subtask s ON s.id = a.subtask_id
WHERE s.plan_id = %s ORDER BY a.number
"""
ATTEMPTED = """
SELECT t.id, t.started_at, t.finished_at, t.tokens_in, t.tokens_out, t.cost
FROM agents_turn t JOIN plans_attempt a ON a.turn_id = t.id
JOIN plans_subtask s ON s.id = a.subtask_id WHERE s.plan_id = %s
"""
OPEN_TURNS = """
SELECT * FROM agents_turn
WHERE conversation_id = %s AND state IN ('queued', 'running', 'waiting') ORDER BY id
"""
LAST_CALL = """
SELECT * FROM agents_toolcall
WHERE turn_id = %s AND started_at IS NOT NULL ORDER BY started_at DESC LIMIT 1
"""
LAST_SAID = "SELECT id, created_at FROM agents_message WHERE turn_id = %s ORDER BY seq DESC LIMIT 1"


@dataclass
class Cost:
    """What a subtask or a plan has used so far."""

    seconds: float = 0.0
    tokens: int = 0
    cost: Decimal | None = None

    def add(self, turn: Turn) -> None:
        if turn.started_at:
            self.seconds += ((turn.finished_at or timezone.now()) - turn.started_at).total_seconds()
        self.tokens += turn.tokens
        if turn.cost is not None:
            self.cost = (self.cost or Decimal(0)) + turn.cost

    def document(self) -> Document:
        """`cost` is in US dollars, null where no price is known."""
        cost = None if self.cost is None else float(self.cost)
        return {"seconds": round(self.seconds, 3), "tokens": self.tokens, "cost": cost}


@dataclass
class Tries:
    """The attempts at one subtask, and what they cost."""

    attempts: list[Attempt] = field(default_factory=list)
    below: int | None = None  # the plan of an agent that works for it
    used: Cost = field(default_factory=Cost)

    @property
    def last_error(self) -> str:
        return self.attempts[-1].error if self.attempts else ""


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


def tries_of(plan: Plan) -> defaultdict[int, Tries]:
    tries: defaultdict[int, Tries] = defaultdict(Tries)
    attempts = found(Attempt, ATTEMPTS, [plan.pk])
    turns = {turn.pk: turn for turn in found(Turn, ATTEMPTED, [plan.pk])} if attempts else {}
    below = plans_below(turns)
    for attempt in attempts:
        if attempt.turn_id not in turns:  # deleted while this was read
            continue
        attempt.turn = turns[attempt.turn_id]
        each = tries[attempt.subtask_id]
        each.attempts.append(attempt)
        each.used.add(attempt.turn)
        each.below = below.get(attempt.turn_id, each.below)
    return tries


def used_by(tries: dict[int, Tries]) -> Cost:
    """What all attempts have used together."""
    total = Cost()
    for each in tries.values():
        for attempt in each.attempts:
            total.add(attempt.turn)
    return total


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
