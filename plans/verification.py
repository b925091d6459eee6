"""By what each done subtask is known to be done: read from results, yeses and undos when asked.

Nothing of it is stored. Of however many plans it takes the same few queries.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet

from agents.actors import PERSON
from agents.models import Undo
from agents.statements import one_of, prepared
from plans.changes.undone import undone_subtasks
from plans.check_text import CheckJson, wording
from plans.models import CheckResult, Plan, PlanVersion, State, Subtask

Rows = dict[int, list[CheckResult]]  # of each subtask, the oldest first


class Word(StrEnum):
    """Four words for what is done, and two for what is not so any more; the weakest first."""

    REGRESSED = "regressed"
    UNDONE = "undone"
    BY_WORD = "by_word"
    OWN_CHECK = "own_check"
    LOOKED = "looked"
    CHECKED = "checked"


# What a person approved, or has seen with their own eyes.
FILLED = (Word.CHECKED, Word.LOOKED)
GONE = (Word.REGRESSED, Word.UNDONE)  # may be done again


class Verification(NamedTuple):
    """Who has looked, or undone it, and when; of what is no longer true since when."""

    word: Word
    by: str = ""
    at: datetime | None = None


class Done(NamedTuple):
    """What is read of a subtask that is done, and of its plan."""

    pk: int
    key: str
    checks: Sequence[CheckJson]
    plan: int
    conversation: int
    approved_version: int | None
    read_version: int | None

    @classmethod
    def of(cls, subtask: Subtask, plan: Plan) -> Done:
        of_plan = (plan.pk, plan.conversation_id, plan.approved_version, plan.read_version)
        return cls(subtask.pk, subtask.key, subtask.checks, *of_plan)


def verify(plan: Plan, subtasks: Iterable[Subtask], rows: Rows) -> dict[int, Verification]:
    """Of those that are done, by id; `rows` are the plan's results."""
    return verified([Done.of(each, plan) for each in subtasks if each.state == State.DONE], rows)


def verified_in(plans: Iterable[int]) -> list[tuple[Done, Verification]]:
    """Of what is done in these plans; what has no result and was not undone is left out."""
    done = done_in(plans)
    known = verified(done, results_in({each.plan for each in done}))
    return [(each, known[each.pk]) for each in done]


def words_in(plans: Iterable[int]) -> dict[int, Counter[Word]]:
    """By plan, how many of its subtasks are so, likewise."""
    counts: dict[int, Counter[Word]] = defaultdict(Counter)
    for each, known in verified_in(plans):
        counts[each.plan][known.word] += 1
    return counts


def untrue_since(plans: Iterable[int]) -> dict[int, datetime]:
    """Of plans in which something is no longer true, since when."""
    found: dict[int, datetime] = {}
    for each, known in verified_in(plans):
        if known.word == Word.REGRESSED and known.at:
            found[each.plan] = min(known.at, found.get(each.plan, known.at))
    return found


def undone_in(plan: Plan, subtasks: Iterable[Subtask]) -> set[int]:
    """Of these, by id, what a person has undone."""
    return {*undone_subtasks({s.pk: (plan.conversation_id, plan.pk, s.key) for s in subtasks})}


def verified(done: Sequence[Done], rows: Rows) -> dict[int, Verification]:
    undone = undone_subtasks({each.pk: (each.conversation, each.plan, each.key) for each in done})
    found = {each.pk: by_results(each, rows.get(each.pk, ())) for each in done}
    found |= {pk: Verification(Word.UNDONE, row.by, row.created_at) for pk, row in undone.items()}
    by_checks = [each for each in done if found[each.pk].word == Word.CHECKED]
    found |= dict.fromkeys(with_own_checks(by_checks), Verification(Word.OWN_CHECK))
    failing = [each for each in done if found[each.pk].word == Word.REGRESSED]
    return found | {pk: Verification(Word.REGRESSED, at=at) for pk, at in since(failing).items()}


def by_results(done: Done, rows: Sequence[CheckResult]) -> Verification:
    """By the last result of each of its checks, and by who has looked since."""
    rows = [each for each in standing(rows) if each.passed is not None]
    looks = [each for each in rows if each.by and each.passed]
    seen = max((each.pk for each in looks if not each.key), default=0)
    last = {each.key: each for each in rows}
    results = [result_of(check, last) for check in done.checks]
    says = [each and (each.passed or each.pk < seen) for each in results]
    if False in says:
        return Verification(Word.REGRESSED)
    if not seen and not (says and all(says)):
        return Verification(Word.BY_WORD)
    look = looks[-1] if looks else None
    # Once every check has said yes by itself, nobody's look is needed for it.
    by_itself = [each and each.passed and not each.by and each.pk for each in results]
    if look and not (by_itself and all(pk and pk > look.pk for pk in by_itself)):
        return Verification(Word.LOOKED, look.by, look.at)
    return Verification(Word.CHECKED)


def standing(rows: Sequence[CheckResult]) -> list[CheckResult]:
    """Without looks that were taken back since."""
    back = max((each.pk for each in rows if takes_back(each)), default=0)
    return [each for each in rows if not each.by or each.pk > back]


