"""The turn kind `chat`: a message is answered, by a person's agent or for another agent.

A conversation of one agent with another begins here, asks the person, and answers its call.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

from django.db import transaction
from pydantic import BaseModel, Field

from agents import events, persistence
from agents.config.ownership import may_call
from agents.config.store import read_agent
from agents.conversation_tree import ancestors
from agents.db import in_db
from agents.engine.handlers import TurnHandler, chain_of, handler_of, handlers, register_handler
from agents.engine.lifecycle import requeue
from agents.engine.prompt import opening_of_chat
from agents.engine.steps import Work, result_of
from agents.engine.usage import reached, used_by
from agents.errors import Refused, TurnFailed, TurnWaits
from agents.events import lock_conversation
from agents.models import Conversation, Message, ToolCall, Turn, TurnState
from agents.stored_text import gettext
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool

GONE = "The agent did not finish: its conversation was deleted."


def parent_waits(conversation: Conversation) -> bool:
    """Whether somebody still waits for what this conversation comes to."""
    call = conversation.parent_call
    return call is not None and call.state == ToolCall.State.RUNNING


def deliver(conversation: Conversation, text: str, *, failed: bool = False) -> None:
    """The result of the call this conversation answers; the parent's turn goes on."""
    call = conversation.parent_call
    if call is None or not parent_waits(conversation):
        return
    state = ToolCall.State.FAILED if failed else ToolCall.State.DONE
    persistence.close_call(call, state, text or "(no answer)")
    requeue(call.turn)


def answer_parent(turn: Turn) -> None:
    """A child's turn that is over answers with its last words."""
    if turn.is_open or turn.conversation.parent_call_id is None:
        return
    if turn.state != TurnState.DONE:
        why = turn.error or "It was stopped."
        deliver(turn.conversation, f"The agent did not finish: {why}", failed=True)
        return
    deliver(turn.conversation, result_of(turn))


def repair_parents() -> None:
    """A turn that waits for an agent whose conversation is gone gets that as its answer."""
    waiting = Turn.objects.filter(state=TurnState.WAITING, waiting_for=Turn.WaitingFor.CHILD)
    for turn in waiting.select_related("conversation"):
        calls = turn.tool_calls.filter(tool="run_agent", state=ToolCall.State.RUNNING)
        if not calls.filter(children__isnull=False).exists():
            answer_for_nobody(turn, list(calls))


@transaction.atomic
def answer_for_nobody(turn: Turn, calls: list[ToolCall]) -> None:
    lock_conversation(turn.conversation_id)
    for call in calls:
        persistence.close_call(call, ToolCall.State.FAILED, GONE)
    requeue(turn)


def show_call_again(call: ToolCall, type: str = "message.updated") -> None:
    """Pages draw it anew, where it was made and in the conversations above, where it is asked."""
    persistence.touch(call.message_id, call.turn.conversation_id, type)
    for above in ancestors(call.turn.conversation):
        for card in above.messages.filter(kind=Message.Kind.APPROVAL, meta__call=call.pk):
            persistence.touch(card, above.conversation_id, type)


def add_message_at_top(turn: Turn, kind: str, text: str, **meta: object) -> None:
    """What only a person can settle goes to the conversation where the person is."""
    above = ancestors(turn.conversation)
    if above:
        persistence.add_message(above[-1], "assistant", kind, text, meta=dict(meta))


def prepare_chat(turn: Turn) -> Work:
    """A person's message, answered by the chain of whichever role the gate gives now."""
    return Work(chain_of(turn, handler_of(turn).role(turn)), opening_of_chat(turn))


def check_chat(turn: Turn) -> None:
    """A reply ends when the agent's budget for one is used up."""
    limits = turn.config.get("budget") or {}
    if not any(limits.values()):
        return
    if what := reached(limits, used_by(Turn.objects.filter(pk=turn.pk))):
        advice = gettext("The limits of a reply are in the agent's file, under budget.")
        raise TurnFailed(
            "capacity",
            gettext("{budget}.").format(budget=what),
            gettext("The reply has used up its budget"),
            advice,
            "agent",
        )


def register() -> None:
    register_handler("chat", TurnHandler(prepare_chat, answer_parent, check_chat, repair_parents))


# The tool that hands work to another agent: a conversation of its own answers the call.

DEEPEST = 3  # agents called by agents called by the one a person talks to


class RunAgent(BaseModel):
    """Hand a task to another agent and get its answer. Say everything it needs to know."""

    agent: str = Field(description="the agent's id")
    task: str = Field(min_length=1)


def run_agent_tools(turn: Turn, granted: list[str]) -> list[Tool]:
    """`run_agent`, for the agents this one may call; nothing where there are none."""
    if not granted:
        return []

    async def run(args: RunAgent) -> ToolResult:
        if args.agent not in granted:
            raise ToolFailed(f"You may call {', '.join(granted)}; not {args.agent[:64]}.")
        try:
            await in_db(call_agent, turn, args.agent, args.task)
        except Refused as refusal:
            raise ToolFailed(str(refusal)) from None
        raise TurnWaits(Turn.WaitingFor.CHILD)

    tool = typed_tool("run_agent", RunAgent, run)
    parameters = deepcopy(tool.parameters)
    parameters["properties"]["agent"]["enum"] = granted  # type: ignore[index]
    return [replace(tool, parameters=parameters)]


@transaction.atomic
def call_agent(turn: Turn, agent_id: str, task: str) -> None:
    """A child conversation whose answer is the result of the call that is running now."""
    if turn.conversation.depth >= DEEPEST:
        raise ToolFailed(f"Agents may call each other {DEEPEST} deep, not deeper.")
    call = turn.tool_calls.filter(tool="run_agent", state=ToolCall.State.RUNNING).latest("pk")
    if not may_call(turn.conversation.agent_id, agent_id, turn.conversation.owner_id):
        raise ToolFailed(f"There is no agent {agent_id[:64]!r}.")
    agent = read_agent(agent_id)
    child = Conversation.objects.create(
        owner_id=turn.conversation.owner_id,
        agent_id=agent.id,
        title=task[:60],
        parent_call=call,
        root_id=turn.conversation.top,
        depth=turn.conversation.depth + 1,
    )
    # Its first turn: as one of the handlers wants it, or a plain answer.
    if not any(handler.open_child(child, task, turn) for handler in handlers().values()):
        config = dict(agent.file.settings())
        answering = Turn.objects.create(conversation=child, config=config, serves=turn.serves)
        persistence.add_message(answering, "user", Message.Kind.TEXT, task)
        events.record(child, "turn.queued", f"turn:{answering.pk}")
