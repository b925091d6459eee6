"""The turn that runs the checks of done subtasks again: it asks no model but a reviewer."""

from __future__ import annotations

from agents.db import in_db
from agents.engine.handlers import refresh_config
from agents.engine.steps import Work
from agents.errors import Conflict, NothingToDo
from agents.models import Turn
from plans.attempts import why_over
from plans.check_runner import Round, run_checks
from plans.check_text import DETERMINISTIC
from plans.models import Attempt, Plan, State, Subtask
from plans.queries import reload
from plans.verification import undone_in


def prepare_checks(turn: Turn) -> Work:
    """It thinks by no chain."""
    raise NothingToDo


async def run_plan_checks(turn: Turn) -> None:
    """One subtask after the other; taken up again, those with results are passed over."""
    await in_db(refresh_config, turn)
    for key in turn.checkpoint.get("checks_of", []):
        if (round := await in_db(round_of_done, turn, key)) is not None:
            await run_checks(round)


def round_of_done(turn: Turn, key: str) -> Round | None:
    """What there is to check of a subtask, if it is still done, and was not undone since."""
    rows = Subtask.objects.filter(plan=turn.plan, key=key, state=State.DONE)
    subtask = rows.select_related("plan__conversation").first()
    if subtask is None or undone_in(subtask.plan, [subtask]):
        return None
    only, hard = turn.checkpoint.get("check"), turn.checkpoint.get("deterministic")
    checks = [
        check
        for check in subtask.checks
        if only in (None, check["key"]) and (not hard or check["kind"] in DETERMINISTIC)
    ]
    attempts = Attempt.objects.filter(subtask=subtask, failure_class="").select_related("turn")
    attempt = attempts.order_by("number").last()
    return Round(
        turn, subtask.plan, subtask, attempt, checks, subtask.outcome, rests=False, again=True
    )


def check_budget_of_checks(turn: Turn) -> None:
    """A review that is over the plan's budget cannot be run; what asked for it goes on."""
    plan = reload(Plan(pk=turn.plan))
    if plan.budget and (what := why_over(plan)):
        raise Conflict(what)
