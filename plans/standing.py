"""How a plan stands, in the one word that every place shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from agents.models import Lane, Message, ToolCall, Turn, TurnState
from agents.statements import one_of, prepared
from plans.models import LIVE, Attempt, Plan, Run, State, Subtask


@dataclass(frozen=True)
class Standing:
    """`shape` is the mark that is drawn beside the word."""

    name: str
    text: str | Promise
    shape: str

    @property
    def word(self) -> str:
        """In the reader's language."""
        return str(self.text)

    @property
    def mark_name(self) -> str:
        """What its mark is called: the word, and of what is finished whether that was checked."""
        return str(FINISHED.get(self.shape, self.text))


FINISHED = {
    "done": gettext_lazy("Finished, checked"),
    "by_word": gettext_lazy("Finished, by the agent’s word"),
    "regressed": gettext_lazy("Finished, no longer true"),
}
# Of a conversation whose plan is only asked for.
BEING_WRITTEN = Standing("being_written", gettext_lazy("Writing a plan"), "in_progress")
WAITS_FOR_ANSWER = Standing("waits_for_answer", gettext_lazy("Waits for your answer"), "waiting")


ALL = {
    each.name: each
    for each in (
        Standing("failed", gettext_lazy("Failed"), "failed"),
        Standing("held", gettext_lazy("Held"), "failed"),
        Standing("approval", gettext_lazy("Waiting for you"), "waiting"),
        Standing("question", gettext_lazy("Waiting for your answer"), "question"),
        Standing("check", gettext_lazy("A check could not be run"), "waiting"),
        Standing("regressed", gettext_lazy("No longer true"), "regressed"),
        Standing("budget", gettext_lazy("Budget used up"), "waiting"),
        Standing("confirm", gettext_lazy("Waiting for you to start it"), "waiting"),
        Standing("document", gettext_lazy("Waiting for you to approve it"), "waiting"),
        Standing("hidden", gettext_lazy("In another alternative"), "paused"),
        Standing("running", gettext_lazy("Running"), "in_progress"),
        Standing("pausing", gettext_lazy("Pausing"), "in_progress"),
        Standing("stopping", gettext_lazy("Stopping"), "in_progress"),
        Standing("paused", gettext_lazy("Paused"), "paused"),
        Standing("ready", gettext_lazy("Ready to start"), "paused"),
        Standing("halted", gettext_lazy("Waiting for you to go on"), "waiting"),
        Standing("stopped", gettext_lazy("Stopped"), "paused"),
        Standing("done", gettext_lazy("Finished"), "done"),
        Standing("cancelled", gettext_lazy("Cancelled"), "abandoned"),
        Standing("superseded", gettext_lazy("Replaced"), "abandoned"),
        Standing("cleared", gettext_lazy("Cleared"), "abandoned"),
        Standing("abandoned", gettext_lazy("Abandoned"), "abandoned"),
    )
}
RUNS = {
    Run.PAUSED: "paused",
    Run.PAUSING: "pausing",
    Run.STOPPING: "stopping",
    Run.RUNNING: "running",
    Run.QUEUED: "running",
}
ASKING = Turn.objects.filter(state=TurnState.WAITING, waiting_for=Turn.WaitingFor.QUESTION)
ENDED = ("cancelled", "superseded", "cleared")


def standing(
    *,
    state: str,
    reason: str,
    run: str,
    attention: str,
    held: bool,
    tried: bool,
    empty: bool,
    hidden: bool,
    weakest: str,
) -> Standing:
    """Failed outranks waiting for a person, which outranks how the run goes.

    `held`: its turn waits for the model's next try; `empty`: a text alone, without subtasks;
    `hidden`: it belongs to an alternative that is not shown, so nobody can say yes to it;
    `weakest`: the mark that a plan wears which is done.
    """
    if state == State.DONE:
        if attention == "none":
            return replace(ALL["done"], shape=weakest)
        name = attention
    elif state == State.ABANDONED:
        kind = reason.partition(":")[0]  # behind it stand a person's own words
        name = kind if kind in ENDED else "abandoned"
    elif hidden:
        name = "hidden"
    elif attention == "confirm" and empty:
        name = "document"
    elif attention != "none":
        name = attention
    elif held and run in (Run.RUNNING, Run.QUEUED):
        name = "held"
    elif run != Run.IDLE:
        name = RUNS[Run(run)]
    elif not tried:
        name = "ready"
    else:
        name = "stopped"
    return ALL[name]


def weakest_of(*, checked: bool, by_word: bool, regressed: bool) -> str:
    """The mark of a plan of which some subtasks are so: a filled tick says that each that is done
    is checked. A text alone has been approved as it stands."""
    if regressed:
        return "regressed"
    return "by_word" if by_word or not checked else "done"


def weakest_of_document(plan: Mapping[str, Any]) -> str:
    done = plan["progress"]
    if not plan["subtasks"]:
        return "done"
    return weakest_of(
        **{name: bool(done[name]) for name in ("checked", "by_word", "regressed")},
    )


