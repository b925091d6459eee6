"""Asking for a plan, making it, and which one of a conversation's plans is in the drawer.

An asking belongs to the message and the turn it began with: only turns of that asking may answer
it.
"""

from __future__ import annotations

from agents import events, persistence
from agents.actions import add_message
from agents.actors import Actor
from agents.config.store import read_agent
from agents.errors import Conflict, Invalid, NotFound
from agents.models import Conversation, Message, Turn
from agents.stored_text import gettext, gettext_lazy
from plans.actions.close import cancel_plan, stop_planning
from plans.actions.run import set_aside
from plans.actions.verb import demand_in_view, demand_no_child, verb
from plans.actions.versions import new_subtasks
from plans.check_permission import demand_runnable
from plans.models import PLAN_TEXT, SUBTASK_FIELDS, ActivePlan, Plan, State, Subtask
from plans.queries import (
    AGENT,
    checklist,
    lock_active_plan,
    record_event,
    redraw_card,
    save_version,
    snapshot_text,
)
from plans.schemas import NOTHING, PlanDraft, SubtaskDraft
from plans.search import index_plan

SUPERSEDED = "superseded"
ANOTHER_RUNS = gettext_lazy("A plan is running in this conversation: stop or pause it first.")
MOST_PLANS = 3  # that one turn may make, each in the place of the one before


@verb("ask_for_plan")
def request_plan(
    conversation: Conversation, goal: str, by: Actor, message: Message, *, beside: bool = False
) -> None:
    """From now on, until a plan exists, `message` and what follows it may only plan.

    The goal is kept word for word. An earlier asking is given up, and says so. An older open plan
    stays active until the new one exists; its run rests meanwhile, unless the new plan is to stand
    `beside` it.
    """
    if not goal.strip():
        raise Invalid(gettext("Say what you want after /plan."))
    pointer = lock_active_plan(conversation)
    if pointer.asked:
        earlier = pointer.asked_message
        stop_planning(conversation, earlier.turn_id if earlier else None, by, message.turn_id)
        first, *more = pointer.asked_goal.strip().splitlines()
        short = f"{first[:80]}…" if more or len(first) > 80 else first
        words = gettext("“{goal}” is not planned any more: another plan was asked for.")
        add_message(conversation, Message.Kind.NOTICE, words.format(goal=short))
    if not beside and pointer.plan is not None:
        set_aside(pointer.plan, by)
    pointer.asked_goal, pointer.asked_message = goal, message
    pointer.save()
    if beside:
        message.meta = {**message.meta, "beside": True}
        message.save(update_fields=["meta"])
    if message.turn is not None:
        join(message.turn, message.pk)
    events.record(conversation, "plan.asked", "", by, goal=goal[:500])


def join(turn: Turn, asking: int) -> None:
    """The turn is about this request (its message's id), so it may answer it."""
    turn.checkpoint = {**turn.checkpoint, "asked": asking}
    turn.save(update_fields=["checkpoint"])


def bind(turn: Turn, plan_id: int) -> None:
    """The turn answers words about this plan: it changes that one or none."""
    turn.checkpoint = {**turn.checkpoint, "about": plan_id}
    turn.save(update_fields=["checkpoint"])


@verb("create_plan")
def create_plan(
    conversation: Conversation,
    draft: PlanDraft,
    by: Actor,
    turn: Turn | None = None,
    goal: str = "",
    *,
    beside: bool = False,
) -> Plan:
    """The conversation's active plan from now on, at version 1, waiting for a person's yes.

    The turn's own asking is answered by it. An older open plan that was never approved is
    abandoned (superseded); one that was approved, or has the new one `beside` it, stays open and
    inactive. While it runs, a plan beside it is the inactive one.
    """
    demand_substance(draft)
    demand_no_child(conversation, by)
    pointer = lock_active_plan(conversation)
    asked = request_of(turn, pointer)
    beside = beside or bool(asked and asked.meta.get("beside"))
    over = thrown_away_by(turn)
    goal = pointer.asked_goal if asked else over.goal if over else goal
    before = pointer.plan
    plan = insert_plan(conversation, draft, goal, over or make_room(before, by, beside))
    if any(each.checks for each in draft.subtasks):
        demand_runnable(plan, {"subtasks": []}, snapshot_text(plan))
    save_version(plan, by, "")
    index_plan(plan)
    if not (beside and before is not None and before.is_live):
        pointer.plan = plan
    if asked is not None:
        pointer.asked_goal, pointer.asked_message = "", None
    pointer.save()
    if turn is not None:
        persistence.checkpoint(turn, made=plan.pk)
    meta: dict[str, object] = {"plan": plan.pk}
    plan.card = add_message(conversation, Message.Kind.PLAN, plan.title, "assistant", turn, meta)
    plan.save(update_fields=["card"])
    redraw_card(before, record_event(plan, "plan.created", by, version=1))
    return plan


