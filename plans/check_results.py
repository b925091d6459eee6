"""What checks came to: the last of each, what they settle, and how pages show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, NamedTuple, get_args

from pydantic import BaseModel, Field, JsonValue

from agents.actors import Actor
from agents.models import ToolCall
from agents.stored_text import beginning, lines, untranslated
from agents.timestamps import Moment, timestamp
from plans.check_text import CheckJson, Kind, looks_at, wording
from plans.models import Attempt, CheckResult, Plan, PlanVersion, State, Subtask
from plans.queries import SYSTEM, record_event
from plans.verification import (
    Rows,
    Word,
    of_last_attempt,
    result_of,
    standing,
    takes_back,
    verify,
)


def approved_checks(attempt: Attempt) -> list[CheckJson]:
    """The checks of the version that was approved when the attempt began: what settles it.

    Most attempts have none; that the row says without another query.
    """
    subtask = attempt.subtask
    if not subtask.checks and not subtask.checks_made:
        return []
    rows = PlanVersion.objects.filter(plan=subtask.plan_id, version=attempt.version)
    kept = rows.first()
    texts = kept.text["subtasks"] if kept is not None else ()
    return next((list(each["checks"]) for each in texts if each["key"] == subtask.key), [])


def has_passed(attempt: Attempt, checks: Sequence[CheckJson], call: ToolCall | None) -> bool:
    """Whether every check of this finish has said yes; without a call, of its turn's output."""
    rows = CheckResult.objects.filter(attempt=attempt, passed=True)
    rows = rows.filter(call=call) if call else rows.filter(turn=attempt.turn_id, call__isnull=True)
    passed = {row.key: wording(row.asked) for row in rows}
    return all(passed.get(check["key"]) == wording(check) for check in checks)


def last_refused(attempt: Attempt) -> list[CheckResult]:
    """What said no to the last finish of an attempt that was refused."""
    failed = CheckResult.objects.filter(attempt=attempt, passed=False)
    last = failed.last()
    return list(failed.filter(call=last.call_id)) if last is not None else []


def refusals(attempt: Attempt) -> int:
    """How many finishes of an attempt its checks have refused."""
    failed = CheckResult.objects.filter(attempt=attempt, passed=False, call__isnull=False)
    refused = failed.filter(call__state=ToolCall.State.FAILED)
    return refused.values("call").distinct().count()


def last_not_run(subtask: Subtask) -> CheckResult | None:
    """The check for which the attempt under way rests, because it could not be run."""
    last = subtask.check_results.exclude(key="").order_by("pk").last()
    return last if last is not None and last.passed is None else None


EVENTS = {True: "check.passed", False: "check.failed", None: "check.not_run"}


def announce(plan: Plan, result: CheckResult, by: Actor = SYSTEM) -> None:
    """Tell what a check came to, that a person has looked, or not after all; and what its subtask
    is by that."""
    key = result.subtask.key
    record_event(
        plan,
        "check.taken_back" if takes_back(result) else EVENTS[result.passed],
        by,
        subtask=key,
        check=result.key,
        kind=str(result.asked.get("kind") or ""),
        words=beginning(looks_at(result.asked), 500) if result.asked else "",
        said=beginning(result.said, 500),
        seconds=round(result.seconds, 3),
    )
    if result.subtask.state == State.DONE and not result.by:
        was, now = before_and_after(result)
        if was != now:
            record_event(plan, "plan.updated", SYSTEM, subtask=key, verification=now)


def before_and_after(result: CheckResult) -> list[Word | None]:
    """What its subtask was without this result, and is with it; None where it is not done."""
    subtask = Subtask.objects.select_related("plan").get(pk=result.subtask_id)
    rows = [*of_last_attempt(subtask.check_results.all())]
    histories = ([each for each in rows if each.pk < result.pk], rows)
    return [word_of(subtask, {subtask.pk: each}) for each in histories]


