"""A finish is believed when the checks of its subtask say so, and refused with their reasons."""

from __future__ import annotations

from django.utils.translation import gettext

from agents import persistence
from agents.db import in_db
from agents.engine.steps import result_of
from agents.errors import TurnFailed
from agents.models import ToolCall, Turn
from agents.pools import FILES
from agents.tools import permissions
from agents.tools.base import ToolFailed
from agents.tools.confinement import Workspace
from plans.attempts import limit_of
from plans.check_probes import digests
from plans.check_results import approved_checks, failed_words, refusals
from plans.check_runner import Round, run_checks
from plans.models import Attempt


async def note_beginning(turn: Turn) -> None:
    """Before anything is done in an attempt: what checks will want to find as it was. The files may
    be large, so they are read on a thread that nobody else waits for."""
    attempt, paths = await in_db(to_be_noted, turn)
    if attempt is None:
        return
    now: dict[str, str] = {}
    if paths:
        folder = (await in_db(permissions.of_turn, turn)).folder
        now = await FILES.run(lambda: digests(paths, Workspace(folder)))
    await in_db(save_beginning, turn, attempt, paths, now)


def to_be_noted(turn: Turn) -> tuple[Attempt | None, set[str]]:
    """The attempt, where it has checks, and the files of which that is not known yet."""
    attempt = Attempt.objects.select_related("subtask__plan").filter(turn=turn).first()
    if attempt is None or not attempt.subtask.checks:
        return None, set()
    checks = approved_checks(attempt)
    paths = {str(check["path"]) for check in checks if check.get("unchanged")}
    return attempt if checks else None, paths if attempt.before is None else set()


def save_beginning(turn: Turn, attempt: Attempt, paths: set[str], now: dict[str, str]) -> None:
    if attempt.before is None:
        attempt.before = as_before(attempt, paths, now)
    with persistence.fenced(turn):
        attempt.save(update_fields=["before"])
        persistence.checkpoint(turn, checks=True)


def as_before(attempt: Attempt, paths: set[str], now: dict[str, str]) -> dict[str, str]:
    """How these files are now; of a try that goes on by itself, how they were before the first
    one since a person started the run: what an earlier one has changed is changed."""
    tried = int(attempt.subtask.plan.run_options.get("tried") or 0)
    earlier = Attempt.objects.filter(subtask=attempt.subtask_id, pk__gt=tried, pk__lt=attempt.pk)
    known: dict[str, str] = {}
    for each in earlier.order_by("-pk"):
        known |= each.before or {}
    return {**now, **{path: known[path] for path in paths & known.keys()}}


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
