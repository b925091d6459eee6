"""A new plan."""

from __future__ import annotations

from django.db import transaction

from agents.actions import add_message
from agents.actors import Actor
from agents.engine import persistence
from agents.errors import Conflict, Invalid
from agents.models import Conversation, Message, Turn
from plans.actions.budget import first_budget
from plans.actions.close import cancel_plan
from plans.actions.request import request_of
from plans.actions.run import stop_work
from plans.models import ActivePlan, Plan, State, Subtask
from plans.queries import (
    AGENT,
    demand_no_child,
    lock_active_plan,
    new_keys,
    record_event,
    redraw_card,
    save_version,
)
from plans.schemas import MOST_SUBTASKS, NOTHING, PlanDraft, SubtaskDraft
from plans.tracing import operation

SUPERSEDED = "superseded"


@operation("create_plan")
@transaction.atomic
def create_plan(
    conversation: Conversation,
    draft: PlanDraft,
    by: Actor,
    turn: Turn | None = None,
    goal: str = "",
    *,
    beside: bool = False,
) -> Plan:
    """The conversation's active plan from now on, at version 1, waiting for a person's yes.

    The turn's own asking is answered by it. An older open plan that was never approved is
    abandoned (superseded); one that was approved, or has the new one `beside` it, stays open and
    inactive. While it runs, a plan beside it is the inactive one.
    """
    demand_substance(draft)
    demand_no_child(conversation, by)
    pointer = lock_active_plan(conversation)
    demand_not_stopped(turn)
    asked = request_of(turn, pointer)
    beside = beside or bool(asked and asked.meta.get("beside"))
    over = started_over(turn)
    before = pointer.plan
    old = over or make_room(before, by, beside)
    plan = Plan.objects.create(
        conversation=conversation,
        goal=pointer.asked_goal if asked else over.goal if over else goal,
        title=draft.title,
        content=draft.content,
        expected_outcome=draft.expected_outcome,
        replaces=old,
        budget=first_budget(conversation),
    )
    insert_subtasks(plan, draft.subtasks)
    save_version(plan, by, "")
    put_first(pointer, plan, answers=asked is not None, stays=beside and is_running(before))
    if turn is not None:
        persistence.checkpoint(turn, made=plan.pk)
    show(plan, turn)
    redraw_card(before, record_event(plan, "plan.created", by, version=1))
    return plan


def demand_not_stopped(turn: Turn | None) -> None:
    """Read again under the lock: a person may have cancelled between the call and its effect."""
    stopped = turn is not None and Turn.objects.filter(pk=turn.pk, stop_requested=True).exists()
    if stopped:
        raise Conflict("The planning was cancelled: no plan was made.")


def demand_substance(draft: PlanDraft) -> None:
    """A text, a list of things to do, or both."""
    count = len(draft.subtasks)
    if count == 0 and not draft.content:
        raise Invalid(NOTHING)
    if count > MOST_SUBTASKS:
        raise Invalid(f"A plan has at most {MOST_SUBTASKS} subtasks; this one has {count:,}.")


def insert_subtasks(plan: Plan, drafts: list[SubtaskDraft]) -> None:
    keys = new_keys(plan, len(drafts))
    Subtask.objects.bulk_create(
        Subtask(
            plan=plan,
            key=key,
            position=position,
            name=draft.name,
            description=draft.description,
            expected_outcome=draft.expected_outcome,
        )
        for position, (key, draft) in enumerate(zip(keys, drafts, strict=True), 1)
    )


def make_room(old: Plan | None, by: Actor, beside: bool) -> Plan | None:
    """The plan that the new one replaces, abandoned by that; one that was approved is kept."""
    if old is None or not old.is_open or beside:
        return None
    if old.approved_version is not None:
        stop_work(old, by)
        return None
    return cancel_plan(old, by, reason=SUPERSEDED)


def started_over(turn: Turn | None) -> Plan | None:
    """The plan that this turn has thrown away to make it anew: it was superseded, then."""
    thrown = turn.checkpoint.get("threw_away") if turn is not None else None
    old = Plan.objects.filter(pk=thrown, state=State.ABANDONED).first() if thrown else None
    if old is None:
        return None
    old.subtasks.filter(position__isnull=False, reason=old.reason).update(reason=SUPERSEDED)
    old.reason = SUPERSEDED
    old.save(update_fields=["reason"])
    record_event(old, "plan.updated", AGENT, state=old.state, reason=SUPERSEDED)
    return old


def is_running(plan: Plan | None) -> bool:
    return plan is not None and plan.is_live


def put_first(pointer: ActivePlan, plan: Plan, *, answers: bool, stays: bool) -> None:
    """Into the drawer, unless what is there `stays`; what it `answers` is not asked any more."""
    if not stays:
        pointer.plan = plan
    if answers:
        pointer.asked_goal, pointer.asked_message = "", None
    pointer.save()


def show(plan: Plan, turn: Turn | None) -> None:
    """The card in the conversation that shows the same checklist as the drawer."""
    meta: dict[str, object] = {"plan": plan.pk}
    plan.card = add_message(
        plan.conversation, Message.Kind.PLAN, plan.title, "assistant", turn, meta
    )
    plan.save(update_fields=["card"])
