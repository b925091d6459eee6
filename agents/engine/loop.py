"""One turn from its claim to its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import ParamSpec

from agents.db import AWAY, in_db
from agents.engine import configuration, persistence
from agents.engine.handlers import handler_of
from agents.engine.interpreter import run_chain
from agents.engine.lifecycle import end, fail, interrupt, model_failed, suspend
from agents.engine.steps import ChainEvent, TextEnded, TextStreamed, Work
from agents.engine.streaming import LiveText, Save
from agents.errors import Refused
from agents.llm.errors import ModelError
from agents.models import Turn, TurnState
from agents.telemetry import hooks
from agents.turn_exceptions import NothingToDo, TurnFailed, TurnLost, TurnStopped, TurnWaits

log = logging.getLogger(__name__)

P = ParamSpec("P")

Watch = Callable[[ChainEvent], None]


def ignore_event(event: ChainEvent) -> None:
    pass


async def run_turn(turn: Turn, watch: Watch = ignore_event) -> None:
    """Work until the turn is over or has to wait; whatever happens is written to its row.

    `watch` is told each event of the chain, for a command that prints along.
    """
    try:
        with hooks.turn(turn):
            await run_and_settle(turn, watch)
    except TurnLost:
        log.info("turn %s is no longer ours", turn.pk)


async def run_and_settle(turn: Turn, watch: Watch) -> None:
    try:
        await work_on(turn, watch)
    except asyncio.CancelledError:  # by a stop, or because the process goes down
        await finish_write(interrupt, turn)
    except (TurnLost, *AWAY):  # nothing can be written: whoever runs it next goes on from the rows
        raise
    except TurnWaits as wait:
        await finish_write(suspend, turn, wait)
    except TurnStopped:
        await finish_write(end, turn, TurnState.STOPPED)
    except ModelError as error:
        await finish_write(model_failed, turn, error)
    except TurnFailed as failure:
        await finish_write(fail, turn, failure)
    except TimeoutError:
        await finish_write(fail, turn, TurnFailed("timeout", "It took longer than it may."))
    except Refused as refusal:
        turn.checkpoint["final"] = True  # of an agent, a chain, a provider that is not there
        await finish_write(fail, turn, TurnFailed("logic", str(refusal), remedy="agent"))
    except Exception:
        log.exception("turn %s broke", turn.pk)
        await finish_write(fail, turn, TurnFailed("logic", "Something broke inside Planside."))
    else:
        await finish_write(end, turn, TurnState.DONE)


async def finish_write(write: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Write how a turn ended; a stop that comes meanwhile comes too late to break that off."""
    writing = asyncio.ensure_future(in_db(write, *args, **kwargs))
    while not writing.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(writing)
    writing.result()


async def work_on(turn: Turn, watch: Watch) -> None:
    if turn.stop_requested:  # of a worker that died before it could obey
        raise TurnStopped
    try:
        work = await in_db(prepare, turn)
    except NothingToDo:
        return
    # Where no model can call tools, none can end the turn: then its output is what it comes to.
    turn.checkpoint["by_output"] = not work.chain.runs_calls
    async with asyncio.timeout(work.seconds):
        await stream_chain(turn, work, watch)
        nudge = handler_of(turn).nudge if work.chain.runs_calls else ""
        while bool(nudge) and await in_db(ask_again, turn, nudge):
            await stream_chain(turn, work, watch)


def prepare(turn: Turn) -> Work:
    configuration.read_again(turn)
    return handler_of(turn).prepare(turn)


async def stream_chain(turn: Turn, work: Work, watch: Watch) -> None:
    """Run the chain and show its text to whoever is watching."""

    async def save(message_id: int, text: str) -> None:
        with suppress(*AWAY):  # the text is whole in memory, and saved again with the next words
            await in_db(persistence.save_text, turn, message_id, text)

    live: dict[int, LiveText] = {}
    try:
        async with aclosing(run_chain(turn, work)) as happening:
            async for event in happening:
                watch(event)
                await stream_event(event, turn, live, save)
    except BaseException:
        with suppress(TurnLost):
            await save_streamed_text(live)
        raise


async def stream_event(
    event: ChainEvent, turn: Turn, live: dict[int, LiveText], save: Save
) -> None:
    if isinstance(event, TextStreamed):
        if event.message_id not in live:
            live[event.message_id] = LiveText(turn.conversation_id, event.message_id, save)
        await live[event.message_id].add(event.text)
    elif isinstance(event, TextEnded) and (text := live.pop(event.message_id, None)):
        await text.close()


async def save_streamed_text(live: dict[int, LiveText]) -> None:
    for text in live.values():
        await text.close()
        await text.save(text.message_id, text.text)


def ask_again(turn: Turn, nudge: str) -> bool:
    """A turn that has to end by a tool and did not is nudged once; then it has failed."""
    if turn.checkpoint.get("ended"):
        return False
    if turn.checkpoint.get("nudge"):
        raise TurnFailed("logic", "It ended without a result.")
    persistence.save_checkpoint(turn, nudge=nudge, task="", previous="", source="")
    return True
