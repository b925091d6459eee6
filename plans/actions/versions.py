"""A change of text makes version n+1; with it the approval is void.

What has started keeps its place in the checklist whatever is changed around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from django.db.models import Max

from agents import persistence
from agents.actors import Actor
from agents.config.store import read_agent
from agents.engine.lifecycle import request_stop
from agents.errors import Conflict, Invalid, NotFound
from agents.models import Turn
from agents.stored_text import beginning, gettext
from plans.check_permission import demand_runnable, tool_of
from plans.check_text import CheckJson, weakens, with_keys, wording
from plans.in_force import is_in_force
from plans.models import PLAN_TEXT, SUBTASK_FIELDS, Attempt, Plan, Run, State, Subtask
from plans.queries import (
    AGENT,
    SYSTEM,
    assign_subtasks,
    checklist,
    new_keys,
    record_event,
    refresh_state,
    save_run,
    save_version,
    snapshot_text,
)
from plans.schemas import (
    NOTHING,
    PlanChange,
    Revision,
    SubtaskChange,
    SubtaskText,
    why_too_few,
    why_too_many,
)
from plans.search import index_plan

Text = dict[str, Any]  # as snapshot_text has it
ASKING = (Plan.PauseReason.QUESTION, Plan.PauseReason.APPROVAL)


class Change:
    """What a change of text is about, filled in while it is made."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.explanation = ""

    def set_text(self, given: PlanChange | Revision) -> None:
        """The plan's own text, as far as it is given; None leaves a field as it is."""
        for field in PLAN_TEXT:
            if (value := getattr(given, field)) is not None:
                setattr(self.plan, field, value)
        self.plan.save(update_fields=PLAN_TEXT)


@contextmanager
def changed_text(plan: Plan, by: Actor, turn: Turn | None = None) -> Iterator[Change]:
    """The locked plan's text is free to change; at the end there is one new version, of which the
    `turn` that makes it knows.

    A change that changes nothing makes no version and asks for no new yes.
    """
    before = snapshot_text(plan)
    change = Change(plan)
    yield change
    after = snapshot_text(plan)
    if not after["content"] and not after["subtasks"]:
        raise Invalid(str(NOTHING))
    if after["subtasks"] and not before["subtasks"] and plan.approved_version is not None:
        raise Conflict(gettext("A document in force has no subtasks: make a plan beside it."))
    if after != before:
        demand_runnable(plan, before, after)
        checks_ask = takes_checks_away(before, after) or adds_what_acts(before, after)
        save_next_version(plan, by, change.explanation, checks_ask=checks_ask)
        note_version(plan, turn)
    stop_given_up(plan, by)


def note_version(plan: Plan, turn: Turn | None) -> None:
    if turn is not None:
        made = dict(turn.checkpoint.get("versions") or {})
        made[str(plan.pk)] = [*made.get(str(plan.pk), []), plan.version]
        persistence.checkpoint(turn, versions=made)


def stop_given_up(plan: Plan, by: Actor) -> None:
    """An attempt whose subtask is another one now ends here; the run goes on, or rests as before.

    What it had asked goes with it.
    """
    given_up = Attempt.objects.filter(subtask__plan=plan).exclude(subtask__state=State.IN_PROGRESS)
    turns = Turn.objects.filter(attempt__in=given_up, state__in=Turn.OPEN_STATES)
    if not turns:
        return
    rests = plan.run in (Run.PAUSED, Run.PAUSING) and plan.pause_reason not in ASKING
    if rests:
        save_run(plan, Run.PAUSING, plan.pause_reason)
    elif plan.run != Run.STOPPING:
        save_run(plan, Run.QUEUED)
    for turn in turns:
        request_stop(turn, by)
    plan.refresh_from_db()


def takes_checks_away(before: Text, after: Text) -> bool:
    """Whether a check is gone, alone or with its subtask, or gave way to another one."""
    now = {each["key"]: each.get("checks") or [] for each in after["subtasks"]}
    return any(
        weakens(each.get("checks") or [], now.get(each["key"], [])) for each in before["subtasks"]
    )


def adds_what_acts(before: Text, after: Text) -> bool:
    """Whether a subtask has a check that runs, fetches or calls something and was not its own."""
    known = {
        each["key"]: {wording(check) for check in each.get("checks") or []}
        for each in before["subtasks"]
    }
    return any(
        tool_of(check) and wording(check) not in known.get(each["key"], ())
        for each in after["subtasks"]
        for check in each.get("checks") or []
    )


