"""Beside the queue: recordings of turns that ended without one, and what is no longer kept of them
and of deleted files."""

from __future__ import annotations

import asyncio
import logging
from itertools import count

from agents.changes import retention
from agents.changes.recording import record_all_ended
from agents.changes.undo import finish_cut_off, in_own_connection, unfinished
from agents.db import AWAY, in_db
from agents.pools import RECORDINGS
from agents.workspace import attachments, trash
from agents.workspace.files import remove_cut_off

log = logging.getLogger(__name__)

INTERVAL = 30.0  # seconds
HOURLY = 120  # intervals


async def keep_recordings() -> None:
    """For ever."""
    for number in count():
        try:
            for pk in await in_db(unfinished):
                await RECORDINGS.run(in_own_connection, finish_cut_off, pk)
            await record_all_ended()
            await in_db(retention.forget_old)
            await RECORDINGS.run(in_own_connection, retention.sweep)
            await RECORDINGS.run(in_own_connection, trash.sweep)
            await RECORDINGS.run(in_own_connection, attachments.remove_cut_off)
            if number % HOURLY == 1:
                await RECORDINGS.run(in_own_connection, remove_cut_off)
        except AWAY:
            pass  # the worker logs that the database is away
        except Exception:
            log.exception("recordings could not be looked after; trying again")
        await asyncio.sleep(INTERVAL)
