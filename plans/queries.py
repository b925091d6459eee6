"""Reading and locking a plan's rows, and the few writes that every verb shares."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from agents import events
from agents.actors import AGENT as AGENT
from agents.actors import SYSTEM as SYSTEM
from agents.actors import Actor, kind_of, name_of
from agents.conversations import conversation_by_key
from agents.db import clock
from agents.engine.usage import is_at_work
from agents.errors import Invalid, NotFound
from agents.events import lock_conversation
from agents.models import Conversation, Event, Lane, Message, ToolCall, Turn, TurnState
from agents.persistence import change_of_message
from agents.statements import one_of, one_of_open, prepared
from agents.stored_text import gettext, gettext_lazy
from plans.in_force import is_in_force
from plans.models import (
    OPEN,
    PLAN_TEXT,
    SUBTASK_FIELDS,
    ActivePlan,
    Attempt,
    Plan,
    PlanVersion,
    Run,
    State,
    Subtask,
)
from plans.schemas import LONGEST_PLAN, demand_readable

# Subtasks of one plan that are worked on side by side. More than one also needs the constraints
# one_subtask_in_progress and one_live_turn_per_lane to go; and the reason of a pause and the rests
# between two attempts, when no turn is open that could tell them, are columns of the plan.
WIDTH = 1

PAUSE_REASONS: dict[str, str] = {
    Turn.WaitingFor.PAUSE: Plan.PauseReason.USER,
    Turn.WaitingFor.QUESTION: Plan.PauseReason.QUESTION,
    Turn.WaitingFor.APPROVAL: Plan.PauseReason.APPROVAL,
}

# Reasons with which the run rests because somebody wanted it to.
PERSONAL = (Plan.PauseReason.USER, Plan.PauseReason.ASIDE)

# How an abandoned plan is spoken of; any other reason was a cancelling.
CLOSED = {
    "superseded": gettext_lazy("This plan is replaced by a newer one."),
    "cleared": gettext_lazy("This plan is cleared away."),
    "out_of_force": gettext_lazy("This document is out of force."),
}


def lock_active_plan(conversation: Conversation) -> ActivePlan:
    """The conversation's pointer, locked."""
    lock_conversation(conversation.pk)
    ActivePlan.objects.get_or_create(conversation=conversation)
    return ActivePlan.objects.select_for_update().get(conversation=conversation)


def active_plan(conversation: Conversation) -> Plan | None:
    pointer = ActivePlan.objects.filter(conversation=conversation).select_related("plan").first()
    return pointer.plan if pointer else None


def active_plan_and_goal(conversation_id: int) -> tuple[Plan | None, str]:
    """The plan in the drawer, and the goal for which another one is being asked."""
    return in_drawer(pointers.first(conversation=conversation_id))


def in_drawer(pointer: Pointer | None) -> tuple[Plan | None, str]:
    plan_id, asked_message, goal = pointer or (None, None, "")
    rows = plan_by_key.models(plan=plan_id) if plan_id else []
    return next(iter(rows), None), goal if asked_message else ""


def plans_here(conversation_id: int) -> tuple[Plan | None, str, list[Plan]]:
    """The same, and the open plans beside it."""
    pointer = pointers.first(conversation=conversation_id)
    if pointer is None:
        return None, "", []
    plan_id, asked_message, goal = pointer
    rows = plans_shown_or_open.models(conversation=conversation_id, shown=plan_id or 0)
    shown = next((row for row in rows if row.pk == plan_id), None)
    return shown, goal if asked_message else "", [row for row in rows if row is not shown]


@prepared
def plans_shown_or_open(conversation: int, shown: int) -> QuerySet[Plan]:
    rows = Plan.objects.filter(Q(one_of_open(OPEN, "state")) | Q(pk=shown))
    return rows.filter(conversation=conversation).order_by("pk")


def active_plan_id(conversation_id: int) -> int | None:
    pointer = pointers.first(conversation=conversation_id)
    return pointer[0] if pointer else None


def requested_by(conversation_id: int) -> int | None:
    """The message with which a plan is being asked for."""
    pointer = pointers.first(conversation=conversation_id)
    return pointer[1] if pointer else None


