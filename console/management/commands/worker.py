"""`manage.py worker`: runs turns and nothing else, beside servers that run none."""

from __future__ import annotations

import asyncio
import signal
from contextlib import nullcontext

from agents.db import is_postgresql
from agents.errors import Conflict
from agents.queue.leases import home_lock
from agents.queue.worker import Worker
from console.home import warnings
from console.management.base import PlainCommand, leave
from console.management.wait import release
from console.ops.metrics import open_port
from console.serving.process import freeze_loaded_code, make_undumpable, use_one_malloc_arena

# Seconds. SIGTERM has to end everything within 5.
DRAIN = 4.0


class Command(PlainCommand):
    help = "Run turns until told to stop; any number of workers on PostgreSQL, one on SQLite."

    def handle(self, **_: object) -> None:
        make_undumpable()
        use_one_malloc_arena()
        alone = not is_postgresql()
        with home_lock() if alone else nullcontext():
            for line in warnings():
                self.stderr.write(line)
            self.prepare()
            freeze_loaded_code()
            asyncio.run(work(Worker(alone=alone)))


async def work(worker: Worker) -> None:
    """Until SIGTERM or Ctrl-C; what runs then goes back into the queue at its checkpoint."""
    open_port()
    loop = asyncio.get_running_loop()
    signalled = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, signalled.set)
    running = asyncio.create_task(worker.run())
    await asyncio.wait(
        {running, asyncio.create_task(signalled.wait())}, return_when=asyncio.FIRST_COMPLETED
    )
    if running.done() and (error := running.exception()):
        raise Conflict("The worker stopped because something in it broke.") from error

    async def wind_up() -> None:
        await worker.stop()
        await running
        await release()

    await asyncio.wait({asyncio.create_task(wind_up())}, timeout=DRAIN)
    leave()
