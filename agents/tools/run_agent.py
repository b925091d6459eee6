"""Handing work to another agent: a conversation of its own answers the call."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

from django.db import transaction
from pydantic import BaseModel, Field

from agents.config.ownership import may_call
from agents.config.store import read_agent
from agents.db import in_db
from agents.errors import Refused, TurnWaits
from agents.models import Conversation, ToolCall, Turn
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool

# Puts a child's first turn into the queue: the child, its task, the turn that called, its settings.
OpenChild = Callable[[Conversation, str, Turn, dict[str, object]], None]

DEEPEST = 3  # agents called by agents called by the one a person talks to


class RunAgent(BaseModel):
    """Hand a task to another agent and get its answer. Say everything it needs to know."""

    agent: str = Field(description="the agent's id")
    task: str = Field(min_length=1)


def run_agent_tools(turn: Turn, granted: list[str], open_child: OpenChild) -> list[Tool]:
    """`run_agent`, for the agents this one may call; nothing where there are none."""
    if not granted:
        return []

    async def run(args: RunAgent) -> ToolResult:
        if args.agent not in granted:
            raise ToolFailed(f"You may call {', '.join(granted)}; not {args.agent[:64]}.")
        try:
            await in_db(call_agent, turn, args.agent, args.task, open_child)
        except Refused as refusal:
            raise ToolFailed(str(refusal)) from None
        raise TurnWaits(Turn.WaitingFor.CHILD)

    tool = typed_tool("run_agent", RunAgent, run)
    parameters = deepcopy(tool.parameters)
    parameters["properties"]["agent"]["enum"] = granted  # type: ignore[index]
    return [replace(tool, parameters=parameters)]


@transaction.atomic
def call_agent(turn: Turn, agent_id: str, task: str, open_child: OpenChild) -> Conversation:
    """A child conversation whose answer is the result of the call that is running now."""
    depth, parent = 0, turn.conversation.parent_call
    while parent is not None:  # agents between this conversation and a person
        depth, parent = depth + 1, parent.turn.conversation.parent_call
    if depth >= DEEPEST:
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
    )
    open_child(child, task, turn, dict(agent.file.settings()))
    return child
