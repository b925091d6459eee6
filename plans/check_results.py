"""What checks came to: the last of each, what a subtask is by them, and how pages show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple, get_args

from django.db.models import F, Max, QuerySet
from pydantic import BaseModel, Field, JsonValue

from agents.actors import Actor
from agents.models import ToolCall
from agents.timestamps import Moment, timestamp
from plans.check_text import CheckJson, Kind, looks_at, wording
from plans.models import Attempt, CheckResult, Plan, PlanVersion, Subtask
from plans.queries import SYSTEM, record_event

Latest = dict[tuple[int, str], CheckResult]  # by subtask and key


def latest_results(plan: Plan, subtasks: Iterable[Subtask]) -> Latest:
    """The newest result of each check; no query for a plan without any."""
    if not any(each.checks for each in subtasks):
        return {}
    return newest(CheckResult.objects.filter(subtask__plan=plan))


def of_last_attempt(rows: QuerySet[CheckResult]) -> QuerySet[CheckResult]:
    """What was seen since the subtask was begun last: each attempt does the work anew."""
    return rows.exclude(at__lt=F("subtask__started_at"))


def newest(rows: QuerySet[CheckResult]) -> Latest:
    """Of each check, as it came out for what the last attempt has done or is doing."""
    rows = of_last_attempt(rows).order_by()
    last = rows.values("subtask", "key").annotate(last=Max("pk")).values("last")
    return {(each.subtask_id, each.key): each for each in CheckResult.objects.filter(pk__in=last)}


def verdict(subtask: Subtask) -> bool | None:
    """What a done subtask is by its checks and by who has looked: True where each has passed,
    False where one does not hold any more, None where nothing but the agent's word says so."""
    definite = newest(CheckResult.objects.filter(subtask=subtask, passed__isnull=False))
    looked = definite.pop((subtask.pk, ""), None)
    since = looked.pk if looked is not None else 0
    verdicts: list[bool | None] = []
    for check in subtask.checks:
        result = definite.get((subtask.pk, check["key"]))
        if result is None or wording(result.asked) != wording(check):
            verdicts.append(None)
        else:
            verdicts.append(result.passed or result.pk < since)
    if False in verdicts:
        return False
    if looked is not None or (verdicts and all(verdicts)):
        return True
    return None


def untrue_since(subtask: Subtask) -> datetime | None:
    """When the first of its checks that fail now began to: its first no after its last yes, or
    after a person has looked."""
    rows = of_last_attempt(subtask.check_results.filter(passed__isnull=False)).order_by("pk")
    wanted = {check["key"]: wording(check) for check in subtask.checks}
    since: dict[str, datetime] = {}
    for row in rows:
        if row.passed and not row.key:
            since.clear()
        elif row.passed:
            since.pop(row.key, None)
        elif wanted.get(row.key) == wording(row.asked):
            since.setdefault(row.key, row.at)
    return min(since.values(), default=None)


def judge(subtask: Subtask) -> None:
    """Write down what a done subtask is now; within the transaction that changed its results."""
    subtask.verified = verdict(subtask)
    passed = of_last_attempt(subtask.check_results.filter(passed=True))
    looked = passed.exclude(by="").last()
    keys = [check["key"] for check in subtask.checks]
    since = looked.pk if looked is not None else 0
    later = passed.filter(pk__gt=since, by="", key__in=keys)
    # Once every check has said yes by itself, nobody's look is needed for it.
    stands = subtask.verified and not (keys and later.values("key").distinct().count() == len(keys))
    subtask.looked_by = looked.by if looked is not None and stands else ""
    subtask.looked_at = looked.at if looked is not None and stands else None
    subtask.untrue_since = untrue_since(subtask) if subtask.verified is False else None
    subtask.save(update_fields=["verified", "looked_by", "looked_at", "untrue_since"])


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
    last = subtask.check_results.order_by("pk").last()
    return last if last is not None and last.passed is None else None


EVENTS = {True: "check.passed", False: "check.failed", None: "check.not_run"}


def announce(plan: Plan, result: CheckResult, by: Actor = SYSTEM) -> None:
    """Tell what a check came to, or that a person has looked."""
    record_event(
        plan,
        EVENTS[result.passed],
        by,
        subtask=result.subtask.key,
        check=result.key,
        kind=str(result.asked.get("kind") or ""),
        words=looks_at(result.asked)[:500] if result.asked else "",
        said=result.said[:500],
        seconds=round(result.seconds, 3),
    )


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


def check_snapshots(subtask: Subtask, latest: Latest) -> list[CheckSnapshot]:
    """Each check of a subtask with its last result, if that was of this very check."""
    snapshots = []
    for check in subtask.checks:
        result = latest.get((subtask.pk, check["key"]))
        same = result is not None and wording(result.asked) == wording(check)
        last = result_snapshot(result) if result is not None and same else None
        snapshots.append(CheckSnapshot.model_construct(**check, result=last))
    return snapshots


def last_checked(plan: Plan, subtasks: Sequence[Subtask]) -> str:
    """When what is done was checked last, or looked at; empty where neither has been."""
    results = latest_results(plan, subtasks)
    checks = [check for each in subtasks for check in check_snapshots(each, results)]
    moments = [check.result.at for check in checks if check.result]
    looked = [timestamp(each.looked_at) for each in subtasks if each.looked_at]
    return max([*moments, *looked], default="")


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
    return "\n".join(
        f"- {each.key} ({each.asked['kind']}: {looks_at(each.asked)}): {each.said}"
        for each in results
    )
