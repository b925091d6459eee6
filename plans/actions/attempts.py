"""What the runner does to a plan: it claims a subtask, and settles it by what really happened."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from agents.actors import Actor
from agents.engine import persistence
from agents.engine.lifecycle import requeue
from agents.engine.subagents import add_message_at_top, parent_waits
from agents.errors import Conflict
from agents.models import Message, ToolCall, Turn
from agents.turn_exceptions import NothingToDo
from plans.models import Attempt, Plan, Run, State, Subtask
from plans.queries import (
    SYSTEM,
    lock_plan,
    next_todo,
    record_event,
    refresh_state,
    run_turn_of,
    save_run,
)
from plans.tracing import operation


def plan_of(turn: Turn) -> Plan:
    """The plan a turn works for, locked; NotFound when it was deleted."""
    return lock_plan(Plan(pk=turn.checkpoint["plan"], conversation_id=turn.conversation_id))


def attempt_of(turn: Turn) -> Attempt | None:
    return Attempt.objects.filter(turn=turn).select_related("subtask").first()


@operation("claim_subtask")
@transaction.atomic
def claim_subtask(turn: Turn) -> Attempt:
    """The turn's attempt: the one it has already, or a new one at the next subtask.

    Here the gate stands: an attempt begins only while the approved version is the current one.
    """
    plan = plan_of(turn)
    if attempt := attempt_of(turn):
        if plan.run in (Run.QUEUED, Run.PAUSED):
            save_run(plan, Run.RUNNING)
            record_event(plan, "run.resumed", SYSTEM, subtask=attempt.subtask.key)
        return attempt
    subtask = next_todo(plan)
    serves_nobody = plan.conversation.parent_call_id and not parent_waits(plan.conversation)
    if not plan.is_open or not plan.is_confirmed or subtask is None or serves_nobody:
        raise NothingToDo
    attempt = start_attempt(plan, subtask, turn)
    if plan.run != Run.PAUSING:
        save_run(plan, Run.RUNNING)
    refresh_state(plan)
    record_event(plan, "plan.updated", SYSTEM, subtask=subtask.key, state=State.IN_PROGRESS)
    return attempt


def start_attempt(plan: Plan, subtask: Subtask, turn: Turn) -> Attempt:
    subtask.state = State.IN_PROGRESS
    subtask.started_at, subtask.finished_at = timezone.now(), None
    subtask.progress = ""
    subtask.save(update_fields=["state", "started_at", "finished_at", "progress"])
    last = subtask.attempts.aggregate(last=Max("number"))["last"] or 0
    return Attempt.objects.create(subtask=subtask, number=last + 1, version=plan.version, turn=turn)


@operation("report_progress")
@transaction.atomic
def report_progress(turn: Turn, text: str, by: Actor) -> None:
    """What the model says of its own progress: shown as its words, never taken as the state."""
    attempt = attempt_of(turn)
    if attempt is None:
        raise Conflict("There is no subtask to report on.")
    Subtask.objects.filter(pk=attempt.subtask_id).update(progress=text)
    record_event(
        plan_of(turn), "plan.updated", by, subtask=attempt.subtask.key, progress=text[:500]
    )


@operation("ask_question")
@transaction.atomic
def ask_question(turn: Turn, question: str, by: Actor) -> None:
    """A question to the person, kept until it is answered; no attempt is used up."""
    plan = plan_of(turn)
    plan.question = question
    plan.save(update_fields=["question"])
    running = turn.tool_calls.filter(tool="ask_user", state=ToolCall.State.RUNNING)
    running.update(state=ToolCall.State.ASKED, asked_at=timezone.now())
    persistence.add_message(turn, "assistant", Message.Kind.QUESTION, question)
    add_message_at_top(turn, Message.Kind.QUESTION, question)
    record_event(plan, "plan.asked_person", by)


@operation("answer_question")
@transaction.atomic
def answer_question(plan: Plan, text: str, by: Actor) -> Plan:
    """The person's answer becomes the result of the call that asked; the turn goes on."""
    plan = lock_plan(plan)
    turn = run_turn_of(plan)
    if not plan.question or turn is None or turn.waiting_for != Turn.WaitingFor.QUESTION:
        raise Conflict("The plan has no open question.")
    for call in turn.tool_calls.filter(state=ToolCall.State.ASKED, tool="ask_user"):
        persistence.close_call(call, ToolCall.State.DONE, f"The person answered: {text}")
    plan.question = ""
    plan.save(update_fields=["question"])
    requeue(turn)
    save_run(plan, Run.QUEUED)
    record_event(plan, "run.resumed", by)
    return plan