def is_answered(asking: int) -> bool:
    """Whether a plan that is in view came out of what was asked for with this message."""
    cards = Message.objects.filter(hidden=False, turn__checkpoint__asked=asking)
    return Plan.objects.filter(card__in=cards).exists()


Pointer = tuple[int | None, int | None, str]


@prepared
def pointers(conversation: int) -> QuerySet[ActivePlan, Pointer]:
    """None of a conversation that never had a plan."""
    rows = ActivePlan.objects.filter(conversation=conversation)
    return rows.values_list("plan_id", "asked_message_id", "asked_goal")


def lock_plan(plan: Plan) -> Plan:
    """The plan's row as it is now, held until the transaction ends."""
    lock_conversation(plan.conversation_id)
    locked = reload(plan, lock=True)
    (locked.conversation,) = conversation_by_key.models(conversation=plan.conversation_id)
    return locked


def reload(plan: Plan, *, lock: bool = False) -> Plan:
    """The plan's row as it is now."""
    rows = (locked_plan if lock else plan_by_key).models(plan=plan.pk)
    if not rows:
        raise NotFound(gettext("There is no plan {plan} any more.").format(plan=plan.pk))
    return rows[0]


@prepared
def plan_by_key(plan: int) -> QuerySet[Plan]:
    return Plan.objects.filter(pk=plan)


@prepared
def locked_plan(plan: int) -> QuerySet[Plan]:
    return Plan.objects.filter(pk=plan).select_for_update(no_key=True)


def closed(plan: Plan) -> str:
    """How a plan came to its end, in one sentence."""
    if plan.state == State.DONE:
        in_force = gettext("This document is in force.")
        return in_force if is_in_force(plan) else gettext("This plan is finished.")
    return str(CLOSED.get(plan.reason, gettext_lazy("This plan is cancelled.")))


def checklist(plan: Plan) -> QuerySet[Subtask]:
    """What is in the list: removed and superseded subtasks have no position."""
    return plan.subtasks.filter(position__isnull=False).order_by("position")


def ready(plan: Plan) -> list[Subtask]:
    """The subtasks that may begin next, in the checklist's order; nobody else chooses them."""
    return list(checklist(plan).filter(state=State.TODO)[:WIDTH])


def has_work_left(plan: Plan) -> bool:
    return checklist(plan).filter(state=State.TODO).exists()


def new_keys(plan: Plan, count: int) -> list[str]:
    """Keys are never reused, not even those of removed subtasks."""
    numbers = [int(key[1:]) for key in plan.subtasks.values_list("key", flat=True)]
    first = max(numbers, default=0) + 1
    return [f"s{number}" for number in range(first, first + count)]


# The run: its turns, what they are on, and how it stands by them


def plan_of_turn(turn: Turn) -> Plan | None:
    """The plan that it works for; None where that was deleted."""
    return Plan.objects.filter(pk=turn.plan or 0).first()


def turns_of(plan: Plan) -> QuerySet[Turn]:
    """All turns of the plan's run, ended ones too."""
    return Turn.objects.filter(conversation_id=plan.conversation_id, lane=Lane.RUN, plan=plan.pk)


def check_turns_of(plan: Plan) -> QuerySet[Turn]:
    """All turns that have run checks of its done subtasks again."""
    return Turn.objects.filter(conversation_id=plan.conversation_id, lane=Lane.CHECK, plan=plan.pk)


def run_turns_of(plan: Plan) -> list[Turn]:
    """The open turns of the plan's run, locked, in the order in which they were queued."""
    turns = turns_of(plan).filter(state__in=Turn.OPEN_STATES).select_related("conversation")
    return list(turns.select_for_update(no_key=True, of=("self",)).order_by("pk"))


def assign_subtasks(plan: Plan) -> None:
    """After what is ready has changed: turns whose attempt has not begun are for that now."""
    turns = [turn for turn in run_turns_of(plan) if turn.kind == "subtask"]
    begun = set(Attempt.objects.filter(turn__in=turns).values_list("turn", flat=True))
    subtasks = iter(ready(plan))
    for turn in turns:
        if turn.pk not in begun:
            subtask = next(subtasks, None)
            turn.checkpoint = {**turn.checkpoint, "subtask": subtask.key if subtask else None}
            turn.save(update_fields=["checkpoint"])


