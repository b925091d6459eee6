"""One question to a model in a turn that is about something else, without its conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from agents import persistence
from agents.chains.schema import Chain, seconds_of
from agents.db import in_db
from agents.engine.completion import answer, count_of_calls, model_of
from agents.engine.handlers import handler_of
from agents.engine.steps import Step, Work
from agents.engine.usage import cost_of
from agents.llm.catalog import learn_loaded_window, model_info, own_window, window_of
from agents.llm.lessons import lessons_for
from agents.llm.providers import resolve
from agents.llm.reply import Reply
from agents.llm.request import ModelRequest
from agents.models import Turn
from agents.text.tokens import BYTES_PER_TOKEN, estimate_tokens

SECONDS = 120.0  # where the chain's task says nothing
Question = Callable[[int], str]  # with room for so many characters


@dataclass(frozen=True)
class Answered:
    """What the model said; `count` adds what it used to the turn, in the caller's transaction."""

    reply: Reply
    cost: Decimal | None
    count: Callable[[], None]


async def ask_model(
    turn: Turn, chain: Chain, question: Question, tool: dict[str, object]
) -> Answered:
    """Ask with the instruction, model and time of the chain's first task. A model that is known to
    call tools is offered this one to answer by.

    Raises ModelError and TimeoutError, and what ends or halts a turn.
    """
    step = Step(turn, Work(chain, []), chain.tasks[0], "")
    if not own_window(turn.config):
        await learn_loaded_window(*await in_db(model_of, step))
    request = await in_db(request_for, step, question, tool)
    reply: Reply | None = None
    async with asyncio.timeout(seconds_of(step.task.timeout) or SECONDS):
        async with aclosing(answer(turn, request)) as parts:
            async for part in parts:
                reply = part if isinstance(part, Reply) else reply
    assert reply is not None, "a stream ends with its reply or an error"
    cost = cost_of(request, reply)
    return Answered(reply, cost, partial(persistence.count_reply, turn, reply, cost))


def request_for(step: Step, question: Question, tool: dict[str, object]) -> ModelRequest:
    """The request from the rows as they are now; counted once there is a question, before it is
    sent."""
    turn, config = step.turn, step.task.execute_config
    provider, model = model_of(step)
    endpoint = resolve(provider)
    info = model_info(endpoint, model)
    window = own_window(turn.config) or window_of(endpoint, info)
    system = step.expanded(step.task.system_instruction)
    room = (window // 2 - estimate_tokens(system)) * BYTES_PER_TOKEN
    asked = question(max(room, 2_000))
    with persistence.fenced(turn):
        persistence.check_stop_requested(turn)
        handler_of(turn).check(turn)
        count_of_calls.update(turn=turn.pk)
    return ModelRequest(
        endpoint=endpoint,
        model=model,
        messages=[
            {"role": "system", "content": system},
            {"role": "user", "content": asked},
        ],
        tools=[tool] if info and info.calls_tools else [],
        temperature=config.temperature,
        extra={} if config.max_tokens is None else {"max_tokens": config.max_tokens},
        prices=info.prices if info else {},
        lessons=lessons_for(endpoint, model),
    )
