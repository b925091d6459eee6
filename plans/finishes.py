"""A finish is believed when the checks of its subtask say so, and refused with their reasons."""

from __future__ import annotations

from agents.db import in_db
from agents.engine.steps import result_of
from agents.errors import TurnFailed
from agents.models import ToolCall, Turn
from agents.stored_text import gettext
from agents.tools.base import ToolFailed
from plans.attempts import limit_of
from plans.check_results import approved_checks, failed_words, refusals
from plans.check_runner import Round, run_checks
from plans.models import Attempt


def round_of(turn: Turn, claim: str, call: ToolCall | None) -> Round:
    attempt = Attempt.objects.select_related("subtask__plan__conversation").get(turn=turn)
    subtask = attempt.subtask
    return Round(turn, subtask.plan, subtask, attempt, approved_checks(attempt), claim, call)


def round_of_call(turn: Turn, claim: str) -> Round:
    running = turn.tool_calls.filter(tool="finish_subtask", state=ToolCall.State.RUNNING)
    return round_of(turn, claim, running.latest("pk"))


async def check_finish(turn: Turn, claim: str) -> str:
    """What the model is told of a finish that holds; else raises ToolFailed with what failed.

    With the last one that may be refused the attempt is over.
    """
    round = await in_db(round_of_call, turn, claim)
    results = await run_checks(round)
    failed = [result for result in results if not result.passed]
    if not failed:
        return f"Recorded. {len(results)} of {len(results)} checks passed."
    assert round.attempt is not None, "a finish is that of an attempt"
    count = 1 + await in_db(refusals, round.attempt)
    most = limit_of(turn, "max_check_failures")
    reached = f"{len(failed)} of {len(round.checks)} checks failed"
    if left := len(round.checks) - len(results):
        reached += f", {left} not reached"
    said = f"Not done: {reached} (refused {count} of {most}).\n{failed_words(failed)}"
    if count >= most:
        raise ToolFailed(f"{said}\nThe attempt has failed.", ends_turn=True)
    raise ToolFailed(
        f"{said}\nMend what is missing and call finish_subtask again, or fail_subtask if it cannot "
        "be done. The checks are the person's: they stay as they are."
    )


async def check_output(turn: Turn) -> None:
    """Where no call says that it is done, what the chain gave out is checked: once, as it is."""
    claim = await in_db(result_of, turn)
    round = await in_db(round_of, turn, claim, None)
    failed = [result for result in await run_checks(round) if not result.passed]
    if failed:
        why = gettext("Its checks say no:\n{failed}").format(failed=failed_words(failed))
        raise TurnFailed("check", why)
