"""The status of a plan: one pure function over facts, in the word that every place shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.functional import Promise

from agents.conversation_tree import descendants
from agents.errors import NotFound
from agents.models import Lane, Message, ToolCall, Turn, TurnState
from agents.statements import one_of, one_of_open, prepared
from agents.stored_text import gettext, gettext_lazy
from plans.models import Attempt, Plan, Run, State, Subtask
from plans.verification import FILLED, Word, words_in


class Group(StrEnum):
    """What lists and filters tell apart, the most pressing first."""

    FAILED = "failed"
    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    DONE = "done"
    ABANDONED = "abandoned"


@dataclass(frozen=True)
class Status:
    """`mark` is the shape that is drawn beside the word; `is_finished` that of a plan which is."""

    name: str
    text: str | Promise
    mark: str
    group: Group
    is_finished: bool = False

    @property
    def word(self) -> str:
        """In the reader's language."""
        return str(self.text)

    @property
    def mark_name(self) -> str:
        """What its mark is called: the word, and of what is finished whether that was checked."""
        return str(FINISHED.get(self.mark, self.text) if self.is_finished else self.text)

    @property
    def attention(self) -> str:
        """What needs a person, as the API says it, or "none"."""
        if self.group not in (Group.FAILED, Group.WAITING):
            return "none"
        return "confirm" if self.name == "document" else self.name


FINISHED = {
    "done": gettext_lazy("Finished, checked"),
    "own_check": gettext_lazy("Finished, checked by its own check"),
    "by_word": gettext_lazy("Finished, by the agent’s word"),
    "undone": gettext_lazy("Finished, undone by you"),
    "regressed": gettext_lazy("Finished, no longer true"),
}
STATUSES = {
    each.name: each
    for each in (
        Status("failed", gettext_lazy("Failed"), "failed", Group.FAILED),
        Status("approval", gettext_lazy("Waiting for you"), "waiting", Group.WAITING),
        Status("question", gettext_lazy("Waiting for your answer"), "question", Group.WAITING),
        Status("check", gettext_lazy("A check could not be run"), "waiting", Group.WAITING),
        Status("regressed", gettext_lazy("No longer true"), "regressed", Group.WAITING),
        Status("budget", gettext_lazy("Budget used up"), "waiting", Group.WAITING),
        Status("confirm", gettext_lazy("Waiting for you to start it"), "waiting", Group.WAITING),
        Status("document", gettext_lazy("Waiting for you to approve it"), "waiting", Group.WAITING),
        Status("halted", gettext_lazy("Waiting for you to go on"), "waiting", Group.WAITING),
        Status("held", gettext_lazy("Held"), "failed", Group.RUNNING),
        Status("running", gettext_lazy("Running"), "in_progress", Group.RUNNING),
        Status("pausing", gettext_lazy("Pausing"), "in_progress", Group.RUNNING),
        Status("stopping", gettext_lazy("Stopping"), "in_progress", Group.RUNNING),
        Status("paused", gettext_lazy("Paused"), "paused", Group.PAUSED),
        Status("hidden", gettext_lazy("In another alternative"), "paused", Group.STOPPED),
        Status("ready", gettext_lazy("Ready to start"), "paused", Group.STOPPED),
        Status("stopped", gettext_lazy("Stopped"), "paused", Group.STOPPED),
        Status("done", gettext_lazy("Finished"), "done", Group.DONE),
        Status("in_force", gettext_lazy("In force"), "done", Group.DONE),
        Status("cancelled", gettext_lazy("Cancelled"), "abandoned", Group.ABANDONED),
        Status("superseded", gettext_lazy("Replaced"), "abandoned", Group.ABANDONED),
        Status("cleared", gettext_lazy("Cleared"), "abandoned", Group.ABANDONED),
        Status("out_of_force", gettext_lazy("Out of force"), "abandoned", Group.ABANDONED),
        Status("abandoned", gettext_lazy("Abandoned"), "abandoned", Group.ABANDONED),
    )
}
# What a subtask's mark, or a plan's, is called beside nothing that says it.
MARKS = {
    "todo": gettext_lazy("To do"),
    "in_progress": gettext_lazy("In progress"),
    "done": gettext_lazy("Done, checked"),
    "looked": gettext_lazy("Done, looked at by you"),
    "own_check": gettext_lazy("Done, checked by its own check"),
    "by_word": gettext_lazy("Done, by the agent’s word"),
    "undone": gettext_lazy("Undone by you"),
    "check_failed": gettext_lazy("A check failed"),
    "regressed": gettext_lazy("No longer true"),
    "abandoned": gettext_lazy("Abandoned"),
    "waiting": gettext_lazy("Waiting for you"),
    "paused": gettext_lazy("Paused"),
    "failed": gettext_lazy("Failed"),
    "question": gettext_lazy("Asks you something"),
}
# Of a conversation whose plan is only asked for.
BEING_WRITTEN = Status(
    "being_written", gettext_lazy("Writing a plan"), "in_progress", Group.RUNNING
)
WAITS_FOR_ANSWER = Status(
    "waits_for_answer", gettext_lazy("Waits for your answer"), "waiting", Group.WAITING
)
PRESSING = {
    each.name: (list(Group).index(each.group), place)
    for place, each in enumerate((*STATUSES.values(), BEING_WRITTEN, WAITS_FOR_ANSWER))
}
# Of an alternative that is not shown: it stands for nothing beside what is.
HIDDEN = STATUSES["hidden"]
RUNS = {
    Run.PAUSED: "paused",
    Run.PAUSING: "pausing",
    Run.STOPPING: "stopping",
    Run.RUNNING: "running",
    Run.QUEUED: "running",
}
ENDED = ("cancelled", "superseded", "cleared", "out_of_force")
AT_A_LIMIT = (Plan.PauseReason.BUDGET, Plan.PauseReason.CHECK)


