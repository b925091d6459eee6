"""What the runner does to a plan: an attempt begins, and its subtask moves by what really happened.

The end of a turn decides whether the run goes on, tries again, or rests.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import Max
from django.utils import timezone

from agents import persistence
from agents.actors import Actor
from agents.engine.images import text_with_files
from agents.engine.lifecycle import LONGEST_WAIT, requeue, reset_retries
from agents.engine.steps import last_text, result_of
from agents.engine.subagents import add_message_at_top, parent_waits
from agents.errors import Conflict, NothingToDo
from agents.models import Message, ToolCall, Turn, TurnState
from agents.stored_text import gettext, ngettext
from agents.workspace.attachments import Files
from plans.actions.close import finish_plan
from plans.actions.endings import FAILED, STOPPED, tell_end
from plans.actions.run import queue_next
from plans.actions.verb import verb
from plans.attempts import limit_of
from plans.check_results import (
    approved_checks,
    failed_words,
    has_passed,
    last_refused,
    refusals,
    word_of,
)
from plans.models import Attempt, Plan, Run, State, Subtask
from plans.queries import (
    AGENT,
    SYSTEM,
    assigned_subtask,
    checklist,
    close_subtask,
    has_work_left,
    lock_plan,
    record_event,
    refresh_state,
    run_turns_of,
    settle_run,
)
from plans.schemas import LONGEST_TEXT, plain
from plans.search import index_plan
from plans.tracing import operation
from plans.verification import Word, results_in


def plan_of(turn: Turn) -> Plan:
    """The plan a turn works for, locked; NotFound when it was deleted."""
    return lock_plan(Plan(pk=turn.plan, conversation_id=turn.conversation_id))


def attempt_of(turn: Turn) -> Attempt | None:
    return Attempt.objects.filter(turn=turn).select_related("subtask").first()


@verb("begin_attempt")
def begin_attempt(turn: Turn) -> Attempt:
    """The turn's attempt: the one it has already, or a new one at the subtask it was queued for.

    Here the gate stands: an attempt begins only while the approved version is the current one.
    """
    plan = plan_of(turn)
    if attempt := attempt_of(turn):
        if plan.run in (Run.QUEUED, Run.PAUSED):
            settle_run(plan)
            record_event(plan, "run.resumed", SYSTEM, subtask=attempt.subtask.key)
        return attempt
    subtask = assigned_subtask(plan, turn)
    serves_nobody = plan.conversation.parent_call_id and not parent_waits(plan.conversation)
    is_over = not plan.is_open or plan.run == Run.STOPPING
    if is_over or not plan.is_confirmed or subtask is None or serves_nobody:
        raise NothingToDo
    subtask.state, subtask.progress = State.IN_PROGRESS, ""
    subtask.started_at, subtask.finished_at = timezone.now(), None
    subtask.save(update_fields=["state", "started_at", "finished_at", "progress"])
    number = 1 + (subtask.attempts.aggregate(last=Max("number"))["last"] or 0)
    attempt = Attempt.objects.create(
        subtask=subtask, number=number, version=plan.version, turn=turn
    )
    settle_run(plan)
    refresh_state(plan)
    record_event(plan, "plan.updated", SYSTEM, subtask=subtask.key, state=State.IN_PROGRESS)
    return attempt


@verb("report_progress")
def report_progress(turn: Turn, text: str, by: Actor) -> None:
    """What the model says of its own progress: shown as its words, never taken as the state."""
    plan = plan_of(turn)
    attempt = attempt_of(turn)
    if attempt is None:
        raise Conflict(gettext("There is no subtask to report on."))
    Subtask.objects.filter(pk=attempt.subtask_id).update(progress=text)
    record_event(plan, "plan.updated", by, subtask=attempt.subtask.key, progress=text[:500])


@verb("ask_question")
def ask_question(turn: Turn, question: str, by: Actor) -> None:
    """A question to the person, kept until it is answered; no attempt is used up."""
    plan = plan_of(turn)
    running = turn.tool_calls.filter(tool="ask_user", state=ToolCall.State.RUNNING)
    running.update(state=ToolCall.State.ASKED, asked_at=timezone.now())
    persistence.add_message(turn, "assistant", Message.Kind.QUESTION, question)
    asker = turn.conversation.agent_id
    add_message_at_top(turn, Message.Kind.QUESTION, question, agent=asker)
    record_event(plan, "plan.asked_person", by)


@verb("answer_question")
def answer_question(plan: Plan, text: str, by: Actor, files: Files = ()) -> Plan:
    """The person's answer, with its files, becomes the result of the call that asked; the turn
    goes on."""
    asking = [t for t in run_turns_of(plan) if t.waiting_for == Turn.WaitingFor.QUESTION]
    if not asking:
        raise Conflict(gettext("The plan has no open question."))
    for turn in asking:
        for call in turn.tool_calls.filter(state=ToolCall.State.ASKED, tool="ask_user"):
            answer = f"The person answered: {text_with_files(text, files)}"
            persistence.show_images(call, files)
            persistence.close_call(call, ToolCall.State.DONE, answer)
        requeue(turn)
    settle_run(plan)
    record_event(plan, "run.resumed", by)
    return plan


# The end of a turn


@operation("settle_subtask")
def settle_subtask(turn: Turn) -> None:
    """The turn of an attempt has left `running`: move the subtask by what really happened."""
    plan = plan_of(turn)
    if turn.state == TurnState.WAITING:
        pause_while_waiting(plan, turn)
        return
    if turn.state == TurnState.QUEUED:  # held until the model's next try
        record_event(plan, "plan.updated", SYSTEM, held=True)
        return
    attempt = attempt_of(turn)
    given_up = attempt is not None and attempt.subtask.state != State.IN_PROGRESS
    if attempt is not None and given_up:  # whatever it has come to, it is for other words
        attempt.failure_class = Attempt.FailureClass.INTERRUPTED
        attempt.save(update_fields=["failure_class"])
    elif attempt is not None:
        close_attempt(plan, turn, attempt)
    refresh_state(plan)
    continue_run(plan, turn, attempt, given_up=given_up)


def pause_while_waiting(plan: Plan, turn: Turn) -> None:
    """For a person the run is paused; for another agent it goes on."""
    if turn.waiting_for == Turn.WaitingFor.CHILD:
        record_event(plan, "plan.updated", SYSTEM, waiting="child")
        return
    settle_run(plan)
    because = str(turn.checkpoint.get("because") or "")
    record_event(plan, "run.paused", SYSTEM, reason=plan.pause_reason, because=because)


def close_attempt(plan: Plan, turn: Turn, attempt: Attempt) -> None:
    """Done by the call that said so, or by the output of a chain that cannot call; else failed.

    The call counts however its turn came to an end: it was the last thing that the turn did.
    """
    subtask = attempt.subtask
    ending = turn.tool_calls.filter(tool__in=["finish_subtask", "fail_subtask"], state="done")
    report = ending.order_by("pk").first()
    output = ""
    if report is None and turn.state == TurnState.DONE and turn.checkpoint.get("by_output"):
        output = plain(result_of(turn))[:LONGEST_TEXT]
    checks = approved_checks(attempt)
    finished = report if report is not None and report.tool == "finish_subtask" else None
    holds = not checks or has_passed(attempt, checks, finished)
    if plan.is_open and finished is not None and holds:
        subtask.result = finished.arguments.get("result")
        subtask.save(update_fields=["result"])
        close_subtask(subtask, State.DONE, outcome=str(finished.arguments.get("outcome") or ""))
    elif plan.is_open and output and holds:
        close_subtask(subtask, State.DONE, outcome=output)
    else:
        attempt.failure_class, attempt.error = failure_of(turn, attempt, report)
        attempt.save(update_fields=["failure_class", "error"])
        put_back(subtask)
    if subtask.state == State.DONE:
        index_plan(plan)
    by = AGENT if report is not None else SYSTEM
    moved: dict[str, Any] = {"state": subtask.state, "error": attempt.error}
    if subtask.state == State.DONE:
        known = word_of(subtask, results_in([plan.pk])) if checks else Word.BY_WORD
        moved["verification"] = known
    record_event(plan, "plan.updated", by, subtask=subtask.key, **moved)


def failure_of(turn: Turn, attempt: Attempt, report: ToolCall | None) -> tuple[str, str]:
    """Why an attempt has come to nothing: its class and, unless it was broken off, in words."""
    classes = Attempt.FailureClass
    if report is not None and report.tool == "fail_subtask":
        return classes.LOGIC, str(report.arguments["error"])
    if turn.state == TurnState.STOPPED or not attempt.subtask.plan.is_open:
        return classes.INTERRUPTED, ""
    if report is not None:
        return classes.CHECK, gettext("Its checks were not run.")
    if turn.state == TurnState.DONE and (refused := last_refused(attempt)):
        count = refusals(attempt)
        sentence = ngettext(
            "{n} finish was refused by its checks:\n{failed}",
            "{n} finishes were refused by its checks:\n{failed}",
            count,
        )
        return classes.CHECK, sentence.format(n=count, failed=failed_words(refused))
    return turn.error_class or classes.LOGIC, turn.error or gettext("It ended without a result.")


def put_back(subtask: Subtask) -> None:
    """What an attempt has not finished is to do again."""
    if subtask.state == State.IN_PROGRESS:
        subtask.state = State.TODO
        subtask.save(update_fields=["state"])


def continue_run(
    plan: Plan, turn: Turn, attempt: Attempt | None, *, given_up: bool = False
) -> None:
    """After an attempt: on to the next, another try, or a halt with its reason.

    One that was given up for other words is no reason to halt: the subtask is begun anew.
    """
    failed = attempt if attempt is not None and attempt.error else None
    stopped = turn.state == TurnState.STOPPED
    nothing_began = turn.kind == "subtask" and attempt is None and has_work_left(plan)
    if not plan.is_open:
        settle_run(plan)
    elif plan.run == Run.STOPPING:
        halt(plan, "run.stopped", STOPPED)
    elif not plan.is_confirmed:
        pause_for_a_yes(plan)
    elif plan.run == Run.PAUSING and (stopped or given_up):
        pause_before_next(plan)  # set aside for another plan, or reworded while it rests
    elif given_up or goes_on_after_stop(plan, turn):
        queue_next(plan, after=turn)
    elif stopped or nothing_began:
        halt(plan, "run.stopped", STOPPED if stopped else "")
    elif failed and not may_try_again(plan, turn, failed):
        halt(plan, "run.failed", FAILED)
    elif failed and plan.run != Run.PAUSING:
        reset_retries(turn)  # it is tried again: one failure is one card, the last
        queue_next(plan, backoff(failed), after=turn)
    else:
        go_on(plan, turn)


def go_on(plan: Plan, turn: Turn) -> None:
    """To the next turn of the run, unless a person wants it to rest before that."""
    if plan.run == Run.PAUSING:
        pause_before_next(plan)
    elif plan.run_options.get("mode") == "next" and has_work_left(plan):
        halt(plan, "run.halted")
    else:
        queue_next(plan, after=turn)


def goes_on_after_stop(plan: Plan, turn: Turn) -> bool:
    """A person has started the run again while its turn was being stopped."""
    return turn.state == TurnState.STOPPED and turn.stop_requested and plan.run == Run.QUEUED


def backoff(failed: Attempt) -> float:
    """Seconds: a model that was not to be had is given time, the longer the more it failed."""
    if failed.failure_class not in (Attempt.FailureClass.TRANSIENT, Attempt.FailureClass.CAPACITY):
        return 0
    return min(float(settings.MODEL_RETRY_BASE) * 5 * 2.0**failed.number, LONGEST_WAIT)


def may_try_again(plan: Plan, turn: Turn, attempt: Attempt) -> bool:
    """Up to `plan.max_attempts` attempts since a person last started the run.

    What no repetition mends (a refused key, an unknown model, a context too long) fails at once.
    """
    if turn.checkpoint.get("final"):
        return False
    tried = Attempt.objects.filter(
        subtask=attempt.subtask_id, pk__gt=int(plan.run_options.get("tried") or 0)
    )
    failed = tried.exclude(failure_class=Attempt.FailureClass.INTERRUPTED).count()
    return failed < limit_of(turn, "max_attempts")


def halt(plan: Plan, type: str, ended: str = "") -> None:
    """It rests until a person says go on; how it `ended` is told in the conversation."""
    plan.run_options = {**plan.run_options, "halted": type == "run.halted"}
    settle_run(plan)
    if ended:
        tell_end(plan, ended)
    record_event(plan, type, SYSTEM)


def pause_for_a_yes(plan: Plan) -> None:
    settle_run(plan, Run.PAUSED, Plan.PauseReason.CONFIRM)
    record_event(plan, "run.paused", SYSTEM, reason="confirm")


def pause_before_next(plan: Plan) -> None:
    """The pause came with the last call of the attempt: the next one does not begin."""
    settle_run(plan, Run.PAUSED, plan.pause_reason or Plan.PauseReason.USER)
    record_event(plan, "run.paused", SYSTEM, reason=plan.pause_reason)


@operation("break_off")
def interrupt_attempt(turn: Turn) -> None:
    """The last resort, where a turn could not be settled: its subtask is to do again."""
    plan = plan_of(turn)
    attempt = attempt_of(turn)
    if attempt is not None:
        Attempt.objects.filter(pk=attempt.pk, error="").update(
            failure_class=turn.error_class or Attempt.FailureClass.LOGIC,
            error=turn.error or gettext("Its end could not be recorded."),
        )
        put_back(attempt.subtask)
    refresh_state(plan)
    halt(plan, "run.failed", FAILED)


@operation("settle_closing")
def settle_closing(turn: Turn) -> None:
    """The closing turn is over: the plan is done with an outcome, whatever the model did."""
    plan = plan_of(turn)
    if turn.state == TurnState.WAITING:
        pause_while_waiting(plan, turn)
        return
    if turn.state == TurnState.QUEUED:
        return
    if not plan.is_open:
        settle_run(plan)  # cancelled meanwhile, or finished by the model
    elif turn.state == TurnState.STOPPED or has_work_left(plan):  # a revision came meanwhile
        continue_run(plan, turn, None)
    else:
        outcome = last_text(turn)
        is_in_chat = bool(outcome)
        if not is_in_chat:  # then it is put together from the subtasks' own, as a markdown list
            done = checklist(plan).filter(state=State.DONE).values_list("name", "outcome")
            items = (f"- {name}: {(text or gettext('done')).strip()}" for name, text in done)
            outcome = "\n".join(item.replace("\n", "\n  ") for item in items)
        finish_plan(plan, outcome, SYSTEM, is_in_chat)
