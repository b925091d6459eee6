"""How a plan ends: done, cancelled, superseded, cleared, deleted. So does the asking for one."""

from __future__ import annotations

from django.utils import timezone

from agents import events, search
from agents.actions import add_message, keep_unsent, open_turns
from agents.actors import Actor
from agents.engine.lifecycle import request_stop
from agents.errors import Conflict
from agents.events import lock_conversation
from agents.models import Conversation, Lane, Message, Turn, TurnState
from agents.sentences import commas
from agents.stored_text import gettext
from plans.actions.documents import give_up_version
from plans.actions.run import stop_plan
from plans.actions.verb import verb
from plans.in_force import is_in_force
from plans.models import OPEN, ActivePlan, Plan, Run, State
from plans.queries import (
    check_turns_of,
    checklist,
    close_subtask,
    lock_active_plan,
    record_event,
    run_turns_of,
    save_run,
)
from plans.search import index_plan
from plans.snapshot_reading import plan_snapshot

NOTHING_DONE = "every subtask was skipped"


@verb("cancel_plan", open=True, already=lambda plan, _: plan.state == State.ABANDONED)
def cancel_plan(
    plan: Plan, by: Actor, reason: str = "cancelled", comment: str = "", outcome: str = ""
) -> Plan:
    """Abandon the plan: what is running stops, what is open is abandoned, nothing is deleted.

    `reason` is the kind of end, with the person's comment on it behind a colon.

    A plan that is cancelled already is left as it is. Of a document in force only the version that
    waits is given up.
    """
    if not plan.is_confirmed and is_in_force(plan):
        return give_up_version(plan, by, comment)
    reason = f"{reason}: {comment}"[:200] if comment else reason
    plan.state, plan.reason, plan.finished_at = State.ABANDONED, reason, timezone.now()
    plan.outcome = outcome or plan.outcome
    plan.save()
    for subtask in checklist(plan).filter(state__in=OPEN):
        close_subtask(subtask, State.ABANDONED, reason)
    if plan.run != Run.IDLE:
        stop_plan(plan, by)
        plan.refresh_from_db()
    record_event(plan, "plan.finished", by, state=State.ABANDONED, reason=reason)
    return plan


@verb("finish_plan", open=True, already=lambda plan, _: plan.state == State.DONE)
def finish_plan(plan: Plan, outcome: str, by: Actor, is_in_chat: bool = False) -> Plan:
    """Done, with what came of it. Refused while a subtask is open, and of a document.

    The conversation gets a closing card; it leaves the outcome out where the agent has just
    written it there (`is_in_chat`).
    """
    rows = list(checklist(plan))
    left = [each.key for each in rows if not each.is_settled]
    if left:
        raise Conflict(
            gettext("The plan is not done: {left} still open.").format(left=commas(left[:10])),
            plan.version,
        )
    if not rows and not plan.is_confirmed:
        raise Conflict(gettext("A document has nothing to finish: it waits for a person’s yes."))
    if not rows or any(each.state == State.DONE for each in rows):
        plan.state = State.DONE
    else:
        plan.state, plan.reason = State.ABANDONED, NOTHING_DONE
    plan.outcome, plan.finished_at = outcome, timezone.now()
    plan.save()
    index_plan(plan)
    save_run(plan, Run.IDLE)
    record_event(plan, "plan.finished", by, state=plan.state)
    meta: dict[str, object] = {"closing": plan.pk, "said": is_in_chat}
    if rows and plan.state == State.DONE:  # the system's own word of now, beside the model's
        meta["checked"] = plan_snapshot(plan).checked
    text = "" if is_in_chat else outcome
    message = add_message(plan.conversation, Message.Kind.NOTICE, text, meta=meta, stays=True)
    # So that it is drawn anew with the plan, and is history once a retry lets the plan go on.
    plan.run_options = {**plan.run_options, "ended": message.pk}
    plan.save(update_fields=["run_options"])
    return plan


