"""The plan as one document: page, socket, poll and API all show this."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.utils import timezone

from agents.models import Conversation, Lane, ToolCall, Turn, TurnState
from agents.turns.children import descendants
from plans.below import asking_plan, plans_below
from plans.models import ActivePlan, Attempt, Plan, Run, State, Subtask
from plans.rows import checklist

Document = dict[str, object]

OPEN_TURNS = (TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING)


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
    pointer = ActivePlan.objects.filter(conversation=conversation).select_related("plan").first()
    return snapshot(pointer.plan) if pointer and pointer.plan else None


def asked(conversation: Conversation) -> str | None:
    """The goal for which a plan is being asked and does not exist yet."""
    pointer = ActivePlan.objects.filter(conversation=conversation).first()
    return pointer.asked_goal or None if pointer else None


def snapshot(plan: Plan) -> Document:
    """`seq` is read before the rows, so a snapshot is never older than it says."""
    seq = Conversation.objects.values_list("seq", flat=True).get(pk=plan.conversation_id)
    plan.refresh_from_db()
    subtasks = list(checklist(plan))
    tries = tries_of(plan)
    turn = open_run_turn(plan)
    approvals = list(asked_calls(turn))
    asking = asking_plan(plan) if plan.is_open else None
    question = asking.question if asking else ""
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


def iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def tries_of(plan: Plan) -> defaultdict[int, Tries]:
    tries: defaultdict[int, Tries] = defaultdict(Tries)
    rows = Attempt.objects.filter(subtask__plan=plan).select_related("turn").order_by("number")
    for attempt in rows:
        tries[attempt.subtask_id].attempts.append(attempt)
        tries[attempt.subtask_id].used.add(attempt.turn)
    below = plans_below(attempt.turn_id for attempt in rows)
    for attempt in rows:
        tries[attempt.subtask_id].below = below.get(
            attempt.turn_id, tries[attempt.subtask_id].below
        )
    return tries


def used_by(tries: dict[int, Tries]) -> Cost:
    """What all attempts have used together."""
    total = Cost()
    for each in tries.values():
        for attempt in each.attempts:
            total.add(attempt.turn)
    return total


def open_run_turn(plan: Plan) -> Turn | None:
    turns = Turn.objects.filter(conversation_id=plan.conversation_id, lane=Lane.RUN)
    return turns.filter(state__in=OPEN_TURNS, checkpoint__plan=plan.pk).order_by("pk").first()


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
    last = turn.tool_calls.exclude(started_at=None).order_by("-started_at").first()
    running = last is not None and last.state == ToolCall.State.RUNNING
    moments = [turn.started_at, *turn.messages.values_list("created_at", flat=True)]
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
