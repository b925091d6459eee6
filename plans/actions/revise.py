"""A model changes the text by a patch, and replans the rest in place where a person asks for that.

What a patch does not mention keeps its place; what is done stays word for word.
"""

from __future__ import annotations

from agents.actions import open_turns, start_turn
from agents.actors import Actor
from agents.errors import Conflict, Invalid
from agents.models import Lane, Turn
from agents.stored_text import gettext, sentences
from plans.actions.comments import note_answers
from plans.actions.create import bind
from plans.actions.run import stop_plan
from plans.actions.verb import text_verb, verb
from plans.actions.versions import (
    changed_text,
    find,
    new_subtasks,
    order_subtasks,
    rewrite,
    unstarted,
)
from plans.expected_version import NOT_CHANGED, NOT_SENT
from plans.models import OPEN, Plan, State, Subtask
from plans.queries import checklist, record_event
from plans.schemas import Revision, SubtaskRevision


@text_verb("revise_plan")
def revise_plan(plan: Plan, revision: Revision, by: Actor, turn: Turn | None = None) -> Plan:
    """Change, add, remove, reorder what has not started; only an explicit removal removes.

    Rewording or removing the running subtask stops its attempt, which does not count. With the
    `turn` that does it, the new version answers the comments which that one was sent.
    """
    with changed_text(plan, by, turn) as change:
        before = plan.version
        change.set_text(revision)
        if revision.subtasks:
            order_subtasks(plan, revised(plan, revision.subtasks))
        change.explanation = revision.explanation
    if turn is not None and plan.version > before:
        note_answers(plan, turn, revision.answered)
    return plan


def revised(plan: Plan, changes: list[SubtaskRevision]) -> list[Subtask]:
    """The unstarted subtasks in their new order.

    Those that are mentioned change places among themselves, in the order they are mentioned in. A
    new one follows the one mentioned before it; without one, it goes to the end.
    """
    known = {change.key: find(plan, change.key) for change in changes if change.key}
    for change in changes:
        if not change.key:
            continue
        subtask = known[change.key]
        if subtask.is_settled:
            sentence = gettext("{key} is done and cannot change any more.")
            if subtask.state == State.ABANDONED:
                sentence = gettext("{key} is abandoned and cannot change any more.")
            raise Conflict(sentence.format(key=subtask.key), plan.version)
        changed = rewrite(subtask, change.model_dump(include=change.model_fields_set))
        if subtask.state == State.IN_PROGRESS and (changed or change.remove):
            give_up_attempt(subtask)
    removed = {change.key for change in changes if change.remove}
    kept = {each.key: each for each in unstarted(plan) if each.key not in removed}
    mentioned = dict.fromkeys(each.key for each in changes if each.key and each.key in kept)
    moving = iter([kept[key] for key in mentioned])
    order = [next(moving) if key in mentioned else each for key, each in kept.items()]

    fresh = iter(new_subtasks(plan, [change for change in changes if not change.key]))
    previous: str | None = None
    for change in changes:
        if change.key:
            previous = change.key
            continue
        subtask = next(fresh)
        keys = [each.key for each in order]
        order.insert(keys.index(previous) + 1 if previous in keys else len(order), subtask)
        previous = subtask.key
    return order


def give_up_attempt(subtask: Subtask) -> None:
    """The running subtask is another one now: `changed_text` ends its attempt, not counted."""
    subtask.state, subtask.started_at = State.TODO, None
    subtask.save(update_fields=["state", "started_at"])


@verb("ask_for_changes", open=True, text=True, active=True, version=NOT_SENT)
def ask_for_changes(plan: Plan, text: str, by: Actor, version: int | None = None) -> Turn:
    """Ask the agent for a next version, which waits for a yes; beside a document in force that is
    a message like any other."""
    _, turn = start_turn(plan.conversation, text, by, "plan" if plan.is_open else "chat")
    bind(turn, plan.pk)
    return turn


@verb("replan", open=True, no_child=True, active=True, version=NOT_CHANGED)
def replan_rest(
    plan: Plan, by: Actor, from_key: str | None = None, hint: str = "", version: int | None = None
) -> Turn:
    """Ask the planner for another way from a subtask on (the first open one without a key).

    A run stops first. Nothing is superseded before the new subtasks are there.
    """
    open_ones = checklist(plan).filter(state__in=OPEN)
    start = find(plan, from_key) if from_key else open_ones.first()
    if start is None or start.is_settled:
        raise Conflict(gettext("What is done stays as it is: there is nothing left to replan."))
    # Two at once would each put their subtasks where the other's are.
    if any(turn.checkpoint.get("replan") for turn in open_turns(plan.conversation, Lane.CHAT)):
        raise Conflict(gettext("It is being replanned already."), plan.version)
    if plan.is_live:
        plan = stop_plan(plan, by)
    asked = gettext("Replan the rest, from subtask {number} on.").format(number=start.position)
    text = sentences(asked, hint)
    meta: dict[str, object] = {"command": "replan", "from": start.key}
    _, turn = start_turn(plan.conversation, text, by, "plan", meta=meta)
    turn.checkpoint = {"gated": True, "replan": start.key, "replans": plan.pk}
    turn.save(update_fields=["checkpoint"])
    record_event(plan, "plan.replanning", by, subtask=start.key, hint=hint[:500])
    return turn


@text_verb("replace_rest")
def replace_rest(
    plan: Plan, from_key: str, revision: Revision, by: Actor, turn: Turn | None = None
) -> Plan:
    """Put the new subtasks where the open ones from `from_key` on were.

    Those the revision names by key stay, with its changes; the others are superseded. Keys are
    never reused.
    """
    with changed_text(plan, by, turn) as change:
        change.set_text(revision)
        start = plan.subtasks.filter(key=from_key).first()
        first = start.position if start and start.position else 1
        rest = list(checklist(plan).filter(state__in=OPEN, position__gte=first))
        for subtask in rest:
            if subtask.state == State.IN_PROGRESS:
                give_up_attempt(subtask)
        keys = {subtask.key for subtask in rest}
        before = [each for each in unstarted(plan) if each.key not in keys]
        order = [*before, *replacements(plan, rest, revision)]
        order_subtasks(plan, order, reason="superseded")
        change.explanation = revision.explanation or gettext("Replanned")
    return plan


def replacements(plan: Plan, rest: list[Subtask], revision: Revision) -> list[Subtask]:
    """What the revision puts in the place of the rest; one it names twice has one place."""
    by_key = {subtask.key: subtask for subtask in rest}
    changes = [change for change in revision.subtasks if not change.remove]
    new = [change for change in changes if change.key not in by_key]
    fresh = iter(new_subtasks(plan, new))
    named = [by_key[each.key] if each.key in by_key else next(fresh) for each in changes]
    order = list({subtask.key: subtask for subtask in named}.values())
    if not order:
        raise Invalid(gettext("Give the subtasks that take the place of the open ones."))
    for change in changes:
        if change.key in by_key:
            rewrite(by_key[change.key], change.model_dump(include=change.model_fields_set))
    return order
