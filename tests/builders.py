"""Plans in each of their states, made by the product's own verbs: no model is asked, no queue runs.

A turn leaves the rows that it would leave, but for what its model used, what the chain kept at its
checkpoint, and recordings of files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.actors import AGENT
from agents.errors import TurnWaits
from agents.models import Conversation, ToolCall, Turn, TurnState
from plans import actions
from plans.models import CheckResult, Plan, State, Subtask
from plans.schemas import PlanDraft
from tests.inner import (
    Endpoint,
    ModelRequest,
    Reply,
    RequestedCall,
    claim,
    end,
    handle_message,
    persistence,
    suspend,
)
from tests.world import conversation, plan_of

MODEL = ModelRequest(Endpoint("openai", "http://scripted.invalid/v1"), "scripted", [])


def chat(text: str = "Hello", reply: str = "Good morning.", **values: Any) -> Conversation:
    """A conversation in which a person was answered."""
    c = conversation(**values)
    handle_message(c, text, "alice")
    turn = taken(c)
    says(turn, reply)
    end(turn, TurnState.DONE)
    return c


def proposed_plan(*names: str, **values: Any) -> Conversation:
    """One whose plan of these subtasks waits for a yes; nothing was said about it."""
    c = conversation(**values)
    propose(c, *names)
    return c


def propose(c: Conversation, *names: str, title: str = "Tidy the docs") -> Plan:
    """The agent makes it: another one takes the place of the one before."""
    draft = {"title": title, "subtasks": [{"name": each} for each in names or THREE]}
    return actions.create_plan(c, PlanDraft.model_validate(draft), AGENT, goal="tidy up")


THREE = ("Read", "Write", "Check")


def proposed_document(
    content: str = "Say job.", title: str = "House style", **values: Any
) -> Conversation:
    """One whose plan is a text alone, which waits for a yes."""
    c = conversation(**values)
    propose_document(c, content, title)
    return c


def propose_document(c: Conversation, content: str, title: str = "House style") -> Plan:
    return actions.create_plan(c, PlanDraft(title=title, content=content), AGENT)


def document_in_force(content: str = "Say job.", **values: Any) -> Conversation:
    c = proposed_document(content, **values)
    actions.approve_plan(plan_of(c), 1, "alice")
    return c


def approved_plan(*names: str, run: str = "no", **values: Any) -> Conversation:
    """One with its yes; with run="all" its first turn is queued."""
    c = proposed_plan(*names, **values)
    plan = plan_of(c)
    actions.approve_plan(plan, plan.version, "alice", run=run)
    return c


def running_plan(*names: str, **values: Any) -> tuple[Conversation, Turn]:
    """One at work on its first subtask, and the turn of that attempt."""
    c = approved_plan(*names, run="all", **values)
    return c, attempt(c)


def attempt(c: Conversation) -> Turn:
    """The next attempt begins."""
    turn = taken(c)
    actions.begin_attempt(turn)
    return turn


def asking_plan(*names: str, question: str = "Which one?", **values: Any) -> Conversation:
    """One whose first attempt has asked the person something."""
    c, turn = running_plan(*names, **values)
    [call] = says(turn, "", ("ask_user", {"question": question}))
    persistence.begin_call(turn, call)
    actions.ask_question(turn, question, AGENT)
    suspend(turn, TurnWaits(Turn.WaitingFor.QUESTION))
    return c


def failed_plan(
    *names: str, done: int = 0, error: str = "The disk is full.", **values: Any
) -> Conversation:
    """One whose run has failed at the subtask after those that are `done`."""
    c = approved_plan(*names, run="all", **values)
    for _ in range(done):
        finish(attempt(c))
    turn = attempt(c)
    calls(turn, "fail_subtask", {"error": error})
    end(turn, TurnState.DONE)
    return c


def paused_plan(*names: str, **values: Any) -> Conversation:
    """One that alice paused before its first attempt."""
    c = approved_plan(*names, run="all", **values)
    actions.pause_plan(plan_of(c), "alice")
    return c


def done_plan(*names: str, outcome: str = "All done.", **values: Any) -> Conversation:
    """One whose subtasks are done by the agent's word, and which the agent has closed."""
    c = approved_plan(*names, run="all", **values)
    for _ in names or THREE:
        finish(attempt(c))
    turn = taken(c)
    says(turn, outcome)
    end(turn, TurnState.DONE)
    return c


# What a turn does


def taken(c: Conversation) -> Turn:
    """The turn of this conversation that is due, claimed as a worker does."""
    [turn] = claim(1, within=c.pk)
    return turn


def says(turn: Turn, text: str, *wanted: tuple[str, dict[str, Any]]) -> list[ToolCall]:
    """A reply of its model, with the calls that it wants; gives those."""
    message = persistence.start_message(turn)
    requested = [
        RequestedCall(f"call-{message.pk}-{n}", name, arguments)
        for n, (name, arguments) in enumerate(wanted)
    ]
    finish_reason = "tool_calls" if requested else "stop"
    reply = Reply(text, "", requested, 10, 10, estimated=False, finish_reason=finish_reason)
    with persistence.fenced(turn):
        persistence.finish_reply(turn, message, MODEL, reply, None)
    return list(ToolCall.objects.filter(message=message).order_by("position"))


def calls(
    turn: Turn, tool: str, arguments: dict[str, Any], act: Callable[[], str] = lambda: "Recorded."
) -> None:
    """A call of its model that is carried out; `act` gives the result."""
    [call] = says(turn, "", (tool, arguments))
    persistence.begin_call(turn, call)
    persistence.end_call(turn, call, ToolCall.State.DONE, act())


def finish(turn: Turn, outcome: str = "done") -> None:
    """Its attempt is over, and the subtask done by the agent's word."""
    calls(turn, "finish_subtask", {"outcome": outcome})
    end(turn, TurnState.DONE)


SEEN = {"key": "c1", "kind": "file", "path": "a.txt", "exists": True}


def known_by(subtask: Subtask, word: str, by: str = "alice") -> None:
    """Done, and known to be so by this: the rows that its checks, or a person, would leave."""
    checks = [] if word in ("by_word", "looked") else [SEEN]
    rows = Subtask.objects.filter(pk=subtask.pk)
    rows.update(state=State.DONE, checks=checks, checks_made=len(checks), started_at=None)
    results = [True, False] if word == "regressed" else [True] if checks else []
    for passed in results:
        CheckResult.objects.create(subtask=subtask, key="c1", asked=SEEN, passed=passed)
    if word == "looked":
        CheckResult.objects.create(subtask=subtask, passed=True, by=by)
