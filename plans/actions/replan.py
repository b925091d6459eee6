"""Replanning the rest, in place: what is done stays word for word, the open is superseded."""

from __future__ import annotations

from django.db import transaction

from agents.actions import open_turns, start_turn
from agents.actors import Actor
from agents.errors import Conflict, Invalid
from agents.models import Lane, Turn
from plans.actions.ordering import find, new_subtasks, order_subtasks, rewrite, unstarted
from plans.actions.revise import draft_of, give_up_attempt
from plans.actions.run import stop_plan
from plans.actions.versions import changed_text
from plans.expected_version import demand_active, demand_version
from plans.models import Plan, State, Subtask
from plans.queries import checklist, demand_no_child, demand_open, lock_plan, record_event
from plans.schemas import Revision
from plans.tracing import operation


@operation("replan")
@transaction.atomic
def replan_rest(
    plan: Plan, by: Actor, from_key: str | None = None, hint: str = "", version: int | None = None
) -> Turn:
    """Ask the planner for another way from a subtask on (the first open one without a key).

    A run stops first. Nothing is superseded before the new subtasks are there.
    """
    plan = lock_plan(plan)
    demand_open(plan)
    demand_no_child(plan.conversation, by)
    demand_active(plan)
    demand_version(plan, version)
    first = first_open(plan, from_key)
    demand_no_other_replan(plan)
    if plan.is_live:
        plan = stop_plan(plan, by)
    text = f"Replan the rest, from subtask {first.position} on. {hint}".strip()
    meta: dict[str, object] = {"command": "replan", "from": first.key}
    _, turn = start_turn(plan.conversation, text, by, "plan", meta=meta)
    turn.checkpoint = {"gated": True, "replan": first.key, "replans": plan.pk}
    turn.save(update_fields=["checkpoint"])
    record_event(plan, "plan.replanning", by, subtask=first.key, hint=hint[:500])
    return turn


def demand_no_other_replan(plan: Plan) -> None:
    """Two at once would each put their subtasks where the other's are."""
    turns = open_turns(plan.conversation, Lane.CHAT)
    if any(turn.checkpoint.get("replan") for turn in turns):
        raise Conflict("It is being replanned already.", plan.version)


def first_open(plan: Plan, key: str | None) -> Subtask:
    """Where the new part begins; a person names it by a key, or it is the next to be done."""
    open_states = [State.TODO, State.IN_PROGRESS]
    first = find(plan, key) if key else checklist(plan).filter(state__in=open_states).first()
    if first is None or first.state not in open_states:
        raise Conflict("What is done stays as it is: there is nothing left to replan.")
    return first


@operation("replace_rest")
def replace_rest(plan: Plan, from_key: str, revision: Revision, by: Actor) -> Plan:
    """Put the new subtasks where the open ones from `from_key` on were.

    Those the revision names by key stay, with its changes; the others are superseded. Keys are
    never reused.
    """
    with changed_text(plan, by) as change:
        plan = change.plan
        change.set_text(revision)
        rest = open_from(plan, from_key)
        for subtask in rest:
            if subtask.state == State.IN_PROGRESS:
                give_up_attempt(plan, subtask, by)
        keys = {subtask.key for subtask in rest}
        before = [each for each in unstarted(plan) if each.key not in keys]
        order_subtasks(plan, [*before, *in_order(plan, rest, revision)], reason="superseded")
        change.explanation = revision.explanation or "Replanned"
    return plan


def open_from(plan: Plan, from_key: str) -> list[Subtask]:
    start = plan.subtasks.filter(key=from_key).first()
    first = start.position if start and start.position else 1
    open_ones = checklist(plan).filter(state__in=[State.TODO, State.IN_PROGRESS])
    return list(open_ones.filter(position__gte=first))


def in_order(plan: Plan, rest: list[Subtask], revision: Revision) -> list[Subtask]:
    by_key = {subtask.key: subtask for subtask in rest}
    words = [word for word in revision.subtasks if not word.remove]
    fresh = iter(new_subtasks(plan, [draft_of(word) for word in words if word.key not in by_key]))
    named = [by_key[word.key] if word.key in by_key else next(fresh) for word in words]
    order = list({subtask.key: subtask for subtask in named}.values())  # named twice: one place
    if not order:
        raise Invalid("Give the subtasks that take the place of the open ones.")
    for word in words:
        if word.key in by_key:
            rewrite(by_key[word.key], word.model_dump(include=word.model_fields_set))
    return order
