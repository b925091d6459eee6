"""One turn from its claim to its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing, suppress

from agents import observed
from agents.chains.run import run_chain
from agents.chains.steps import ChainEvent, TextEnded, TextStreamed, Work
from agents.database import AWAY, in_db
from agents.errors import Refused
from agents.model_client.client import ModelError
from agents.models import Turn, TurnState
from agents.turns import journal
from agents.turns.endings import cut_off, end, fail, hold, model_failed
from agents.turns.interruptions import NothingToDo, TurnFailed, TurnLost, TurnStopped, TurnWaits
from agents.turns.kinds import kind_of
from agents.turns.streaming import LiveText, Save

log = logging.getLogger(__name__)

Watch = Callable[[ChainEvent], None]


def nobody(event: ChainEvent) -> None:
    pass


async def run_turn(turn: Turn, watch: Watch = nobody) -> None:
    """Work until the turn is over or has to wait; whatever happens is written to its row.

    `watch` is told each event of the chain, for a command that prints along.
    """
    try:
        with observed.turn(turn):
            await settle_by(turn, watch)
    except TurnLost:
        log.info("turn %s is no longer ours", turn.pk)


async def settle_by(turn: Turn, watch: Watch) -> None:
    try:
        await work_on(turn, watch)
    except asyncio.CancelledError:  # by a stop, or because the process goes down
        await in_db(cut_off, turn)
    except (TurnLost, *AWAY):  # nothing can be written: whoever runs it next goes on from the rows
        raise
    except TurnWaits as wait:
        await in_db(hold, turn, wait)
    except TurnStopped:
        await in_db(end, turn, TurnState.STOPPED)
    except ModelError as error:
        await in_db(model_failed, turn, error)
    except TurnFailed as failure:
        await in_db(fail, turn, failure)
    except TimeoutError:
        await in_db(fail, turn, TurnFailed("timeout", "It took longer than it may."))
    except Refused as refusal:
        await in_db(fail, turn, TurnFailed("logic", str(refusal)))
    except Exception:
        log.exception("turn %s broke", turn.pk)
        await in_db(fail, turn, TurnFailed("logic", "Something broke inside Planside."))
    else:
        await in_db(end, turn, TurnState.DONE)


async def work_on(turn: Turn, watch: Watch) -> None:
    if turn.stop_requested:  # of a worker that died before it could obey
        raise TurnStopped
    try:
        work = await in_db(kind_of(turn).prepare, turn)
    except NothingToDo:
        return
    async with asyncio.timeout(work.seconds):
        await follow(turn, work, watch)
        nudge = kind_of(turn).nudge
        while bool(nudge) and await in_db(ask_again, turn, nudge):
            await follow(turn, work, watch)


async def follow(turn: Turn, work: Work, watch: Watch) -> None:
    """Run the chain and show its text to whoever is watching."""

    async def save(message_id: int, text: str) -> None:
        with suppress(*AWAY):  # the text is whole in memory, and saved again with the next words
            await in_db(journal.save_text, turn, message_id, text)

    live: dict[int, LiveText] = {}
    try:
        async with aclosing(run_chain(turn, work)) as happening:
            async for event in happening:
                watch(event)
                await show(event, turn, live, save)
    except BaseException:
        with suppress(TurnLost):
            await keep_what_was_shown(live)
        raise


async def show(event: ChainEvent, turn: Turn, live: dict[int, LiveText], save: Save) -> None:
    if isinstance(event, TextStreamed):
        if event.message_id not in live:
            live[event.message_id] = LiveText(turn.conversation_id, event.message_id, save)
        await live[event.message_id].add(event.text)
    elif isinstance(event, TextEnded) and (text := live.pop(event.message_id, None)):
        await text.close()


async def keep_what_was_shown(live: dict[int, LiveText]) -> None:
    for text in live.values():
        await text.close()
        await text.save(text.message_id, text.text)


def ask_again(turn: Turn, nudge: str) -> bool:
    """A turn that has to end by a tool and did not is nudged once; then it has failed."""
    if turn.checkpoint.get("ended"):
        return False
    if turn.checkpoint.get("nudge"):
        raise TurnFailed("logic", "It ended without a result.")
    journal.save_checkpoint(turn, nudge=nudge, task="")
    return True
