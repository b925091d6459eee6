"""Planning the rest anew, in place: what is done stays word for word, the open is superseded."""

from __future__ import annotations

from django.db import transaction

from agents.actions import start_turn
from agents.errors import Invalid, NotNow
from agents.models import Turn
from plans.actions.layout import lay_out, new_subtasks, rewrite, unstarted
from plans.actions.revising import draft_of, give_up_attempt
from plans.actions.running import stop_plan
from plans.actions.versions import changing
from plans.models import ActivePlan, Plan, State, Subtask
from plans.operations import operation
from plans.rows import checklist, demand_open, lock, tell
from plans.shapes import Revision


@operation
@transaction.atomic
def replan(plan: Plan, by: str, from_key: str | None = None, hint: str = "") -> Turn:
    """Ask the planner for another way from a subtask on (the first open one without a key).

    A run stops first. Nothing is superseded before the new subtasks are there.
    """
    plan = lock(plan)
    demand_open(plan)
    if not ActivePlan.objects.filter(plan=plan).exists():
        raise NotNow("Only the plan in the drawer can be planned anew.", plan.version)
    first = first_open(plan, from_key)
    if plan.is_live:
        plan = stop_plan(plan, by)
    text = f"Plan the rest anew, from subtask {first.position} on. {hint}".strip()
    meta: dict[str, object] = {"command": "replan", "from": first.key}
    _, turn = start_turn(plan.conversation, text, by, "plan", meta=meta)
    turn.checkpoint = {"gated": True, "replan": first.key}
    turn.save(update_fields=["checkpoint"])
    tell(plan, "plan.replanning", by, subtask=first.key, hint=hint[:500])
    return turn


def first_open(plan: Plan, key: str | None) -> Subtask:
    """Where the new part begins; a person names it by a key, or it is the next to be done."""
    open_ones = checklist(plan).filter(state__in=[State.TODO, State.IN_PROGRESS])
    first = open_ones.filter(key=key).first() if key else open_ones.first()
    if first is None:
        known = checklist(plan).filter(key=key).exists() if key else False
        if key and not known:
            raise Invalid(f"There is no subtask {key[:20]} in this plan.")
        raise NotNow("What is done stays as it is: there is nothing left to plan anew.")
    return first


@operation
def replace_rest(plan: Plan, from_key: str, revision: Revision, by: str) -> Plan:
    """Put the new subtasks where the open ones from `from_key` on were.

    Those the revision names by key stay, with its changes; the others are superseded. Keys are
    never reused.
    """
    with changing(plan, by) as change:
        plan = change.plan
        for field in ("title", "content", "expected_outcome"):
            if (value := getattr(revision, field)) is not None:
                setattr(plan, field, value)
        plan.save(update_fields=["title", "content", "expected_outcome", "metadata"])
        rest = open_from(plan, from_key)
        for subtask in rest:
            if subtask.state == State.IN_PROGRESS:
                give_up_attempt(plan, subtask, by)
        keys = {subtask.key for subtask in rest}
        before = [each for each in unstarted(plan) if each.key not in keys]
        lay_out(plan, [*before, *laid(plan, rest, revision)], reason="superseded")
        change.explanation = revision.explanation or "Planned anew"
    return plan


def open_from(plan: Plan, from_key: str) -> list[Subtask]:
    start = plan.subtasks.filter(key=from_key).first()
    first = start.position if start and start.position else 1
    open_ones = checklist(plan).filter(state__in=[State.TODO, State.IN_PROGRESS])
    return list(open_ones.filter(position__gte=first))


def laid(plan: Plan, rest: list[Subtask], revision: Revision) -> list[Subtask]:
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