@verb("delete_plan")
def delete_plan(plan: Plan, by: Actor) -> None:
    """Gone, with its versions, attempts and events' details; the conversation's text stays."""
    if plan.is_live:
        raise Conflict(gettext("The plan is running: stop it first."), plan.version)
    looking = check_turns_of(plan).filter(state__in=Turn.OPEN_STATES)
    for turn in (*run_turns_of(plan), *looking):  # paused: what waits ends with it
        request_stop(turn, by)
    record_event(plan, "plan.deleted", by, title=plan.title)
    if plan.card is not None:
        plan.card.delete()
    search.forget_plan(plan.pk)
    plan.delete()


@verb("clear")
def clear(conversation: Conversation, by: Actor) -> list[Plan]:
    """Empty the drawer: what runs stops, what is queued goes back into the message box, every open
    plan of the conversation is abandoned. Gives those.

    A finished plan only leaves the drawer, and a document stays in force. Nothing is deleted.
    """
    pointer, ended = end_everything(conversation, by)
    subject = f"plan:{pointer.plan_id}" if pointer.plan_id else ""
    pointer.plan = None
    pointer.save()
    events.record(conversation, "plan.cleared", subject, by)
    return ended


@verb("leave")
def end_open_plans(conversation: Conversation, by: Actor) -> list[Plan]:
    """Leave for another conversation: as clearing, but a finished plan stays in the drawer."""
    pointer, ended = end_everything(conversation, by)
    if pointer.plan in ended:
        events.record(conversation, "plan.cleared", f"plan:{pointer.plan_id}", by)
        pointer.plan = None
        pointer.save()
    return ended


def end_everything(conversation: Conversation, by: Actor) -> tuple[ActivePlan, list[Plan]]:
    """Every open plan, those beside the one in the drawer too: nothing would show them any more."""
    lock_conversation(conversation.pk)
    turns = open_turns(conversation, Lane.CHAT)
    unsent = [each for each in turns if each.state == TurnState.QUEUED and not each.started_at]
    keep_unsent(conversation, unsent, "cleared")
    for turn in turns:
        if turn not in unsent:
            request_stop(turn, by)
    cancel_request(conversation, by)
    pointer = lock_active_plan(conversation)
    open_ones = Plan.objects.filter(conversation=conversation, state__in=OPEN).order_by("pk")
    ended = [cancel_plan(plan, by, reason="cleared") for plan in open_ones]
    return pointer, [plan for plan in ended if plan.state == State.ABANDONED]


@verb("cancel_asking")
def cancel_request(conversation: Conversation, by: Actor, asking: int | None = None) -> bool:
    """No plan is asked for any more, and whoever is making it stops; False if none was.

    `asking` is the message with which the asking that the person saw began; another is left alone.
    """
    pointer = lock_active_plan(conversation)
    if not pointer.asked:
        return False
    if asking is not None and asking != pointer.asked_message_id:
        raise Conflict(gettext("Another plan is asked for now. Nothing was cancelled."))
    asked = pointer.asked_message
    pointer.asked_goal, pointer.asked_message = "", None
    pointer.save()
    if asked is not None:  # walking past it does not ask for it again
        asked.meta = {**asked.meta, "cancelled": True}
        asked.save(update_fields=["meta"])
    stop_planning(conversation, asked.turn_id if asked else None, by)
    events.record(conversation, "plan.asking_cancelled", "", by)
    return True


def stop_planning(
    conversation: Conversation, asking: int | None, by: Actor, before: int | None = None
) -> None:
    """End the turn that asks for the plan; what was said behind it goes back to the composer.

    `asking` is the turn of the message with which the plan was asked for, `before` that of a later
    asking, which goes on.
    """
    planning = [
        turn
        for turn in open_turns(conversation, Lane.CHAT)
        if turn.kind == "plan" and turn.pk >= (asking or 0) and (before is None or turn.pk < before)
    ]
    not_begun = [
        turn
        for turn in planning
        if turn.state == TurnState.QUEUED
        and turn.pk != asking
        and set(turn.checkpoint) <= {"asked", "about"}
    ]
    keep_unsent(conversation, not_begun, "cancelled")
    for turn in planning:
        if turn not in not_begun:
            request_stop(turn, by)