def takes_back(row: CheckResult) -> bool:
    return bool(row.by) and not row.key and row.passed is None


def result_of(check: CheckJson, last: Mapping[str, CheckResult]) -> CheckResult | None:
    """The last result of a check, if that was of this very check."""
    result = last.get(check["key"])
    return result if result is not None and wording(result.asked) == wording(check) else None


def with_own_checks(done: Sequence[Done]) -> list[int]:
    """Those with a check that no person has read: neither said yes to nor written themselves."""
    unread = [each for each in done if each.approved_version != each.read_version]
    if not unread:
        return []
    texts: dict[int, list[PlanVersion]] = defaultdict(list)
    for row in PlanVersion.objects.filter(plan__in={each.plan for each in unread}):
        texts[row.plan_id].append(row)
    read = {each.plan: checks_read(texts[each.plan], each.read_version or 0) for each in unread}
    return [
        each.pk
        for each in unread
        if any((each.key, wording(check)) not in read[each.plan] for check in each.checks)
    ]


def checks_read(versions: Sequence[PlanVersion], last: int) -> set[tuple[str, str]]:
    """By a subtask's key, the checks of the version that a person said yes to last, and those that
    people have added since."""
    read: set[tuple[str, str]] = set()
    before: set[tuple[str, str]] = set()
    for row in versions:
        now = {(each["key"], wording(c)) for each in row.text["subtasks"] for c in each["checks"]}
        if row.version == last:
            read |= now
        elif row.version > last and row.author_kind == PERSON:
            read |= now - before
        before = now
    return read


def since(failing: Sequence[Done]) -> dict[int, datetime | None]:
    """When the first of the checks that fail now began to: its first no after its last yes, or
    after a person has looked."""
    rows: Rows = defaultdict(list)
    history = CheckResult.objects.filter(subtask__in=[each.pk for each in failing])
    for row in of_last_attempt(history).order_by("pk") if failing else ():
        rows[row.subtask_id].append(row)
    noes = {each.pk: first_noes(each, standing(rows[each.pk])) for each in failing}
    return {pk: min(moments, default=None) for pk, moments in noes.items()}


def first_noes(done: Done, rows: Iterable[CheckResult]) -> list[datetime]:
    wanted = {check["key"]: wording(check) for check in done.checks}
    found: dict[str, datetime] = {}
    for row in rows:
        if row.passed and not row.key:
            found.clear()
        elif row.passed:
            found.pop(row.key, None)
        elif row.passed is False and wanted.get(row.key) == wording(row.asked):
            found.setdefault(row.key, row.at)
    return list(found.values())


# What is read of results and of what is done


def of_last_attempt(rows: QuerySet[CheckResult]) -> QuerySet[CheckResult]:
    """What was seen since the subtask was begun last: each attempt does the work anew."""
    return rows.exclude(at__lt=F("subtask__started_at"))


def results_in(plans: Iterable[int]) -> Rows:
    rows: Rows = defaultdict(list)
    for row in last_results.models(plans=[*plans]) if plans else ():
        rows[row.subtask_id].append(row)
    return rows


@prepared
def last_results(plans: list[int]) -> QuerySet[CheckResult]:
    """Of each check of these plans the last that passed, failed, could not be run, and was looked
    at by somebody."""
    rows = CheckResult.objects.filter(one_of("subtask__plan", plans)).order_by()
    kinds = of_last_attempt(rows).values("subtask", "key", "passed", "by")
    return CheckResult.objects.filter(pk__in=kinds.annotate(last=Max("pk")).values("last"))


def done_in(plans: Iterable[int]) -> list[Done]:
    wanted = [*plans]
    return [Done(*row) for row in done_rows.rows(plans=wanted)] if wanted else []


@prepared
def done_rows(plans: list[int]) -> QuerySet[Subtask, Any]:
    """The columns are those of `Done`, of subtasks with a result or maybe an undo."""
    results = Exists(CheckResult.objects.filter(subtask=OuterRef("pk")))
    undos = Exists(Undo.objects.filter(conversation=OuterRef("plan__conversation")))
    rows = Subtask.objects.filter(one_of("plan", plans), results | undos, state=State.DONE)
    of_plan = ("conversation", "approved_version", "read_version")
    names = ("pk", "key", "checks", "plan", *(f"plan__{name}" for name in of_plan))
    return rows.filter(position__isnull=False).order_by().values_list(*names)


def maybe_untrue() -> QuerySet[Subtask]:
    """Subtasks that are done, each with a check that has said no and not yes since; whether it is
    true all the same, as a person has looked or undone it, or the check is another one by now,
    `verified_in` knows."""
    later = CheckResult.objects.filter(subtask=OuterRef("subtask"), key=OuterRef("key"))
    later = later.filter(passed=True, by="", pk__gt=OuterRef("pk"))
    failed = of_last_attempt(CheckResult.objects.filter(~Exists(later), passed=False))
    done = Q(state=State.DONE, position__isnull=False)
    return Subtask.objects.filter(done, pk__in=failed.values("subtask"))
