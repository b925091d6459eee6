"""The plan of an agent that works for a subtask: approved by the system, for that attempt alone."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from agents.actions import start_turn
from agents.actors import kind_of
from agents.config.store import read_agent
from agents.conversation_tree import ancestors
from agents.engine.lifecycle import request_stop
from agents.engine.subagents import answer_parent, deliver, parent_waits
from agents.errors import Conflict, Refused
from agents.models import Conversation, Turn, TurnState
from plans import actions
from plans.actions.comments import give_back_comments
from plans.actions.run import start_run
from plans.models import Attempt, Plan, Run, State
from plans.queries import AGENT, SYSTEM, plan_of_turn, record_event
from plans.text_plans import accept_text_plan

# Nobody raises the budget of such a plan, or looks in the place of a check.
ONLY_BY_HAND = (Plan.PauseReason.BUDGET, Plan.PauseReason.CHECK)


def open_with_plan(child: Conversation, task: str, parent: Turn) -> bool:
    """An agent with plan mode that is called by a subtask plans the task first.

    Not where the calling agent's `plan.inherit` is off. Raises Conflict where it plans every task
    and no subtask stands above, as nobody has said yes to what it would do.
    """
    called = read_agent(child.agent_id).file
    callers = (parent, *ancestors(parent.conversation))
    if called.plan.is_enforced and not any(turn.kind == "subtask" for turn in callers):
        plans = f"{called.name} plans every task (plan.enforce)"
        raise Conflict(f"{plans}: only a subtask of a plan may call it.")
    inherits = parent.kind == "subtask" and (parent.config.get("plan") or {}).get("inherit", True)
    if not inherits or not called.plan.enabled:
        return False
    message, _ = start_turn(child, task, SYSTEM, "plan")
    actions.request_plan(child, task, SYSTEM, message)
    return True


def settle_planning(turn: Turn) -> None:
    """A planning turn is over; a plan may be in its words.

    In a child, its plan starts at once; a mere answer is the answer.
    """
    accept_text_plan(turn)
    give_back_comments(turn)
    conversation = turn.conversation
    if conversation.parent_call_id is None or turn.is_open:
        return
    # The plan that this turn has made; what anybody else put beside it is none of the agent's.
    made = turn.checkpoint.get("made", 0)
    plan = Plan.objects.filter(pk=made, conversation=turn.conversation_id).first()
    if plan is None or not plan.is_open:
        actions.cancel_request(conversation, SYSTEM)
        answer_parent(turn)
    elif parent_waits(conversation):
        start_for_parent(plan)


def start_for_parent(plan: Plan) -> None:
    """The yes to a plan that serves an approved subtask, and its run; a refusal is the answer.

    It holds while that attempt runs, and is for what the agent wrote itself.
    """
    call = plan.conversation.parent_call
    assert call is not None, "only the plan of a child is approved by the system"
    attempt = Attempt.objects.filter(turn=call.turn).select_related("subtask__plan").first()
    whose = "another agent's work"
    if attempt is not None:
        owner = attempt.subtask.plan
        whose = f"subtask {attempt.subtask.key} of plan {owner.pk} v{attempt.version}"
    try:
        with transaction.atomic():
            if plan.versions.exclude(author_kind=kind_of(AGENT)).exists():
                raise Conflict("A part of it was not written by the agent that works here.")
            plan.approved_version, plan.approved_by = plan.version, whose
            plan.approved_kind, plan.approved_at = kind_of(SYSTEM), timezone.now()
            approval = ("approved_version", "approved_by", "approved_kind", "approved_at")
            plan.save(update_fields=approval)
            record_event(plan, "plan.approved", SYSTEM, version=plan.version)
            start_run(plan, SYSTEM, "all", {})
    except Refused as refusal:
        deliver(plan.conversation, f"The agent's plan did not start: {refusal}", failed=True)


def report_to_parent(turn: Turn) -> None:
    """After a turn of a child's run: a new version goes on, an end or a failure is the answer."""
    conversation = turn.conversation
    plan = plan_of_turn(turn) if conversation.parent_call_id is not None else None
    if plan is None:
        return
    if turn.state == TurnState.WAITING and plan.pause_reason in ONLY_BY_HAND:
        deliver(conversation, f"The agent's own {turn.checkpoint['because']}.", failed=True)
        request_stop(turn, SYSTEM)
    elif turn.is_open:
        return
    elif plan.is_open and plan.run == Run.PAUSED and not plan.is_confirmed:
        if parent_waits(conversation):
            start_for_parent(plan)
    elif not plan.is_open:
        deliver(conversation, plan.outcome, failed=plan.state != State.DONE)
    elif plan.run == Run.IDLE:
        own = Attempt.objects.filter(turn=turn).first()  # an error of another attempt is over
        why = turn.error or (own.error if own else "") or "it was stopped"
        deliver(conversation, f"The agent's plan did not come to its end: {why}", failed=True)