def attention_of(
    plan: Plan,
    *,
    failed: bool,
    regressed: bool,
    approvals: bool,
    question: bool,
    hidden: bool,
) -> str:
    """What needs a person, the most pressing first. What is not true any more keeps no run from
    going on: what does comes before it."""
    if hidden or plan.state == State.ABANDONED:
        return "none"
    if not plan.is_open:
        return "approval" if approvals else "regressed" if regressed else "none"
    # What has failed in a version that was changed since cannot be retried before a yes to that.
    if failed and plan.run == Run.IDLE and plan.is_confirmed:
        return "failed"
    if regressed and plan.run == Run.IDLE:
        return "regressed"
    if question:
        return "question"
    if approvals:
        return "approval"
    if plan.pause_reason == Plan.PauseReason.BUDGET and plan.run == Run.PAUSED:
        return "budget"
    if plan.pause_reason == Plan.PauseReason.CHECK and plan.run == Run.PAUSED:
        return "check"
    if not plan.is_confirmed:
        return "confirm"
    return "halted" if is_halted(plan) else "none"


def is_halted(plan: Plan) -> bool:
    """Its run ended by itself before the end: after the one subtask it was started for, or after
    one that failed and was skipped."""
    return plan.run == Run.IDLE and bool(plan.run_options.get("halted"))


HALTED = Q(run=Run.IDLE, run_options__halted=True)


def of_document(plan: Mapping[str, Any]) -> Standing:
    """That of a plan's snapshot."""
    return standing(
        **{name: plan[name] for name in ("state", "reason", "run", "attention")},
        held=bool(plan["retry_at"]),
        tried=any(row["attempts"] for row in plan["subtasks"]),
        empty=not plan["subtasks"],
        hidden=plan["hidden"],
        weakest=weakest_of_document(plan),
    )


# Of many plans at once, in one query


@prepared
def judged(plans: list[int]) -> QuerySet[Plan]:
    """Plans with all that their standing follows from."""
    turns = Turn.objects.filter(conversation=OuterRef("conversation"), lane=Lane.RUN)
    done = Subtask.objects.filter(plan=OuterRef("pk"), position__isnull=False, state=State.DONE)
    return Plan.objects.filter(one_of("pk", plans)).annotate(
        has_failed=Exists(failed_subtasks()),
        asks_leave=Exists(asked_calls()),
        asks_in_check=Exists(calls_of_checks()),
        asks=Exists(questions()) | Exists(questions_below()),
        held=Exists(turns.filter(state=TurnState.QUEUED, not_before__isnull=False)),
        has_subtasks=Exists(Subtask.objects.filter(plan=OuterRef("pk"), position__isnull=False)),
        tried=Exists(Attempt.objects.filter(subtask__plan=OuterRef("pk"))),
        hidden=Exists(Message.objects.filter(pk=OuterRef("card"), hidden=True)),
        checked=Exists(done.filter(verified=True)),
        by_word=Exists(done.filter(verified=None)),
        regressed=Exists(regressed_subtasks()),
    )


def standings_of(plan_ids: Iterable[int]) -> dict[int, Standing]:
    plans = list(plan_ids)
    found: dict[int, Standing] = {}
    plan: Any  # with the annotations
    for plan in judged.models(plans=plans) if plans else ():
        waits = plan.run in (*LIVE, Run.PAUSED)
        attention = attention_of(
            plan,
            failed=plan.has_failed,
            regressed=plan.regressed,
            approvals=(waits and plan.asks_leave) or plan.asks_in_check,
            question=waits and plan.asks,
            hidden=plan.hidden,
        )
        found[plan.pk] = standing(
            **{name: getattr(plan, name) for name in ("state", "reason", "run", "held", "tried")},
            attention=attention,
            empty=not plan.has_subtasks,
            hidden=plan.hidden,
            weakest=weakest_of_row(plan),
        )
    return found


def weakest_of_row(plan: Any) -> str:
    if not plan.has_subtasks:
        return "done"
    return weakest_of(checked=plan.checked, by_word=plan.by_word, regressed=plan.regressed)


def failed_subtasks() -> Any:
    last = Attempt.objects.filter(subtask=OuterRef("pk")).order_by("-number").values("error")
    left = Subtask.objects.filter(plan=OuterRef("pk"), state=State.TODO, position__isnull=False)
    return left.annotate(last_error=Subquery(last[:1])).filter(last_error__gt="")


def regressed_subtasks() -> Any:
    rows = Subtask.objects.filter(plan=OuterRef("pk"), state=State.DONE, position__isnull=False)
    return rows.filter(verified=False)


def calls_of_checks() -> Any:
    """Checks of what is done that ask first."""
    asked = ToolCall.objects.filter(state=ToolCall.State.ASKED, decision="", turn__lane=Lane.CHECK)
    return asked.filter(turn__plan=OuterRef("pk"), turn__state=TurnState.WAITING)


def below(path: str) -> Q:
    """In the plan's conversation (path "turn__"), or in those of agents that work for it."""
    up = f"{path}conversation"
    here = Q()
    for _ in range(4):
        here |= Q(**{up: OuterRef("conversation")})
        up += "__parent_call__turn__conversation"
    return here


def asked_calls() -> Any:
    asked = ToolCall.objects.filter(below("turn__"), state=ToolCall.State.ASKED, decision="")
    return (
        asked.filter(turn__state=TurnState.WAITING)
        .exclude(tool="ask_user")
        .filter(Q(turn__lane=Lane.RUN) | Q(turn__conversation__parent_call__isnull=False))
    )


def questions() -> Any:
    """Turns of its own attempts that wait for an answer."""
    return ASKING.filter(attempt__subtask__plan=OuterRef("pk"))


def questions_below() -> Any:
    return ASKING.filter(below(""), conversation__parent_call__isnull=False)
