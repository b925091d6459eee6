"""A change of text makes version n+1; with it the approval is void."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from agents.actors import Actor
from agents.config.store import read_agent
from agents.errors import Invalid, NotFound
from plans.expected_version import demand_version
from plans.models import PLAN_TEXT, Plan, Run
from plans.queries import (
    AGENT,
    SYSTEM,
    demand_no_child,
    demand_open,
    lock_plan,
    record_event,
    refresh_state,
    save_run,
    save_version,
    snapshot_text,
)
from plans.schemas import NOTHING, PlanEdit, Revision


class Change:
    """What a change of text is about, filled in while it is made."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.explanation = ""

    def set_text(self, given: PlanEdit | Revision) -> None:
        """The plan's own text, as far as it is given; None leaves a field as it is."""
        for field in PLAN_TEXT:
            if (value := getattr(given, field)) is not None:
                setattr(self.plan, field, value)
        self.plan.save(update_fields=PLAN_TEXT)


@contextmanager
def changed_text(plan: Plan, by: Actor, version: int | None = None) -> Iterator[Change]:
    """The plan, locked, with its text free to change; at the end there is one new version.

    A change that changes nothing makes no version and asks for no new yes.
    """
    with transaction.atomic():
        plan = lock_plan(plan)
        demand_open(plan)
        demand_no_child(plan.conversation, by)
        demand_version(plan, version)
        before = snapshot_text(plan)
        change = Change(plan)
        yield change
        after = snapshot_text(plan)
        if not after["content"] and not after["subtasks"]:
            raise Invalid(NOTHING)
        if after != before:
            save_next_version(plan, by, change.explanation)


def save_next_version(plan: Plan, by: Actor, explanation: str) -> None:
    keeps_yes = plan.is_confirmed and needs_no_new_yes(plan, by)
    plan.version += 1
    if keeps_yes:
        plan.approved_version = plan.version
    plan.save(update_fields=["version", "approved_version", "updated_at"])
    plan.refresh_from_db()  # giving up an attempt has moved the run
    save_version(plan, by, explanation)
    refresh_state(plan)
    if not keeps_yes and plan.run in (Run.QUEUED, Run.RUNNING):
        save_run(plan, Run.PAUSING, Plan.PauseReason.CONFIRM)
    record_event(plan, "plan.updated", by, version=plan.version, explanation=explanation[:500])
    if keeps_yes:
        record_event(plan, "plan.approved", SYSTEM, version=plan.version, because="plan.confirm")


def needs_no_new_yes(plan: Plan, by: Actor) -> bool:
    """Whether plan.confirm of agent.json lets the approval move on to the new version.

    `create` trusts the agent's revisions of a plan that was approved once, `never` everybody's.
    The first version always needs an approval.
    """
    try:
        confirm = read_agent(plan.conversation.agent_id).file.plan.confirm
    except NotFound:
        return False
    return confirm == "never" or (confirm == "create" and by is AGENT)
