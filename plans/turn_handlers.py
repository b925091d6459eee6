"""The turn kinds that plans adds: an attempt at a subtask, and the closing turn of a plan."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from django.db import transaction
from django.dispatch import receiver

from agents import persistence
from agents.chains.store import demand_tool
from agents.changes.recording import turn_recorded
from agents.config.store import AgentRecord
from agents.db import AWAY
from agents.engine.handlers import Offer, Role, TurnHandler, chain_of, handlers, register_handler
from agents.engine.prompt import history
from agents.engine.steps import Work
from agents.engine.subagents import answer_parent, check_chat, prepare_chat
from agents.errors import NotFound, NothingToDo, Refused, TurnWaits
from agents.llm.request import ChatMessage
from agents.models import Turn
from agents.telemetry import hooks
from agents.tools import permissions
from plans import actions, prompts, subplans
from plans.actions.alternatives import bring_back
from plans.actions.attempts import plan_of
from plans.actions.checking import settle_checks
from plans.actions.run import demand_free_lane, queue_next
from plans.attempts import why_over
from plans.check_turns import check_budget_of_checks, prepare_checks, run_plan_checks
from plans.finishes import check_output, note_beginning
from plans.gate import GATED, Row
from plans.models import LIVE, Plan, Run, State
from plans.policy import ROLES, offer_for, situation_of
from plans.queries import (
    checklist,
    lock_plan,
    plan_of_turn,
    record_event,
    reload,
    run_turns_of,
    save_run,
    settle_run,
    turns_of,
)

log = logging.getLogger(__name__)


def prepare_subtask(turn: Turn) -> Work:
    """Begin the turn's attempt, if the gate lets it; its context is put together from facts."""
    attempt = actions.begin_attempt(turn)
    subtask, plan = attempt.subtask, attempt.subtask.plan
    hooks.add_facts(version=attempt.version, subtask=subtask.key, attempt=attempt.number)
    permissions.of_turn(turn)  # nothing is begun for an agent that is gone
    chain = chain_of(turn, "executor")
    demand_tool(chain, "executor", "finish_subtask")
    error = prompts.error_before(attempt)
    words = prompts.assignment(plan, subtask, error, by_tools=chain.runs_calls)
    seconds = (turn.config.get("plan") or {}).get("attempt_timeout_s")
    return Work(chain, [*history(turn), {"role": "user", "content": words}], seconds)


def prepare_answer(turn: Turn) -> Work:
    """As for any message; but a plan is asked for only of a chain that can make or change one."""
    work = prepare_chat(turn)
    is_able = not work.chain.runs_calls or work.chain.may_call("create_plan")
    if not is_able and met_situation(turn)[0] == Row.PLAN_FIRST:
        demand_tool(work.chain, "planner", "create_plan")
    if turn.checkpoint.get("replan"):
        demand_tool(work.chain, "planner", "revise_current_plan")
    return work


@transaction.atomic
def prepare_closing(turn: Turn) -> Work:
    plan = plan_of(turn)
    if not plan.is_open or not plan.is_confirmed:
        raise NothingToDo
    chain = chain_of(turn, "executor")
    if not (chain.runs_calls and chain.may_call("finish_plan")):  # it would do its work once more
        raise NothingToDo
    settle_run(plan)
    hooks.add_facts(version=plan.version)
    task: ChatMessage = {"role": "user", "content": prompts.CLOSING}
    return Work(chain, [task])


def met_situation(turn: Turn) -> tuple[Row, Plan | None, list[Plan]]:
    """The turn's row of the gate. Meeting row 1 or 2 is marked on the turn, for good."""
    row, plan, documents = situation_of(turn)
    if row in GATED and not turn.checkpoint.get("gated"):
        persistence.checkpoint(turn, gated=True)
    return row, plan, documents


def role(turn: Turn) -> Role:
    return ROLES.get(met_situation(turn)[0], "chat")


def offer(turn: Turn, agent: AgentRecord, words: Sequence[str]) -> Offer:
    """What the gate lets this turn do now, of what the list of the chain's task allows."""
    return offer_for(turn, agent, words, *met_situation(turn))


def check_budget(turn: Turn) -> None:
    """Before a model call of a run: a budget that is used up pauses it."""
    plan = reload(Plan(pk=turn.plan))
    if plan.budget and (what := why_over(plan)):
        raise TurnWaits(Turn.WaitingFor.PAUSE, because=f"budget: {what}")


def resume_run(turn: Turn) -> None:
    """Its call was decided: the run goes on from now, not only when a worker takes the turn."""
    plan = plan_of_turn(turn)
    if plan and plan.run == Run.PAUSED:
        settle_run(plan)


def settle(settle_plan: Callable[[Turn], None], turn: Turn) -> None:
    """Whatever the turn was about may be gone, or broken, by now; the turn ends all the same."""
    if plan_of_turn(turn) is None:
        answer_parent(turn)
        return
    try:
        with transaction.atomic():
            settle_plan(turn)
            subplans.report_to_parent(turn)
    except AWAY:
        raise
    except Exception:
        log.exception("turn %s could not be settled", turn.pk)
        if not turn.is_open:
            actions.interrupt_attempt(turn)
            answer_parent(turn)


@receiver(turn_recorded)
def tell_changes(turn: Turn, **_: object) -> None:
    """The drawer has something new to show of a subtask."""
    if turn.kind == "subtask" and (plan := plan_of_turn(turn)):
        record_event(plan, "plan.updated")


def repair() -> None:
    """A run that is marked live without a turn that could move it gets one, or comes to rest."""
    for plan in Plan.objects.filter(run__in=LIVE):
        if not turns_of(plan).filter(state__in=Turn.OPEN_STATES).exists():
            with suppress(NotFound):  # deleted meanwhile
                repair_one(plan)


@transaction.atomic
def repair_one(plan: Plan) -> None:
    """One that never had a turn, of an agent that is gone, cannot have another: it rests."""
    plan = lock_plan(plan)
    if not plan.is_live or run_turns_of(plan):
        return
    checklist(plan).filter(state=State.IN_PROGRESS).update(state=State.TODO)
    if plan.is_open and plan.is_confirmed and plan.run in (Run.QUEUED, Run.RUNNING):
        try:
            demand_free_lane(plan)
            queue_next(plan, after=turns_of(plan).order_by("pk").last())
        except Refused:
            save_run(plan, Run.IDLE)
    else:
        save_run(plan, Run.IDLE)
    record_event(plan, "run.repaired")


def register() -> None:
    """What the gate offers goes into every turn; a called agent may begin with a plan."""
    settle_subtask = partial(settle, actions.settle_subtask)
    settle_closing = partial(settle, actions.settle_closing)
    kinds = {
        "chat": replace(handlers()["chat"], prepare=prepare_answer),
        "plan": TurnHandler(
            prepare_answer, subplans.settle_planning, check_chat, open_child=subplans.open_with_plan
        ),
        "subtask": TurnHandler(
            *(prepare_subtask, settle_subtask, check_budget, repair, prompts.NUDGE, resume_run),
            is_recorded=True,
            begin=note_beginning,
            check_output=check_output,
        ),
        "closing": TurnHandler(prepare_closing, settle_closing, check_budget),
        "checks": TurnHandler(
            prepare_checks, settle_checks, check_budget_of_checks, work=run_plan_checks
        ),
    }
    for kind, handler in kinds.items():
        extended = replace(handler, role=role, offer=offer, came_back=bring_back)
        register_handler(kind, extended)
