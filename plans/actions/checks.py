"""What a person does about checks: adds, changes and takes them away, one at a time."""

from __future__ import annotations

from agents.actors import Actor
from agents.errors import Conflict, Invalid, NotFound
from agents.stored_text import gettext
from plans.actions.verb import Demands, text_verb, verb
from plans.actions.versions import changed_text, find, find_unstarted, rewrite
from plans.check_permission import demand_runnable
from plans.check_text import MOST_CHECKS, Check, with_keys
from plans.expected_version import NOT_CHANGED
from plans.models import Plan, State, Subtask
from plans.queries import record_event, save_version, snapshot_text


@verb("save_check")
def save_check(plan: Plan, key: str, check: Check, by: Actor, version: int | None = None) -> Plan:
    """Add a check to a subtask, or put it in the place of the one that has its key.

    What is done takes further checks too: what was approved of it stays as it is.
    """
    subtask = find(plan, key)
    is_done = subtask.state == State.DONE
    Demands(open=not is_done, no_child=True, version=NOT_CHANGED).check(plan, by, version)
    if is_done:
        return add_to_done(plan, subtask, check, by)
    with changed_text(plan, by) as change:
        subtask = find_unstarted(plan, key)
        others = {each["key"]: each for each in subtask.checks}
        wanted = check.model_dump()
        if check.key is not None and check.key not in others:
            raise NotFound(no_check(key, check.key))
        others[check.key or ""] = wanted
        demand_few(len(others))
        rewrite(subtask, {"checks": list(others.values())})
        change.explanation = gettext("Changed the checks of “{name}”").format(name=subtask.name)
    return plan


@text_verb("remove_check")
def remove_check(
    plan: Plan, key: str, check_key: str, by: Actor, version: int | None = None
) -> Plan:
    """Take a check away from a subtask that has not started."""
    with changed_text(plan, by) as change:
        subtask = find_unstarted(plan, key)
        left = [each for each in subtask.checks if each["key"] != check_key]
        if len(left) == len(subtask.checks):
            raise NotFound(no_check(key, check_key))
        rewrite(subtask, {"checks": left})
        change.explanation = gettext("Removed a check of “{name}”").format(name=subtask.name)
    return plan


def no_check(key: str, check_key: str) -> str:
    sentence = gettext("{key} has no check {check}.")
    return sentence.format(key=key, check=check_key[:20])


def demand_few(count: int) -> None:
    if count > MOST_CHECKS:
        raise Invalid(gettext("A subtask has at most {most} checks.").format(most=MOST_CHECKS))


def add_to_done(plan: Plan, subtask: Subtask, check: Check, by: Actor) -> Plan:
    """A person's own check of what is done: a version like any other, and their yes with it."""
    if check.key is not None:
        sentence = gettext("What was approved of {key} stays as it is.")
        raise Conflict(sentence.format(key=subtask.key))
    demand_few(len(subtask.checks) + 1)
    before = snapshot_text(plan)
    wanted = [*subtask.checks, check.model_dump()]
    subtask.checks, subtask.checks_made = with_keys(wanted, subtask.checks_made)
    subtask.save(update_fields=["checks", "checks_made"])
    demand_runnable(plan, before, snapshot_text(plan))
    was_confirmed = plan.is_confirmed
    plan.version += 1
    if was_confirmed:
        if plan.read_version == plan.approved_version:
            plan.read_version = plan.version
        plan.approved_version = plan.version
    plan.save(update_fields=["version", "approved_version", "read_version", "updated_at"])
    explanation = gettext("Added a check to “{name}”").format(name=subtask.name)
    save_version(plan, by, explanation)
    record_event(plan, "plan.updated", by, version=plan.version, explanation=explanation)
    return plan
