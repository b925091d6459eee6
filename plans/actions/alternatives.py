"""Alternatives of a conversation, where plans came out of them.

A plan belongs to what it was made in. Once it was approved, that stays in view for good; before,
it leaves the drawer with the alternative it was made in, open, and is back when that is.
"""

from __future__ import annotations

from agents import events
from agents.actors import Actor
from agents.engine import alternatives
from agents.errors import Conflict
from agents.events import lock_conversation
from agents.models import Conversation, Message, Turn
from agents.stored_text import gettext_lazy
from plans.actions.verb import verb
from plans.alternatives import fixed_in
from plans.models import OPEN, Plan
from plans.queries import (
    active_plan,
    is_answered,
    lock_active_plan,
    record_event,
    redraw_card,
)

APPROVED = gettext_lazy(
    "“{title}” came out of this and was approved: what led to it stays as it is."
)


@verb("show_alternative")
def show_alternative(conversation: Conversation, turn: Turn, by: Actor) -> None:
    """Walk to this alternative, and to what was shown behind it last."""
    conversation, turn = locked(conversation, turn)
    if turn.hidden:
        line = alternatives.hidden_line(turn)
        alternatives.demand_free(conversation, line[0])
        demand_no_approved(conversation, line[0])
        bring_back(conversation, alternatives.show(line, by), by)


@verb("leave_alternative")
def leave_alternative(conversation: Conversation, turn: Turn, by: Actor) -> int:
    """Make room for another alternative of this turn, which is shown; gives the event's number."""
    conversation, turn = locked(conversation, turn)
    alternatives.demand_free(conversation, turn)
    if turn.hidden:
        raise Conflict(str(alternatives.NOT_SHOWN))
    demand_no_approved(conversation, turn)
    seq = alternatives.leave(turn, by)
    follow(conversation, by, asking_of(turn))
    return seq


def locked(conversation: Conversation, turn: Turn) -> tuple[Conversation, Turn]:
    """Both as they are now, held until the transaction ends."""
    lock_conversation(conversation.pk)
    now = Conversation.objects.filter(pk=conversation.pk).first()
    same = Turn.objects.filter(pk=turn.pk).first()
    if now is None or same is None:
        raise Conflict(str(alternatives.NOT_SHOWN))
    return now, same


def demand_no_approved(conversation: Conversation, turn: Turn) -> None:
    """Neither what a plan was made in nor what it was changed in leaves the view once that text,
    or one that was made of it, was approved."""
    fixed = fixed_in(conversation.pk)
    if fixed.turn and alternatives.shown_from(turn).filter(pk__lte=fixed.turn).exists():
        raise Conflict(APPROVED.format(title=fixed.title))


def follow(conversation: Conversation, by: Actor, asking: Message | None) -> None:
    """What is asked for and what is in the drawer is in view.

    An asking ends where it is hidden, there is no turn that could answer it, or where a plan that
    came out of it is in view. The one given is open if neither is so.
    """
    pointer = lock_active_plan(conversation)
    asked, plan = pointer.asked_message, pointer.plan
    if asked is not None and (asked.hidden or is_answered(asked.pk)):
        pointer.asked_goal, pointer.asked_message = "", None
        events.record(conversation, "plan.asking_cancelled", "", by)
    if plan is not None and plan.card is not None and plan.card.hidden:
        pointer.plan = None
        record_event(plan, "plan.put_aside", by)
    if asking is not None and not pointer.asked and not is_answered(asking.pk):
        goal = str(asking.meta.get("wire") or asking.text)
        pointer.asked_goal, pointer.asked_message = goal, asking
        events.record(conversation, "plan.asked", "", by, goal=goal[:500])
    pointer.save()


def bring_back(conversation: Conversation, back: list[int], by: Actor = "") -> None:
    """These turns are in view again, and with them the plan and the asking they had."""
    left = active_plan(conversation)
    last = Turn.objects.filter(pk=back[-1]).first()
    asking = asking_of(last) if last is not None else None
    is_cancelled = asking is not None and bool(asking.meta.get("cancelled"))
    follow(conversation, by, None if is_cancelled else asking)
    pointer = lock_active_plan(conversation)
    if pointer.plan is None:
        cards = alternatives.messages_with(conversation.pk, back).filter(kind=Message.Kind.PLAN)
        pointer.plan = Plan.objects.filter(card__in=cards, state__in=OPEN).order_by("pk").last()
        if pointer.plan is not None:
            pointer.save()
            redraw_card(left, record_event(pointer.plan, "plan.activated", by))


def asking_of(turn: Turn) -> Message | None:
    """The message in view that asked for the plan which this turn was to make."""
    asking = turn.checkpoint.get("asked")
    if asking is None:
        return None
    rows = Message.objects.filter(pk=asking, conversation=turn.conversation_id, hidden=False)
    return rows.first()