def demand_substance(draft: PlanDraft) -> None:
    """A text, a list of things to do, or both."""
    if not draft.subtasks and not draft.content:
        raise Invalid(str(NOTHING))


def request_of(turn: Turn | None, pointer: ActivePlan) -> Message | None:
    """What the turn was asked to plan; refused when that is not asked for any more."""
    # Read again under the lock: a person may have cancelled between the call and its effect.
    if turn is not None and Turn.objects.filter(pk=turn.pk, stop_requested=True).exists():
        raise Conflict(gettext("The planning was cancelled: no plan was made."))
    asking = turn.checkpoint.get("asked") if turn is not None else None
    if turn is None or asking is None or turn.checkpoint.get("made"):
        return None
    if pointer.asked and asking == pointer.asked_message_id:
        return pointer.asked_message
    if turn.checkpoint.get("gated"):
        raise Conflict(gettext("This plan is not asked for any more: no plan was made."))
    return None  # another turn has answered it: this one is like any other


@verb("throw_away_plan")
def throw_away(plan: Plan, turn: Turn, outcome: str = "") -> None:
    """An agent gives up the plan, to make another one or none, and may say what came of it. The
    last that it may make stays."""
    if turn.messages.filter(kind=Message.Kind.PLAN).count() >= MOST_PLANS:
        raise Conflict(
            gettext(
                "This reply has made {most} plans already, so the last one stays. Change it "
                "with revise_current_plan, or end your reply: the person decides."
            ).format(most=MOST_PLANS)
        )
    cancel_plan(plan, AGENT, outcome=outcome)
    if turn.checkpoint.get("gated"):  # it was never approved: made anew, it is replaced
        persistence.save_checkpoint(turn, threw_away=plan.pk)


def thrown_away_by(turn: Turn | None) -> Plan | None:
    """The plan that this turn has abandoned to make it anew: it was superseded, then."""
    thrown = turn.checkpoint.get("threw_away") if turn is not None else None
    old = Plan.objects.filter(pk=thrown, state=State.ABANDONED).first() if thrown else None
    if old is None:
        return None
    old.subtasks.filter(position__isnull=False, reason=old.reason).update(reason=SUPERSEDED)
    old.reason = SUPERSEDED
    old.save(update_fields=["reason"])
    record_event(old, "plan.updated", AGENT, state=old.state, reason=SUPERSEDED)
    return old


def make_room(old: Plan | None, by: Actor, beside: bool) -> Plan | None:
    """The plan that the new one replaces, abandoned by that; one that was approved is kept."""
    if old is None or not old.is_open or beside:
        return None
    if old.approved_version is not None:
        set_aside(old, by)
        return None
    return cancel_plan(old, by, reason=SUPERSEDED)


def insert_plan(
    conversation: Conversation, draft: PlanDraft, goal: str, replaces: Plan | None
) -> Plan:
    """Its row, with the budget that agent.json sets for each plan, and those of its subtasks."""
    try:
        limits = read_agent(conversation.agent_id).file.budget.model_dump()
    except NotFound:
        limits = {}
    plan = Plan.objects.create(
        conversation=conversation,
        goal=goal,
        **{field: getattr(draft, field) for field in PLAN_TEXT},
        replaces=replaces,
        budget={name: limit for name, limit in limits.items() if limit is not None},
    )
    subtasks = new_subtasks(plan, draft.subtasks)
    for position, subtask in enumerate(subtasks, 1):
        subtask.position = position
    Subtask.objects.bulk_create(subtasks)
    return plan


@verb("activate", no_child=True)
def activate_plan(plan: Plan, by: Actor) -> Plan:
    """Put this plan into the drawer; the one that was there stays open. Not while one runs."""
    pointer = lock_active_plan(plan.conversation)
    if pointer.plan_id == plan.pk:
        return plan
    demand_in_view(plan)
    if pointer.plan is not None and pointer.plan.is_live:
        raise Conflict(str(ANOTHER_RUNS))
    before, pointer.plan = pointer.plan, plan
    pointer.save()
    redraw_card(before, record_event(plan, "plan.activated", by))
    return plan


@verb("use_again", no_child=True)
def use_again(plan: Plan, by: Actor) -> Plan:
    """A new plan with the same text, waiting for a new yes. All others stay as they are."""
    rows = checklist(plan).values(*SUBTASK_FIELDS)
    draft = PlanDraft.model_construct(
        **{field: getattr(plan, field) for field in PLAN_TEXT},
        subtasks=[SubtaskDraft.model_validate(row) for row in rows],
    )
    return create_plan(plan.conversation, draft, by, goal=plan.goal, beside=True)