def save_next_version(plan: Plan, by: Actor, explanation: str, *, checks_ask: bool = False) -> None:
    """The approval moves on to it where plan.confirm of agent.json lets it, and there was one.

    `create` trusts the agent's revisions of a plan that was approved once, `never` everybody's;
    neither an agent that takes a check away, by which its own work is judged, or adds one that the
    system would carry out for it: those are its `checks_ask`. Nobody's word but a yes puts a
    document in force.
    """
    try:
        confirm = read_agent(plan.conversation.agent_id).file.plan.confirm
    except NotFound:
        confirm = "always"
    is_trusted = confirm == "never" or (confirm == "create" and by is AGENT)
    asks = (checks_ask and by is AGENT) or is_in_force(plan)
    keeps_approval = plan.is_confirmed and is_trusted and not asks
    newest = plan.versions.aggregate(Max("version"))["version__max"] or 0
    plan.version = max(newest, plan.version) + 1  # of a document the newest may have been given up
    if keeps_approval:
        plan.approved_version = plan.version
    elif not plan.is_open:  # a document in force, of which another version waits now
        plan.state, plan.finished_at = State.TODO, None
    fields = ["version", "approved_version", "state", "finished_at", "updated_at"]
    plan.save(update_fields=fields)
    save_version(plan, by, explanation)
    index_plan(plan)
    assign_subtasks(plan)
    refresh_state(plan)
    if not keeps_approval and plan.run in (Run.QUEUED, Run.RUNNING):
        save_run(plan, Run.PAUSING, Plan.PauseReason.CONFIRM)
    record_event(
        plan, "plan.updated", by, version=plan.version, explanation=beginning(explanation, 500)
    )
    if keeps_approval:
        record_event(plan, "plan.approved", SYSTEM, version=plan.version, because="plan.confirm")


# The checklist


def find(plan: Plan, key: str) -> Subtask:
    """A subtask of the checklist. Raises NotFound where there is none of that key."""
    subtask = checklist(plan).filter(key=key).first()
    if subtask is None:
        raise NotFound(gettext("There is no subtask {key} in this plan.").format(key=key[:20]))
    return subtask


def find_unstarted(plan: Plan, key: str) -> Subtask:
    subtask = find(plan, key)
    if subtask.state != State.TODO:
        raise Conflict(gettext("Only subtasks that have not started can change."), plan.version)
    return subtask


def unstarted(plan: Plan) -> list[Subtask]:
    return list(checklist(plan).filter(state=State.TODO))


def new_subtasks(plan: Plan, drafts: Sequence[SubtaskText | SubtaskChange]) -> list[Subtask]:
    """Rows with fresh keys, not saved yet: order_subtasks gives them their place."""
    subtasks: list[Subtask] = []
    for key, draft in zip(new_keys(plan, len(drafts)), drafts, strict=True):
        if not draft.name:
            raise Invalid(gettext("Give each new subtask a name."))
        text = draft.model_dump(include=set(SUBTASK_FIELDS), exclude_none=True)
        text["checks"], made = with_keys(text.get("checks", []), 0)
        subtasks.append(Subtask(plan=plan, key=key, checks_made=made, **text))
    return subtasks


def rewrite(subtask: Subtask, changes: dict[str, object]) -> bool:
    """Set the fields of its text that are given; True if anything is different now."""
    before = [getattr(subtask, field) for field in SUBTASK_FIELDS]
    for field in SUBTASK_FIELDS:
        if (value := changes.get(field)) is not None:
            if field == "checks":
                wanted = cast("list[CheckJson]", value)
                value, subtask.checks_made = with_keys(wanted, subtask.checks_made)
            setattr(subtask, field, value)
    if not subtask.name:
        raise Invalid(gettext("Give the subtask a name."))
    changed = before != [getattr(subtask, field) for field in SUBTASK_FIELDS]
    if changed and subtask.pk:
        subtask.save(update_fields=[*SUBTASK_FIELDS, "checks_made"])
    return changed


def order_subtasks(plan: Plan, order: Sequence[Subtask], reason: str = "removed") -> None:
    """Give the unstarted subtasks in `order` the places between those that have started.

    Unstarted ones that are not in `order` leave the checklist, for that reason; they live on in
    versions and timeline. Positions become 1..n.
    """
    todo = iter(order)
    after: list[Subtask] = []
    before = list(checklist(plan))
    for subtask in before:
        if subtask.state != State.TODO:
            after.append(subtask)
        elif (following := next(todo, None)) is not None:
            after.append(following)
    after.extend(todo)
    if before and (why := why_too_few(len(after))):
        raise Invalid(why)
    if why := why_too_many(len(after)):
        raise Invalid(why)
    kept = {subtask.pk for subtask in after if subtask.pk}
    for subtask in before:
        if subtask.pk not in kept:
            subtask.position, subtask.state, subtask.reason = None, State.ABANDONED, reason
            subtask.save(update_fields=["position", "state", "reason"])
    for position, subtask in enumerate(after, 1):
        if subtask.pk is None or subtask.position != position:
            subtask.position = position
            subtask.save()