def word_of(subtask: Subtask, rows: Rows) -> Word | None:
    known = verify(subtask.plan, [subtask], rows).get(subtask.pk)
    return known.word if known else None


# As pages and the API show them

STATES = {True: "passed", False: "failed", None: "could_not_run"}


class CheckResultSnapshot(BaseModel, extra="forbid"):
    """`passed` is null where it could not be run; `by` is the person who looked in its place."""

    passed: bool | None
    said: str
    at: Moment
    seconds: float
    cost: float | None
    by: str


class CheckSnapshot(BaseModel, extra="forbid"):
    """A check with the fields of its kind, and what it came to last."""

    key: str
    # Any text: one that another version has made is shown by its name.
    kind: Annotated[str, Field(json_schema_extra={"enum": list(get_args(Kind))})]
    path: str | None = None
    exists: bool | None = None
    absent: bool | None = None
    unchanged: bool | None = None
    contains: str | None = None
    matches: str | None = None
    command: str | None = None
    exit_code: int | None = None
    timeout_s: int | None = None
    url: str | None = None
    status: int | None = None
    tool: str | None = None
    arguments: JsonValue = None
    value: JsonValue = None
    question: str | None = None
    result: CheckResultSnapshot | None

    @property
    def asked(self) -> CheckJson:
        """As it is stored."""
        return self.model_dump(exclude_unset=True, exclude={"result"})

    @property
    def state(self) -> str:
        """As it came out last."""
        return STATES[self.result.passed] if self.result else "not_run"


def result_snapshot(result: CheckResult) -> CheckResultSnapshot:
    return CheckResultSnapshot.model_construct(
        passed=result.passed,
        said=result.said,
        at=timestamp(result.at),
        seconds=round(result.seconds, 3),
        cost=None if result.cost is None else float(result.cost),
        by=result.by,
    )


def check_snapshots(subtask: Subtask, rows: Rows) -> list[CheckSnapshot]:
    """Each check of a subtask with its last result, if that was of this very check."""
    latest = {each.key: each for each in standing(rows.get(subtask.pk, ()))}
    snapshots = []
    for check in subtask.checks:
        result = result_of(check, latest)
        last = result_snapshot(result) if result is not None else None
        snapshots.append(CheckSnapshot.model_construct(**check, result=last))
    return snapshots


class FinishLine(NamedTuple):
    """`state` is passed, failed, could_not_run, asks, running, next, or not_reached."""

    check: CheckJson
    state: str
    result: CheckResultSnapshot | None


def finish_lines(call: ToolCall) -> list[FinishLine]:
    """A finish that was checked, check by check; once it is over the rest is not_reached."""
    attempt = Attempt.objects.filter(turn=call.turn_id).select_related("subtask").first()
    checks = approved_checks(attempt) if attempt is not None else []
    rows: defaultdict[str, CheckResult | None] = defaultdict(lambda: None)
    rows |= {each.key: each for each in CheckResult.objects.filter(call=call).order_by("pk")}
    is_over = call.state not in ("", ToolCall.State.RUNNING)
    asks = set(
        ToolCall.objects.filter(
            turn=call.turn_id, state=ToolCall.State.ASKED, message__meta__finish=call.pk
        ).values_list("message__meta__check", flat=True)
    )
    lines = []
    is_next = False
    for check in checks:
        result = rows[check["key"]]
        if result is not None:
            state = STATES[result.passed]
        elif check["key"] in asks:
            state, is_next = "asks", True
        elif is_over:
            state = "not_reached"
        else:
            state, is_next = ("next" if is_next else "running"), True
        lines.append(FinishLine(check, state, result_snapshot(result) if result else None))
    return lines


def failed_words(results: Sequence[CheckResult]) -> str:
    """Which checks said no, and why, for the model and the person."""
    line = untranslated("- {key} ({kind}: {about}): {said}")
    about = ((each, looks_at(each.asked)) for each in results)
    return lines(
        *(line.format(key=e.key, kind=e.asked["kind"], about=at, said=e.said) for e, at in about)
    )
