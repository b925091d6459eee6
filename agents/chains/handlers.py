"""What each handler of the chain language does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from agents.chains.calls import call_tool, execute_tool_calls
from agents.chains.completion import chat_completion, route
from agents.chains.steps import ChainEvent, Step, StepDone
from agents.chains.words import said
from agents.database import in_db
from agents.turns.interruptions import TurnFailed

Handler = Callable[[Step], AsyncGenerator[ChainEvent, None]]


async def noop(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Nothing but its branches; a prompt_template becomes its output, else the input goes on."""
    text = await in_db(said, step, step.task.prompt_template)
    yield StepDone("noop", {"text": text} if text else dict(step.input))


async def raise_error(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """End the turn as failed, with the author's words or with what was handed on."""
    words = await in_db(said, step, step.task.prompt_template)
    raise TurnFailed("logic", words or str(step.input.get("text") or "The chain gave up."))
    yield StepDone("", {})  # a generator like the others


HANDLERS: dict[str, Handler] = {
    "chat_completion": chat_completion,
    "execute_tool_calls": execute_tool_calls,
    "tools": call_tool,
    "route": route,
    "noop": noop,
    "raise_error": raise_error,
}