class Facts(NamedTuple):
    """What a plan's status follows from: its row, its subtasks, and what its open turns ask."""

    state: str
    reason: str
    run: str
    pause_reason: str
    is_confirmed: bool
    is_halted: bool  # the run ended by itself before the plan did
    is_hidden: bool  # proposed in an alternative that is not shown
    has_subtasks: bool
    is_tried: bool
    has_failed: bool  # a subtask that is to do, by its last attempt
    words: Mapping[str, int]  # how many of its subtasks are done so
    is_held: bool  # a turn waits for the model's next try
    asks_question: bool
    asks_approval: bool

    @property
    def has_regressed(self) -> bool:
        return bool(self.words.get(Word.REGRESSED))


def status_of(facts: Facts) -> Status:
    status = STATUSES[name_of(facts)]
    if facts.state != State.DONE or status.name == "in_force":
        return status
    if status.name != "done" or not facts.has_subtasks:  # a text that was never approved
        return replace(status, is_finished=True)
    return replace(status, is_finished=True, mark=weakest_mark(facts.words))


def most_urgent(shown: Status | None, beside: Iterable[Status]) -> Status | None:
    """Of the plan in the drawer and the open ones beside it."""
    found = [*filter(None, [shown]), *(each for each in beside if each != HIDDEN)]
    return min(found, key=lambda each: PRESSING[each.name], default=None)


def status_of_asking(is_written: bool) -> Status:
    """Of a plan that is asked for, by whether a turn is at work on it."""
    return BEING_WRITTEN if is_written else WAITS_FOR_ANSWER


def weakest_mark(words: Mapping[str, int]) -> str:
    """The mark of a plan of whose done subtasks so many are so: a filled tick says that all are
    checked or looked at."""
    weakest = next((word for word in Word if words.get(word)), Word.BY_WORD)
    return "done" if weakest in FILLED else weakest.value


def name_of(facts: Facts) -> str:
    if facts.state == State.ABANDONED:
        kind = facts.reason.partition(":")[0]  # behind it stand a person's own words
        return kind if kind in ENDED else "abandoned"
    if facts.state == State.DONE and facts.is_confirmed and not facts.has_subtasks:
        return "in_force"
    if facts.state == State.DONE:
        return "approval" if facts.asks_approval else "regressed" if facts.has_regressed else "done"
    if facts.is_hidden:
        return "hidden"
    return name_of_need(facts) or name_of_run(facts)


def name_of_need(facts: Facts) -> str:
    """What an open plan needs a person for, the most pressing first; empty for nothing."""
    is_idle = facts.run == Run.IDLE
    # What has failed in a version that was changed since cannot be retried before a yes to that.
    if is_idle and facts.has_failed and facts.is_confirmed:
        return "failed"
    # What is not true any more keeps no run from going on: what does comes first.
    if is_idle and facts.has_regressed:
        return "regressed"
    if facts.asks_question:
        return "question"
    if facts.asks_approval:
        return "approval"
    if facts.run == Run.PAUSED and facts.pause_reason in AT_A_LIMIT:
        return facts.pause_reason
    if not facts.is_confirmed:
        return "confirm" if facts.has_subtasks else "document"
    return "halted" if is_idle and facts.is_halted else ""


def name_of_run(facts: Facts) -> str:
    if facts.is_held and facts.run in (Run.RUNNING, Run.QUEUED):
        return "held"
    if facts.run != Run.IDLE:
        return RUNS[Run(facts.run)]
    return "stopped" if facts.is_tried else "ready"


def mark_of_done(word: str) -> str:
    """The shape that stands for a subtask that is done so."""
    return "done" if word == Word.CHECKED else str(word)


# The facts of many plans: two queries, two more where something waits, three of what is done


def statuses_of(plan_ids: Iterable[int]) -> dict[int, Status]:
    return {plan: status_of(facts) for plan, facts in facts_of(plan_ids).items()}


def status_of_plan(plan: Plan) -> Status:
    """Raises NotFound for one that was deleted."""
    if status := statuses_of([plan.pk]).get(plan.pk):
        return status
    raise NotFound(gettext("There is no plan {plan} any more.").format(plan=plan.pk))


