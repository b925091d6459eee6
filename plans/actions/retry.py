"""Trying a subtask again: one that has failed, and one that is done but not true any more."""

from __future__ import annotations

from agents.actors import Actor
from agents.errors import Conflict
from agents.stored_text import gettext
from plans.actions.run import end_backoff, find_todo, start_run
from plans.actions.verb import demand_confirmed, demand_open, verb
from plans.actions.versions import find
from plans.expected_version import NOT_STARTED
from plans.models import Plan, Run, State, Subtask
from plans.queries import ready
from plans.verification import GONE, results_in, verify


@verb("retry_subtask", version=NOT_STARTED)
def retry_subtask(plan: Plan, key: str, by: Actor, version: int | None = None) -> Plan:
    """Try a failed subtask again, now; also one that is held back until its next try, and one that
    is not true any more."""
    subtask = demand_retriable(plan, key)
    if subtask.state == State.DONE:
        reopen(plan, subtask)
    if plan.run not in (Run.QUEUED, Run.RUNNING):
        start_run(plan, by, options={})
    else:
        end_backoff(plan, subtask, by)
    return plan


def demand_retriable(plan: Plan, key: str) -> Subtask:
    """The subtask, if it may be tried again now; one that is done only if it is not true any
    more."""
    subtask = find(plan, key)
    if subtask.state == State.DONE and is_gone(plan, subtask) and plan.state != State.ABANDONED:
        demand_confirmed(plan)
        if plan.is_live or plan.run == Run.PAUSED:
            raise Conflict(gettext("The plan is running: stop it first."), plan.version)
    else:
        demand_open(plan)
        demand_confirmed(plan)
        subtask = find_todo(plan, key)
    earlier = [each for each in ready(plan) if (each.position or 0) < (subtask.position or 0)]
    if earlier:
        sentence = gettext("{key} comes later: the next one is {next}.")
        raise Conflict(sentence.format(key=key, next=earlier[0].key))
    return subtask


def is_gone(plan: Plan, subtask: Subtask) -> bool:
    """No longer true, or undone by a person: what it was to bring about is not there."""
    known = verify(plan, [subtask], results_in([plan.pk]))
    return known[subtask.pk].word in GONE


def reopen(plan: Plan, subtask: Subtask) -> None:
    """What is not true any more is to do again, and with it the plan."""
    subtask.state, subtask.finished_at = State.TODO, None
    subtask.save(update_fields=["state", "finished_at"])
    plan.state, plan.finished_at = State.IN_PROGRESS, None
    plan.save(update_fields=["state", "finished_at", "updated_at"])