def assigned_subtask(plan: Plan, turn: Turn) -> Subtask | None:
    """The subtask that the turn was queued for, if it is still to do."""
    checkpoints = Turn.objects.filter(pk=turn.pk).values_list("checkpoint", flat=True)
    kept = checkpoints.get()  # it may have been assigned another one since it was claimed
    if "subtask" not in kept:  # queued by an older Planside, in which the claim chose
        assign_subtasks(plan)
        kept = checkpoints.get()
    turn.checkpoint["subtask"] = kept.get("subtask")
    return checklist(plan).filter(state=State.TODO, key=kept.get("subtask")).first()


def settle_run(plan: Plan, otherwise: str = Run.IDLE, reason: str = "") -> None:
    """How the run stands by all its open turns; without any, `otherwise` for that reason.

    It goes on while one of them works, is queued or waits for another agent. When all wait for a
    person it is paused, for what the first of them waits for.
    """
    turns = run_turns_of(plan)
    if not turns:
        save_run(plan, otherwise, reason)
        return
    run, reason = run_by_turns(plan, turns)
    if run == Run.PAUSED or plan.run not in (Run.PAUSING, Run.STOPPING):
        save_run(plan, run, reason)  # else a person's wish holds for what still works


def run_by_turns(plan: Plan, turns: list[Turn]) -> tuple[str, str]:
    """How the run stands by its open turns and what they are wished to do, with the reason."""
    reasons = [pause_reason(turn) for turn in turns]
    if all(reasons):
        return Run.PAUSED, reasons[0]
    if any(turn.pause_requested for turn in turns):
        return Run.PAUSING, Plan.PauseReason.USER
    if not plan.is_confirmed:
        return Run.PAUSING, Plan.PauseReason.CONFIRM
    is_running = any(is_at_work(turn) and not turn.stop_requested for turn in turns)
    return Run.RUNNING if is_running else Run.QUEUED, ""


def pause_reason(turn: Turn) -> str:
    """What a waiting turn rests for; empty for one that does not need a person.

    A pause that was asked for meanwhile comes first: it holds when the person has answered.
    """
    reason = PAUSE_REASONS.get(turn.waiting_for, "")
    if reason and turn.pause_requested:
        return Plan.PauseReason.USER
    because = str(turn.checkpoint.get("because") or "")
    if turn.waiting_for == Turn.WaitingFor.PAUSE and because.startswith("budget"):
        return Plan.PauseReason.BUDGET
    if turn.waiting_for == Turn.WaitingFor.PAUSE and because.startswith("check"):
        return Plan.PauseReason.CHECK
    return reason


def save_run(plan: Plan, now: str, reason: str = "") -> None:
    """How the run goes from now on; how long it rested between two attempts is counted.

    What a person allowed for the run ends with it.
    """
    plan.waited, plan.paused = backoff_seconds(plan)
    plan.run, plan.pause_reason = now, reason
    if reason not in PERSONAL:
        plan.paused_by = ""
    under_way = Attempt.objects.filter(subtask__plan=plan, turn__finished_at=None)
    rests = now == Run.PAUSED and not under_way.exists()
    plan.rests_since = clock() if rests else None
    fields = ["run", "pause_reason", "paused_by", "updated_at", "rests_since", "waited", "paused"]
    if now == Run.IDLE:
        kept = ("mode", "tried", "halted", "ended")
        plan.run_options = {k: v for k, v in plan.run_options.items() if k in kept}
        fields.append("run_options")
    plan.save(update_fields=fields)


def backoff_seconds(plan: Plan) -> tuple[timedelta, timedelta]:
    """Waited for a person, and paused, between attempts: a turn that rests counts its own time."""
    if plan.rests_since is None:
        return plan.waited, plan.paused
    rested = max(timedelta(), clock() - plan.rests_since)
    if plan.pause_reason in (*PERSONAL, Plan.PauseReason.BUDGET):
        return plan.waited, plan.paused + rested
    return plan.waited + rested, plan.paused


def refresh_state(plan: Plan) -> None:
    """todo until something has started, which may have failed since; done and abandoned only by an
    explicit end."""
    if plan.is_open:
        begun = ~Q(state=State.TODO) | Q(attempts__isnull=False)
        started = plan.subtasks.filter(begun, position__isnull=False)
        state = State.IN_PROGRESS if started.exists() else State.TODO
        if plan.state != state:
            plan.state = state
            plan.save(update_fields=["state", "updated_at"])