def facts_of(plan_ids: Iterable[int]) -> dict[int, Facts]:
    """Of those that are there."""
    plans = list(plan_ids)
    if not plans:
        return {}
    turns = defaultdict(list)
    for turn in open_turns_of_plans.models(plans=plans):
        turns[turn.plan].append(turn)
    asking = Asking.of(turn for each in turns.values() for turn in each)
    rows, facts = facts_in_rows.rows(plans=plans), {}
    words = words_in(plan for plan, *_, done in rows if done)
    for plan, *row, done in rows:
        words[plan][Word.BY_WORD] += done - words[plan].total()
        facts[plan] = Facts(*[*row, words[plan]], **asking.facts(turns[plan]))
    return facts


@prepared
def facts_in_rows(plans: list[int]) -> QuerySet[Plan, Any]:
    """A plan's key and, in their order, the fields of `Facts` up to `words`; how many of its
    subtasks are done."""
    listed = Subtask.objects.filter(plan=OuterRef("pk"), position__isnull=False)
    done = listed.filter(state=State.DONE).order_by().values("plan").annotate(n=Count("pk"))
    hidden_card = Exists(Message.objects.filter(pk=OuterRef("card"), hidden=True))
    said: dict[str, Any] = {
        "is_confirmed": Q(approved_version__isnull=False, approved_version=F("version")),
        "is_halted": Q(run_options__has_key="halted", run_options__halted=True),
        "is_hidden": hidden_card & Q(approved_version=None),  # once approved it stays in view
        "has_subtasks": Exists(listed),
        "is_tried": Exists(listed.filter(attempts__isnull=False)),
        "has_failed": Exists(failed_subtasks()),
        "done": Coalesce(Subquery(done.values("n")), 0),
    }
    rows = Plan.objects.filter(one_of("pk", plans)).annotate(**said)
    return rows.values_list("pk", "state", "reason", "run", "pause_reason", *said)


def failed_subtasks() -> QuerySet[Subtask]:
    """Of the outer query's plan: those to do whose last attempt has an error."""
    last = Attempt.objects.filter(subtask=OuterRef("pk")).order_by("-number").values("error")
    left = Subtask.objects.filter(plan=OuterRef("pk"), state=State.TODO, position__isnull=False)
    return left.annotate(last_error=Subquery(last[:1])).filter(last_error__gt="")


@prepared
def open_turns_of_plans(plans: list[int]) -> QuerySet[Turn]:
    """Those of their runs and of checks of what is done."""
    turns = Turn.objects.filter(one_of_open(Turn.OPEN_STATES, "state"), one_of("plan", plans))
    return turns.exclude(lane=Lane.CHAT).order_by("pk")


@dataclass(frozen=True)
class Asking:
    """What turns ask a person, themselves or by agents that work for them; by turn."""

    by_turn: Mapping[int, list[ToolCall]]  # that wait for leave; a question is not one of them
    questions: Mapping[int, int]  # with the call that asks

    @property
    def calls(self) -> list[ToolCall]:
        found = {call.pk: call for calls in self.by_turn.values() for call in calls}
        return [found[pk] for pk in sorted(found)]

    def __bool__(self) -> bool:
        return bool(self.by_turn or self.questions)

    def of_turns(self, turns: Iterable[int]) -> Asking:
        """What these of them ask."""
        wanted = set(turns)
        calls = {pk: each for pk, each in self.by_turn.items() if pk in wanted}
        return Asking(calls, {pk: each for pk, each in self.questions.items() if pk in wanted})

    @classmethod
    def of(cls, turns: Iterable[Turn]) -> Asking:
        waiting = [turn for turn in turns if turn.state == TurnState.WAITING]
        if not waiting:
            return cls({}, {})
        callers = [turn for turn in waiting if turn.waiting_for == Turn.WaitingFor.CHILD]
        below = descendants(callers, Turn.objects.filter(state__in=Turn.OPEN_STATES))
        works_for = {turn.pk: {turn.pk} for turn in waiting}
        for turn in below:  # callers come before those they called
            call = turn.conversation.parent_call
            above = works_for[call.turn_id] if call else set()
            works_for[turn.pk] = above | works_for.get(turn.pk, set())
        rows = ToolCall.objects.filter(turn__in=works_for, state=ToolCall.State.ASKED, decision="")
        calls = defaultdict(list)
        asks = (t for t in (*waiting, *below) if t.waiting_for == Turn.WaitingFor.QUESTION)
        questions = {pk: 0 for turn in asks for pk in works_for[turn.pk]}
        for each in rows.order_by("pk"):
            for pk in works_for[each.turn_id]:
                if each.tool != "ask_user":
                    calls[pk].append(each)
                elif pk in questions:
                    questions[pk] = each.pk
        return cls(calls, questions)

    def facts(self, turns: Iterable[Turn]) -> dict[str, Any]:
        """Of the open turns of one plan."""
        of_run = [turn for turn in turns if turn.lane == Lane.RUN]
        return {
            "is_held": any(turn.not_before for turn in of_run),
            "asks_question": any(turn.pk in self.questions for turn in of_run),
            "asks_approval": any(turn.pk in self.by_turn for turn in turns),
        }
