"""The turn kinds that plans adds: an attempt at a subtask, and the closing turn of a plan."""

from __future__ import annotations

from django.db import transaction

from agents import observed
from agents.chains.steps import Work
from agents.models import Lane, Turn, TurnState
from agents.toolset import register_offer
from agents.turns.chat import check_chat, prepare_chat
from agents.turns.children import register_opener
from agents.turns.interruptions import NothingToDo
from agents.turns.kinds import TurnKind, chain_of, register_kind
from agents.turns.transcript import Wire, history
from plans import actions, nested, prompts
from plans.actions.budgets import check_budget
from plans.actions.running import queue_next
from plans.models import LIVE, Plan, Run
from plans.offers import offer
from plans.rows import lock, run_turn_of, save_run, tell


def prepare_subtask(turn: Turn) -> Work:
    """Claim the next subtask, if the gate lets it; its context is put together from facts."""
    attempt = actions.claim_subtask(turn)
    subtask, plan = attempt.subtask, attempt.subtask.plan
    observed.found(version=attempt.version, subtask=subtask.key, attempt=attempt.number)
    task: Wire = {"role": "user", "content": prompts.assignment(plan, subtask)}
    earlier = history(turn)
    seconds = (turn.config.get("plan") or {}).get("attempt_timeout_s")
    return Work(chain_of(turn, "executor"), [*earlier, task], seconds)


def prepare_closing(turn: Turn) -> Work:
    plan = Plan.objects.get(pk=turn.checkpoint["plan"])
    if not plan.is_open or not plan.is_confirmed:
        raise NothingToDo
    save_run(plan, Run.RUNNING)
    observed.found(version=plan.version)
    task: Wire = {"role": "user", "content": prompts.CLOSING}
    return Work(chain_of(turn, "executor"), [task])


def settle_subtask(turn: Turn) -> None:
    actions.settle_subtask(turn)
    nested.settle_run(turn)


def settle_closing(turn: Turn) -> None:
    actions.settle_closing(turn)
    nested.settle_run(turn)


def repair() -> None:
    """A run that is marked live without a turn that could move it gets one, or comes to rest."""
    for plan in Plan.objects.filter(run__in=LIVE):
        if not has_open_turn(plan):
            repair_one(plan)


def has_open_turn(plan: Plan) -> bool:
    states = [TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING]
    turns = Turn.objects.filter(conversation_id=plan.conversation_id, lane=Lane.RUN)
    return turns.filter(state__in=states, checkpoint__plan=plan.pk).exists()


@transaction.atomic
def repair_one(plan: Plan) -> None:
    plan = lock(plan)
    if not plan.is_live or run_turn_of(plan):
        return
    if plan.is_open and plan.is_confirmed and plan.run in (Run.QUEUED, Run.RUNNING):
        queue_next(plan)
    else:
        save_run(plan, Run.IDLE)
    tell(plan, "run.repaired")


def register() -> None:
    register_offer(offer)
    register_opener(nested.open_with_plan)
    register_kind("plan", TurnKind(prepare_chat, nested.settle_planning, check_chat))
    attempt = TurnKind(prepare_subtask, settle_subtask, check_budget, repair, prompts.NUDGE)
    register_kind("subtask", attempt)
    register_kind("closing", TurnKind(prepare_closing, settle_closing, check_budget))
