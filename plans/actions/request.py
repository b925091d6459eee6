"""Asking for a plan, and taking that back. An asking belongs to the message and the turn it began
with: only turns of that asking may answer it."""

from __future__ import annotations

from django.db import transaction

from agents import events
from agents.actions import add_message, keep_unsent, open_turns
from agents.actors import Actor
from agents.engine.lifecycle import request_stop
from agents.errors import Conflict, Invalid
from agents.models import Conversation, Lane, Message, Turn, TurnState
from plans.actions.run import stop_work
from plans.models import ActivePlan
from plans.queries import lock_active_plan
from plans.tracing import operation


@operation("ask_for_plan")
@transaction.atomic
def request_plan(
    conversation: Conversation, goal: str, by: Actor, message: Message, *, beside: bool = False
) -> None:
    """From now on, until a plan exists, `message` and what follows it may only plan.

    The goal is kept word for word. An earlier asking is given up, and says so. An older open plan
    stays active until the new one exists; its run rests meanwhile, unless the new plan is to stand
    `beside` it.
    """
    if not goal.strip():
        raise Invalid("Say what you want after /plan.")
    pointer = lock_active_plan(conversation)
    if pointer.asked:
        give_up(pointer, by, message)
    if not beside and pointer.plan is not None:
        stop_work(pointer.plan, by)
    pointer.asked_goal, pointer.asked_message = goal, message
    pointer.save()
    if beside:
        message.meta = {**message.meta, "beside": True}
        message.save(update_fields=["meta"])
    if message.turn is not None:
        join(message.turn, message.pk)
    events.record(conversation, "plan.asked", "", by, goal=goal[:500])


def join(turn: Turn, asking: int) -> None:
    """The turn is about this request (its message's id), so it may answer it."""
    turn.checkpoint = {**turn.checkpoint, "asked": asking}
    turn.save(update_fields=["checkpoint"])


def bind(turn: Turn, plan_id: int) -> None:
    """The turn answers words about this plan: it changes that one or none."""
    turn.checkpoint = {**turn.checkpoint, "about": plan_id}
    turn.save(update_fields=["checkpoint"])


def give_up(pointer: ActivePlan, by: Actor, message: Message) -> None:
    """Another plan is asked for while one is being made: the first is not made any more."""
    earlier = pointer.asked_message
    stop_planning(pointer.conversation, earlier.turn_id if earlier else None, by, message.turn_id)
    first, *more = pointer.asked_goal.strip().splitlines()
    short = f"{first[:80]}…" if more or len(first) > 80 else first
    notice = f"“{short}” is not planned any more: another plan was asked for."
    add_message(pointer.conversation, Message.Kind.NOTICE, notice)


@operation("cancel_asking")
@transaction.atomic
def cancel_request(conversation: Conversation, by: Actor, asking: int | None = None) -> bool:
    """No plan is asked for any more, and whoever is making it stops; False if none was.

    `asking` is the message with which the asking that the person saw began; another is left alone.
    """
    pointer = lock_active_plan(conversation)
    if not pointer.asked:
        return False
    if asking is not None and asking != pointer.asked_message_id:
        raise Conflict("Another plan is asked for now. Nothing was cancelled.")
    asked = pointer.asked_message
    pointer.asked_goal, pointer.asked_message = "", None
    pointer.save()
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
    turns = open_turns(conversation, Lane.CHAT)
    planning = [each for each in turns if each.kind == "plan" and each.pk >= (asking or 0)]
    planning = [each for each in planning if before is None or each.pk < before]
    waiting = [each for each in planning if each.state == TurnState.QUEUED and each.pk != asking]
    behind = [
        each for each in waiting if set(each.checkpoint) <= {"asked", "about"}
    ]  # it has not begun
    keep_unsent(conversation, behind)
    for turn in planning:
        if turn not in behind:
            request_stop(turn, by)


def request_of(turn: Turn | None, pointer: ActivePlan) -> Message | None:
    """What the turn was asked to plan; refused when that is not asked for any more."""
    asking = turn.checkpoint.get("asked") if turn is not None else None
    if turn is None or asking is None or turn.checkpoint.get("made"):
        return None
    if pointer.asked and asking == pointer.asked_message_id:
        return pointer.asked_message
    if turn.checkpoint.get("gated"):
        raise Conflict("This plan is not asked for any more: no plan was made.")
    return None  # another turn has answered it: this one is like any other
