"""`manage.py worker`: runs turns and nothing else, beside servers that run none."""

from __future__ import annotations

import asyncio
import signal
from contextlib import nullcontext

from django.db import connection

from agents.queue.worker import Worker, home_lock
from console.following import let_go
from console.management.plain import PlainCommand


class Command(PlainCommand):
    help = "Run turns until told to stop; any number of workers on PostgreSQL, one on SQLite."

    def handle(self, **_: object) -> None:
        alone = connection.vendor == "sqlite"
        with home_lock() if alone else nullcontext():
            self.prepare()
            asyncio.run(work(Worker(alone=alone)))


async def work(worker: Worker) -> None:
    """Until SIGTERM or Ctrl-C; what runs then goes back into the queue at its checkpoint."""
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, lambda: asyncio.ensure_future(worker.stop()))
    await worker.run()
    await worker.stop()
    await let_go()
