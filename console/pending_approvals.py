"""What waits for a person's word outside of a plan's own state: calls that ask first, and the
questions of agents that work for the one they talk to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from agents.models import Lane, ToolCall, Turn, TurnState
from agents.tools.run_agent import DEEPEST
from plans.models import Plan
from plans.queries import asking_plan, plans_below
from plans.snapshot import asked_calls

UP = "conversation__parent_call__turn__"


@dataclass(frozen=True)
class Asked:
    """Calls that wait for leave, and a question that waits for an answer."""

    calls: list[ToolCall]
    question: str = ""

    @property
    def words(self) -> str:
        return f"Waiting for you: {self.calls[0].tool}" if self.calls else "Waiting for your answer"

    def __bool__(self) -> bool:
        return bool(self.calls or self.question)


def asked_by(turns: Iterable[Turn]) -> Asked:
    """What these open turns, and the agents that work for them, wait for."""
    waiting = [turn for turn in turns if turn.state == TurnState.WAITING]
    calls = [call for turn in waiting for call in asked_calls(turn)]
    below = plans_below(turn.pk for turn in waiting if turn.waiting_for == "child")
    plans = Plan.objects.filter(pk__in=below.values())
    questions = (asking.question for plan in plans if (asking := asking_plan(plan)))
    return Asked(calls, next(questions, ""))


def asks_a_person() -> Q:
    """Conversations in which a call or a question waits, however deep below it."""
    calls = ToolCall.objects.filter(state=ToolCall.State.ASKED, decision="")
    open_ones = calls.filter(turn__state=TurnState.WAITING)
    questions = Turn.objects.filter(
        state=TurnState.WAITING, waiting_for=Turn.WaitingFor.QUESTION, lane=Lane.RUN
    )
    ways = [Q(Exists(open_ones.filter(turn__conversation=OuterRef("pk"))))]
    for depth in range(1, DEEPEST + 1):
        above = UP * depth + "conversation"
        ways.append(Q(Exists(open_ones.filter(**{f"turn__{above}": OuterRef("pk")}))))
        ways.append(Q(Exists(questions.filter(**{above: OuterRef("pk")}))))
    condition = ways[0]
    for way in ways[1:]:
        condition |= way
    return condition
