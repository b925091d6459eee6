"""A document comes into force by a person's yes, and goes out of force by their word alone.

It stays in force in the version that was approved last, whatever becomes of one that waits.
"""

from __future__ import annotations

from django.utils import timezone

from agents.actions import add_message
from agents.actors import PERSON, Actor, kind_of
from agents.errors import Conflict
from agents.models import Message
from agents.sentences import detailed
from agents.stored_text import gettext
from plans.actions.verb import verb
from plans.expected_version import NOT_CHANGED
from plans.in_force import is_in_force
from plans.models import PLAN_TEXT, Plan, State
from plans.queries import record_event
from plans.search import index_plan


def put_in_force(plan: Plan, by: Actor) -> Plan:
    """Its present version has just been approved."""
    settle(plan)
    record_event(plan, "plan.finished", by, state=plan.state)
    tell(plan, plan.outcome, in_force=plan.version)
    return plan


def give_up_version(plan: Plan, by: Actor, comment: str = "") -> Plan:
    """The version that waits is not wanted: the plan is at the one in force again.

    Its number is not given out once more.
    """
    words = gettext("v{version} was given up").format(version=plan.version)
    kept = plan.versions.get(version=plan.approved_version or 0)
    plan.version = kept.version
    for field in PLAN_TEXT:
        setattr(plan, field, kept.snapshot[field])
    settle(plan)
    why = detailed(words, comment)
    record_event(plan, "plan.updated", by, version=plan.version, explanation=why)
    return plan


def settle(plan: Plan) -> None:
    """Nothing of it waits: what was approved last is its text."""
    plan.state, plan.finished_at = State.DONE, plan.approved_at
    plan.outcome = gettext("Approved as v{version}.").format(version=plan.version)
    plan.save()
    index_plan(plan)


def demand_in_force(plan: Plan) -> None:
    if not is_in_force(plan):
        raise Conflict(gettext("This is no document in force."), plan.version)


@verb("take_out_of_force", also=demand_in_force, no_child=True, version=NOT_CHANGED)
def take_out_of_force(plan: Plan, by: Actor, version: int | None = None) -> Plan:
    """From now on nobody is told to keep to it; what waits for a yes is given up with it."""
    if kind_of(by) != PERSON:
        raise Conflict(gettext("Only a person takes a document out of force."), plan.version)
    was = plan.approved_version
    plan.state, plan.reason, plan.finished_at = State.ABANDONED, "out_of_force", timezone.now()
    plan.save()
    record_event(plan, "plan.finished", by, state=plan.state, reason=plan.reason)
    tell(plan, gettext("v{version} is out of force.").format(version=was), out_of_force=was)
    return plan


def tell(plan: Plan, words: str, **facts: object) -> None:
    """A line of the conversation, which stays in view."""
    meta = {"closing": plan.pk, **facts}
    add_message(plan.conversation, Message.Kind.NOTICE, words, meta=meta, stays=True)
