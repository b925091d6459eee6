"""A change of text makes version n+1; with it the approval is void."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from agents.agent_file.record import read_agent
from agents.errors import Invalid, Missing
from plans.models import Plan, Run
from plans.rows import (
    AGENT,
    SYSTEM,
    demand_open,
    demand_version,
    lock,
    refresh_state,
    save_run,
    save_version,
    snapshot_text,
    tell,
)
from plans.shapes import NOTHING


class Change:
    """What a change of text is about, filled in while it is made."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.explanation = ""


@contextmanager
def changing(plan: Plan, by: str, version: int | None = None) -> Iterator[Change]:
    """The plan, locked, with its text free to change; at the end there is one new version.

    A change that changes nothing makes no version and asks for no new yes.
    """
    with transaction.atomic():
        plan = lock(plan)
        demand_open(plan)
        demand_version(plan, version)
        before = snapshot_text(plan)
        change = Change(plan)
        yield change
        after = snapshot_text(plan)
        if not after["content"] and not after["subtasks"]:
            raise Invalid(NOTHING)
        if after != before:
            commit(plan, by, change.explanation)


def commit(plan: Plan, by: str, explanation: str) -> None:
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
    tell(plan, "plan.updated", by, version=plan.version, explanation=explanation[:500])
    if keeps_yes:
        tell(plan, "plan.approved", SYSTEM, version=plan.version, because="plan.confirm")


def needs_no_new_yes(plan: Plan, by: str) -> bool:
    """What the person has set in agent.json: `create` trusts the agent's revisions of a plan that

    was approved once, `never` everybody's. The first version always needs a yes.
    """
    try:
        confirm = read_agent(plan.conversation.agent_id).file.plan.confirm
    except Missing:
        return False
    return confirm == "never" or (confirm == "create" and by == AGENT)
