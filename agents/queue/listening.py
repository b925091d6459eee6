"""What other processes do to the queue, heard through PostgreSQL's LISTEN."""

from __future__ import annotations

import asyncio

from agents.database import session
from agents.outages import Outage
from agents.queue.wakeup import CHANNEL, wake

AGAIN = 1.0  # seconds between two tries to reach the server


async def listen() -> None:
    """For ever, over restarts of the server; on a session of its own, so no pooler between."""
    from psycopg import Error

    outage = Outage("PostgreSQL, which tells of changes to the queue,")
    while True:
        try:
            async with await session() as connection:
                await connection.execute(f"LISTEN {CHANNEL}")
                outage.over()
                wake()  # nobody told of what happened before
                async for _ in connection.notifies():
                    wake()
        except (Error, OSError) as error:
            outage.began(error)
        await asyncio.sleep(AGAIN)