def snapshot_text(plan: Plan) -> dict[str, Any]:
    """The plan's text, as versions keep it; without checks it is what it was before there were
    any."""
    rows = plan.subtasks.filter(position__isnull=False).order_by("position")
    subtasks = [
        {name: value for name, value in row.items() if name != "checks" or value}
        for row in rows.values("key", *SUBTASK_FIELDS)
    ]
    return {**{field: getattr(plan, field) for field in PLAN_TEXT}, "subtasks": subtasks}


def save_version(plan: Plan, by: Actor, explanation: str) -> None:
    """Keep the text as it is now; a plan that is drawn and compared whole is not without end."""
    text = snapshot_text(plan)
    if (length := len(json.dumps(text, ensure_ascii=False))) > LONGEST_PLAN:
        sentence = gettext(
            "A plan has at most {most:,} characters with all its subtasks; this one would have "
            "{length:,}."
        )
        raise Invalid(sentence.format(most=LONGEST_PLAN, length=length))
    demand_readable([plan.goal, text])
    PlanVersion.objects.create(
        plan=plan,
        version=plan.version,
        snapshot=text,
        explanation=explanation,
        author=name_of(by),
        author_kind=kind_of(by),
    )


def record_event(plan: Plan, type: str, by: Actor = SYSTEM, **data: object) -> int:
    """Record what happened to a plan; its card in the conversation is to be read again."""
    seq = events.record(plan.conversation_id, type, f"plan:{plan.pk}", by, **data)
    redraw_card(plan, seq)
    return seq


def was_approved(plan: Plan, version: int) -> bool:
    """Whether a person, or what they have allowed, has said yes to this version."""
    yes = Event.objects.filter(
        subject=f"plan:{plan.pk}", type="plan.approved", data__version=version
    )
    return version == plan.approved_version or yes.exists()


def redraw_card(plan: Plan | None, seq: int) -> None:
    """The plan's card in the conversation is to be read again, and what tells how it ended."""
    if plan is not None and plan.card_id:
        change_of_message.update(seq=seq, message=plan.card_id)
    if plan is not None and (ended := plan.run_options.get("ended")):
        change_of_message.update(seq=seq, message=ended)


def close_subtask(subtask: Subtask, state: str, reason: str = "", outcome: str = "") -> None:
    subtask.state, subtask.reason, subtask.outcome = state, reason, outcome or subtask.outcome
    subtask.finished_at = timezone.now()
    subtask.save(update_fields=["state", "reason", "outcome", "finished_at"])


# Plans below a plan: those by which other agents work for its subtasks


def plans_below(turns: Iterable[int]) -> dict[int, int]:
    """By the turn that called: the newest plan of an agent it called."""
    callers = list(turns)
    return dict(plans_of_called_agents.rows(turns=callers)) if callers else {}


@prepared
def plans_of_called_agents(turns: list[int]) -> QuerySet[Plan, tuple[int, int]]:
    """The turn that called and the plan, the newest last."""
    by_turn = Plan.objects.annotate(caller=F("conversation__parent_call__turn_id"))
    return by_turn.filter(one_of("caller", turns)).order_by("pk").values_list("caller", "pk")


def asking_plan(plan: Plan) -> Plan | None:
    """The plan whose question waits for the person: this one's own, or one below it."""
    if plan.question:
        return plan
    waiting = Turn.objects.filter(
        conversation_id=plan.conversation_id,
        plan=plan.pk,
        state=TurnState.WAITING,
        waiting_for=Turn.WaitingFor.CHILD,
    )
    below = plans_below(waiting.values_list("pk", flat=True))
    for child in Plan.objects.filter(pk__in=below.values()):
        if asking := asking_plan(child):
            return asking
    return None


def question_call(plan: Plan) -> int:
    """The call with which this plan, or one below it, asks the person; 0 while none does."""
    asking = asking_plan(plan)
    if asking is None:
        return 0
    asked = ToolCall.objects.filter(
        turn__conversation_id=asking.conversation_id, tool="ask_user", state=ToolCall.State.ASKED
    )
    return asked.order_by("-pk").values_list("pk", flat=True).first() or 0
