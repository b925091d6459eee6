"""Checks of what is done already: run again, or looked at by a person in their place."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from django.db import transaction
from django.db.models import F, Q
from django.dispatch import receiver

from agents.actions import queue_turn
from agents.actors import PERSON, Actor, kind_of, name_of
from agents.changes.undo import files_restored
from agents.errors import Conflict, Forbidden, NotFound, Refused
from agents.models import Lane, ToolCall, Turn, TurnState
from agents.models.turn import Checkpoint
from agents.stored_text import gettext
from agents.tools import permissions
from plans.actions.checks import no_check
from plans.actions.run import start_run
from plans.actions.verb import demand_confirmed, verb
from plans.actions.versions import find
from plans.baselines import take
from plans.check_results import announce, last_not_run
from plans.check_text import DETERMINISTIC
from plans.expected_version import NOT_CHANGED
from plans.models import CheckResult, Plan, Run, State, Subtask
from plans.queries import (
    SYSTEM,
    check_turns_of,
    checklist,
    lock_plan,
    plan_of_turn,
    record_event,
)
from plans.tracing import operation
from plans.verification import Word, results_in, undone_in, verify


@verb("check_plan", no_child=True)
def check_plan(
    plan: Plan, by: Actor, key: str = "", check: str = "", *, deterministic: bool = False
) -> Turn:
    """Run the checks of what is done again: all, those of a subtask, or one of them.

    `deterministic` leaves reviews out. It starts and reopens nothing: what does not hold any more
    is marked.
    """
    if check_turns_of(plan).filter(state__in=Turn.OPEN_STATES).exists():
        raise Conflict(gettext("The checks of this plan are being run already."))
    done = [find(plan, key)] if key else list(checklist(plan))
    undone = undone_in(plan, done)
    if key and undone:
        sentence = gettext("{key} is undone: its checks rest until its changes are put back.")
        raise Conflict(sentence.format(key=key))
    work = work_for(plan, key, check, deterministic=deterministic, resting=undone)
    return queue_checks(plan, by, work)


def work_for(
    plan: Plan,
    key: str = "",
    check: str = "",
    *,
    deterministic: bool,
    resting: Collection[int] = (),
) -> Checkpoint:
    """What a turn that runs these checks goes by. Raises Refused where there is none to run."""
    done = [find(plan, key)] if key else list(checklist(plan).filter(state=State.DONE))
    if key and done[0].state != State.DONE:
        sentence = gettext("{key} is not done: its checks run when it is.")
        raise Conflict(sentence.format(key=key))
    kinds = DETERMINISTIC if deterministic else (*DETERMINISTIC, "review")
    wanted = [
        each.key
        for each in done
        if each.pk not in resting and any(one["kind"] in kinds for one in of_name(each, check))
    ]
    if check and not of_name(done[0], check):
        raise NotFound(no_check(key, check))
    if not wanted:
        raise Conflict(gettext("There is no check to run."))
    work: Checkpoint = {"checks_of": wanted}
    if check:
        work["check"] = check
    if deterministic:
        work["deterministic"] = True
    return work


def queue_checks(plan: Plan, by: Actor, work: Checkpoint) -> Turn:
    turn = queue_turn(plan.conversation, "checks", Lane.CHECK, checkpoint=work, plan=plan.pk)
    record_event(plan, "plan.checking", by, subtasks=work["checks_of"])
    return turn


def demand_person(by: Actor) -> None:
    if kind_of(by) != PERSON:
        raise Forbidden(gettext("Only a person has looked, or takes a file as it is."))


def of_name(subtask: Subtask, check: str) -> list[dict[str, object]]:
    return [each for each in subtask.checks if not check or each["key"] == check]


@verb("look_at", no_child=True, version=NOT_CHANGED)
def look_at(plan: Plan, key: str, by: Actor, version: int | None = None, check: str = "") -> Plan:
    """A person has looked: it counts as checked, with their name.

    Where the run rests because a check could not be run, they answer for that one, and it goes on;
    they name it, so that they answer for no other.
    """
    demand_person(by)
    subtask = find(plan, key)
    if subtask.state == State.DONE:
        if check:
            sentence = gettext("{key} is done already: nothing waits for its check {check}.")
            raise Conflict(sentence.format(key=key, check=check[:20]))
        result = CheckResult.objects.create(subtask=subtask, passed=True, by=name_of(by))
        announce(plan, result, by)
        return plan
    left = last_not_run(subtask)
    rests = plan.run == Run.PAUSED and plan.pause_reason == Plan.PauseReason.CHECK
    if subtask.state != State.IN_PROGRESS or left is None or not rests:
        sentence = gettext("{key} is not done yet: there is nothing to look at.")
        raise Conflict(sentence.format(key=key))
    if check != left.key:
        sentence = gettext(
            "The run rests for the check {check} of {key}: name that one. Nothing was changed."
        )
        raise Conflict(sentence.format(key=key, check=left.key))
    demand_confirmed(plan)
    result = CheckResult.objects.create(
        subtask=subtask,
        attempt=left.attempt,
        turn=left.turn,
        call=left.call,
        key=left.key,
        asked=left.asked,
        passed=True,
        by=name_of(by),
    )
    announce(plan, result, by)
    start_run(plan, by)
    return plan


@verb("take_back", no_child=True, version=NOT_CHANGED)
def take_back(plan: Plan, key: str, by: Actor, version: int | None = None) -> Plan:
    """A person has not looked after all: it is what its checks say, or by word."""
    demand_person(by)
    subtask = find(plan, key)
    known = verify(plan, [subtask], results_in([plan.pk])).get(subtask.pk)
    if known is None or known.word != Word.LOOKED:
        sentence = gettext("{key} does not count as looked at: there is nothing to take back.")
        raise Conflict(sentence.format(key=key))
    announce(plan, CheckResult.objects.create(subtask=subtask, by=name_of(by)), by)
    return plan


@verb("take_as_it_is", no_child=True, version=NOT_CHANGED)
def take_as_it_is(
    plan: Plan, key: str, check_key: str, by: Actor, version: int | None = None
) -> Plan:
    """A person's word that a file is to stay as it is now: by that its checks measure it from here
    on, in every subtask. What is done is checked again."""
    demand_person(by)
    subtask = find(plan, key)
    wanted = [each for each in subtask.checks if each["key"] == check_key]
    if not wanted:
        raise NotFound(no_check(key, check_key))
    if not wanted[0].get("unchanged"):
        raise Conflict(gettext("Only a file that is to be unchanged can be taken as it is."))
    if plan.is_live:
        raise Conflict(gettext("The plan is running: stop it first."), plan.version)
    take(plan, wanted[0]["path"], permissions.of_conversation(plan.conversation).folder)
    record_event(plan, "check.taken", by, subtask=key, check=check_key, words=wanted[0]["path"])
    if subtask.state == State.DONE:
        with suppress(Conflict):  # they are being run already
            check_plan(plan, by, key, check_key)
    return plan


def settle_checks(turn: Turn) -> None:
    """The turn that looked is over, or waits for a person."""
    plan = plan_of_turn(turn)
    if plan is not None:
        waits = turn.state == TurnState.WAITING
        record_event(plan, "plan.updated", **({"waiting": "check"} if waits else {"checked": True}))


@receiver(files_restored)
@operation("check_folder")
def check_folder(root: str, **_: object) -> None:
    """After files were put back: whatever was done in this folder and has checks that need no model
    is looked at again; so is what a finish that is not settled yet has found. Not what was deleted,
    nor the plans of agents that were called, whose checks nobody has read."""
    forget_findings(root)
    done = Subtask.objects.filter(state=State.DONE, position__isnull=False).exclude(checks=[])
    done = done.filter(plan__conversation__deleted_at=None, plan__conversation__parent_call=None)
    done = done.filter(attempts__turn__recording__root=root)
    for plan in Plan.objects.filter(pk__in=done.values("plan")).order_by("pk"):
        with suppress(Refused):  # nothing left to look at
            check_again(plan)


def forget_findings(root: str) -> None:
    """Of finishes whose turns rest, or wait in the queue: none works while files are put back."""
    rest = CheckResult.objects.filter(attempt__turn__recording__root=root, passed__isnull=False)
    rest = rest.filter(attempt__turn__state__in=Turn.OPEN_STATES, turn=F("attempt__turn"))
    rest = rest.filter(Q(call=None) | Q(call__state=ToolCall.State.RUNNING))
    rest.update(passed=None, said=gettext("Files were put back since: it is looked at again."))


@transaction.atomic
def check_again(plan: Plan) -> None:
    """The plan's checks that need no model, after its files have changed.

    A round that has begun may have looked before, and says what was: another one follows it.
    """
    plan = lock_plan(plan)
    work = work_for(plan, deterministic=True)
    unbegun = check_turns_of(plan).filter(state=TurnState.QUEUED, started_at=None)
    if not any(covers(turn.checkpoint, work) for turn in unbegun):
        queue_checks(plan, SYSTEM, work)


def covers(queued: Checkpoint, work: Checkpoint) -> bool:
    """Whether the one turn will look at all that the other one would."""
    return "check" not in queued and set(work["checks_of"]) <= set(queued["checks_of"])
