"""Alternatives of a conversation, where plans came out of them.

A plan belongs to what it was made in. Once it was approved, that stays in view for good; before,
it leaves the drawer with the alternative it was made in, open, and is back when that is.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from agents import events
from agents.actors import Actor
from agents.engine import alternatives
from agents.errors import Conflict
from agents.events import lock_conversation
from agents.models import Conversation, Message, Turn
from agents.statements import by_key
from plans.models import OPEN, Plan
from plans.queries import lock_active_plan, record_event, redraw_card
from plans.tracing import operation

APPROVED = "“{}” came out of this and was approved: what led to it stays as it is."


@operation("show_alternative")
@transaction.atomic
def show_alternative(conversation: Conversation, turn: Turn, by: Actor) -> None:
    """Walk to this alternative, and to what was shown behind it last."""
    conversation, turn = locked(conversation, turn)
    if turn.hidden:
        line = alternatives.hidden_line(turn)
        alternatives.demand_free(conversation, line[0])
        demand_no_approved(conversation, line[0])
        follow(conversation, by, alternatives.show(line, by))


@operation("leave_alternative")
@transaction.atomic
def leave_alternative(conversation: Conversation, turn: Turn, by: Actor) -> int:
    """Make room for another alternative of this turn, which is shown; gives the event's number."""
    conversation, turn = locked(conversation, turn)
    alternatives.demand_free(conversation, turn)
    if turn.hidden:
        raise Conflict(alternatives.NOT_SHOWN)
    demand_no_approved(conversation, turn)
    seq = alternatives.leave(turn, by)
    follow(conversation, by)
    return seq


def locked(conversation: Conversation, turn: Turn) -> tuple[Conversation, Turn]:
    """Both as they are now, held until the transaction ends."""
    lock_conversation(conversation.pk)
    now = by_key(Conversation, conversation.pk)
    same = by_key(Turn, turn.pk)
    if now is None or same is None:
        raise Conflict(alternatives.NOT_SHOWN)
    return now, same


def demand_no_approved(conversation: Conversation, turn: Turn) -> None:
    left = alternatives.messages_with(conversation.pk, alternatives.shown_from(turn))
    plan = Plan.objects.filter(card__in=left, approved_version__isnull=False).first()
    if plan is not None:
        raise Conflict(APPROVED.format(plan.title))


def follow(conversation: Conversation, by: Actor, back: Collection[int] = ()) -> None:
    """What is asked for and what is in the drawer is in view; `back` are turns that came back.

    An asking that is hidden is over: there is no turn that could answer it.
    """
    pointer = lock_active_plan(conversation)
    asked, plan = pointer.asked_message, pointer.plan
    if asked is not None and asked.hidden:
        pointer.asked_goal, pointer.asked_message = "", None
        events.record(conversation, "plan.asking_cancelled", "", by)
    if plan is not None and plan.card is not None and plan.card.hidden:
        pointer.plan = None
        record_event(plan, "plan.put_aside", by)
    if pointer.plan is None and back:
        cards = alternatives.messages_with(conversation.pk, back).filter(kind=Message.Kind.PLAN)
        pointer.plan = Plan.objects.filter(card__in=cards, state__in=OPEN).order_by("pk").last()
        if pointer.plan is not None:
            redraw_card(plan, record_event(pointer.plan, "plan.activated", by))
    pointer.save()
