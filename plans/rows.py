"""Reading and locking a plan's rows, and the few writes that every verb shares."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils import timezone

from agents import events
from agents.errors import Missing, NotNow
from agents.locks import lock_conversation
from agents.models import Conversation, Lane, Turn, TurnState
from agents.statements import by_key, for_update, one, rows, run
from agents.turns.journal import TOUCH
from plans.models import ActivePlan, Plan, PlanVersion, State, Subtask

# Asked for at every listing and every call of a tool.
POINTER = "SELECT plan_id, asked_goal FROM plans_activeplan WHERE conversation_id = %s"
TEXTS = (
    "SELECT key, name, description, expected_outcome FROM plans_subtask"
    " WHERE plan_id = %s AND position IS NOT NULL ORDER BY position"
)
STARTED = (
    "SELECT 1 FROM plans_subtask"
    " WHERE plan_id = %s AND position IS NOT NULL AND state <> 'todo' LIMIT 1"
)

AGENT = "agent"
SYSTEM = "system"


def active_of(conversation: Conversation) -> ActivePlan:
    """The conversation's pointer, locked."""
    lock_conversation(conversation.pk)
    ActivePlan.objects.get_or_create(conversation=conversation)
    return ActivePlan.objects.select_for_update().get(conversation=conversation)


def active_plan(conversation: Conversation) -> Plan | None:
    pointer = ActivePlan.objects.filter(conversation=conversation).select_related("plan").first()
    return pointer.plan if pointer else None


def pointed_at(conversation_id: int) -> tuple[Plan | None, str]:
    """The plan in the drawer, and the goal for which another one is being asked."""
    row = one(POINTER, [conversation_id])
    if row is None:
        return None, ""
    plan_id, goal = row
    return by_key(Plan, plan_id), str(goal)


def lock(plan: Plan) -> Plan:
    """The plan's row as it is now, held until the transaction ends."""
    lock_conversation(plan.conversation_id)
    locked = reread(plan, for_update())
    conversation = by_key(Conversation, plan.conversation_id)
    assert conversation is not None, "a plan points to one"
    locked.conversation = conversation
    return locked


def reread(plan: Plan, locked: str = "") -> Plan:
    """The plan's row as it is now."""
    read = by_key(Plan, plan.pk, locked)
    if read is None:
        raise Missing(f"There is no plan {plan.pk} any more.")
    return read


def demand_open(plan: Plan) -> None:
    if not plan.is_open:
        word = "finished" if plan.state == State.DONE else "cancelled"
        raise NotNow(f"This plan is {word}. It cannot change any more.", plan.version)


def demand_version(plan: Plan, version: int | None) -> None:
    """What a person does applies to what they have seen."""
    if version is not None and version != plan.version:
        raise NotNow(
            f"The plan is now v{plan.version}; you saw v{version}. Nothing was changed.",
            plan.version,
        )


def checklist(plan: Plan) -> QuerySet[Subtask]:
    """What is in the list: removed and superseded subtasks have no position."""
    return plan.subtasks.filter(position__isnull=False).order_by("position")


def next_todo(plan: Plan) -> Subtask | None:
    return checklist(plan).filter(state=State.TODO).first()


def new_keys(plan: Plan, count: int) -> list[str]:
    """Keys are never reused, not even those of removed subtasks."""
    numbers = [int(key[1:]) for key in plan.subtasks.values_list("key", flat=True)]
    first = max(numbers, default=0) + 1
    return [f"s{number}" for number in range(first, first + count)]


def run_turn_of(plan: Plan) -> Turn | None:
    """The open turn of the plan's run, locked; there is at most one that runs or waits."""
    states = [TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING]
    turns = Turn.objects.select_for_update(no_key=True, of=("self",)).select_related("conversation")
    return (
        turns.filter(
            conversation_id=plan.conversation_id,
            lane=Lane.RUN,
            state__in=states,
            checkpoint__plan=plan.pk,
        )
        .order_by("pk")
        .first()
    )


def save_run(plan: Plan, now: str, reason: str = "") -> None:
    plan.run, plan.pause_reason = now, reason
    plan.save(update_fields=["run", "pause_reason", "updated_at"])


def refresh_state(plan: Plan) -> None:
    """todo until something has started; done and abandoned only by an explicit end."""
    if plan.is_open:
        state = State.IN_PROGRESS if one(STARTED, [plan.pk]) else State.TODO
        if plan.state != state:
            plan.state = state
            plan.save(update_fields=["state", "updated_at"])


def snapshot_text(plan: Plan) -> dict[str, object]:
    """The plan's text, as versions keep it."""
    columns = ("key", "name", "description", "expected_outcome")
    subtasks = [dict(zip(columns, row, strict=True)) for row in rows(TEXTS, [plan.pk])]
    return {
        "title": plan.title,
        "content": plan.content,
        "expected_outcome": plan.expected_outcome,
        "subtasks": subtasks,
    }


def save_version(plan: Plan, by: str, explanation: str) -> None:
    PlanVersion.objects.create(
        plan=plan,
        version=plan.version,
        snapshot=snapshot_text(plan),
        explanation=explanation,
        author=by,
    )


def tell(plan: Plan, type: str, by: str = SYSTEM, **data: object) -> int:
    """Record what happened to a plan; its card in the conversation is to be read again."""
    seq = events.record(plan.conversation_id, type, f"plan:{plan.pk}", by, **data)
    if plan.card_id:
        run(TOUCH, [seq, plan.card_id])
    return seq


def close_subtask(subtask: Subtask, state: str, reason: str = "", outcome: str = "") -> None:
    subtask.state, subtask.reason, subtask.outcome = state, reason, outcome or subtask.outcome
    subtask.finished_at = timezone.now()
    subtask.save(update_fields=["state", "reason", "outcome", "finished_at"])
