"""What the runner does to a plan: it claims a subtask, and settles it by what really happened."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from agents.errors import NotNow
from agents.models import Message, ToolCall, Turn
from agents.turns import journal
from agents.turns.children import bubble, parent_waits
from agents.turns.endings import go_on
from agents.turns.interruptions import NothingToDo
from plans.models import Attempt, Plan, Run, State, Subtask
from plans.operations import operation
from plans.rows import (
    SYSTEM,
    lock,
    next_todo,
    refresh_state,
    run_turn_of,
    save_run,
    tell,
)


def plan_of(turn: Turn) -> Plan:
    return lock(Plan(pk=turn.checkpoint["plan"], conversation_id=turn.conversation_id))


def attempt_of(turn: Turn) -> Attempt | None:
    return Attempt.objects.filter(turn=turn).select_related("subtask").first()


@operation
@transaction.atomic
def claim_subtask(turn: Turn) -> Attempt:
    """The turn's attempt: the one it has already, or a new one at the next subtask.

    Here the gate stands: an attempt begins only while the approved version is the current one.
    """
    plan = plan_of(turn)
    if attempt := attempt_of(turn):
        if plan.run in (Run.QUEUED, Run.PAUSED):
            save_run(plan, Run.RUNNING)
            tell(plan, "run.resumed", SYSTEM, subtask=attempt.subtask.key)
        return attempt
    subtask = next_todo(plan)
    serves_nobody = plan.conversation.parent_call_id and not parent_waits(plan.conversation)
    if not plan.is_open or not plan.is_confirmed or subtask is None or serves_nobody:
        raise NothingToDo
    attempt = begin(plan, subtask, turn)
    if plan.run != Run.PAUSING:
        save_run(plan, Run.RUNNING)
    refresh_state(plan)
    tell(plan, "plan.updated", SYSTEM, subtask=subtask.key, state=State.IN_PROGRESS)
    return attempt


def begin(plan: Plan, subtask: Subtask, turn: Turn) -> Attempt:
    subtask.state = State.IN_PROGRESS
    subtask.started_at, subtask.finished_at = timezone.now(), None
    subtask.progress = ""
    subtask.save(update_fields=["state", "started_at", "finished_at", "progress"])
    last = subtask.attempts.aggregate(last=Max("number"))["last"] or 0
    return Attempt.objects.create(subtask=subtask, number=last + 1, version=plan.version, turn=turn)


@operation
@transaction.atomic
def report_progress(turn: Turn, text: str, by: str) -> None:
    """What the model says of its own progress: shown as its words, never taken as the state."""
    attempt = attempt_of(turn)
    if attempt is None:
        raise NotNow("There is no subtask to report on.")
    Subtask.objects.filter(pk=attempt.subtask_id).update(progress=text)
    tell(plan_of(turn), "plan.updated", by, subtask=attempt.subtask.key, progress=text[:500])


@operation
@transaction.atomic
def ask_question(turn: Turn, question: str, by: str) -> None:
    """A question to the person, kept until it is answered; no attempt is used up."""
    plan = plan_of(turn)
    plan.question = question
    plan.save(update_fields=["question"])
    running = turn.tool_calls.filter(tool="ask_user", state=ToolCall.State.RUNNING)
    running.update(state=ToolCall.State.ASKED, asked_at=timezone.now())
    journal.add_message(turn, "assistant", Message.Kind.QUESTION, question)
    bubble(turn, Message.Kind.QUESTION, question)
    tell(plan, "plan.asked_person", by)


@operation
@transaction.atomic
def answer_question(plan: Plan, text: str, by: str) -> Plan:
    """The person's answer becomes the result of the call that asked; the turn goes on."""
    plan = lock(plan)
    turn = run_turn_of(plan)
    if not plan.question or turn is None or turn.waiting_for != Turn.WaitingFor.QUESTION:
        raise NotNow("The plan has no open question.")
    for call in turn.tool_calls.filter(state=ToolCall.State.ASKED, tool="ask_user"):
        journal.close_call(call, ToolCall.State.DONE, f"The person answered: {text}")
    plan.question = ""
    plan.save(update_fields=["question"])
    go_on(turn)
    save_run(plan, Run.QUEUED)
    tell(plan, "run.resumed", by)
    return plan
