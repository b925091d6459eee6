"""`manage.py worker`: runs turns and nothing else, beside servers that run none."""

from __future__ import annotations

import asyncio
import signal
from contextlib import nullcontext

from agents.database import is_shared
from agents.errors import NotNow
from agents.queue.home import home_lock
from agents.queue.worker import Worker
from console.following import let_go
from console.management.plain import PlainCommand, leave
from console.serving.thrift import leave_code_alone, share_one_heap
from console.serving.undumpable import hide_memory
from console.watch.metrics_port import open_port

# Seconds. SIGTERM has to end everything within 5.
DRAIN = 4.0


class Command(PlainCommand):
    help = "Run turns until told to stop; any number of workers on PostgreSQL, one on SQLite."

    def handle(self, **_: object) -> None:
        hide_memory()
        share_one_heap()
        alone = not is_shared()
        with home_lock() if alone else nullcontext():
            self.prepare()
            leave_code_alone()
            asyncio.run(work(Worker(alone=alone)))


async def work(worker: Worker) -> None:
    """Until SIGTERM or Ctrl-C; what runs then goes back into the queue at its checkpoint."""
    open_port()
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, told.set)
    running = asyncio.create_task(worker.run())
    await asyncio.wait(
        {running, asyncio.create_task(told.wait())}, return_when=asyncio.FIRST_COMPLETED
    )
    if running.done() and (error := running.exception()):
        raise NotNow("The worker stopped because something in it broke.") from error
    await asyncio.wait({asyncio.create_task(wind_up(worker, running))}, timeout=DRAIN)
    leave()


async def wind_up(worker: Worker, running: asyncio.Task[None]) -> None:
    await worker.stop()
    await running
    await let_go()
