"""`manage.py serve`: the one command that runs Planside."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from contextlib import AbstractContextManager, nullcontext

from django.conf import settings
from django.db import connection

from agents.errors import Conflict
from agents.queue.ownership import home_lock
from agents.queue.worker import Worker
from console.address import keep_address, public_address
from console.auth.signin import signin_path
from console.auth.users import local_owner
from console.home import make_ready, warnings
from console.management.plain_errors import PlainCommand, leave
from console.serving import server
from console.serving.process import freeze_loaded_code, make_undumpable, use_one_malloc_arena
from console.serving.static_files import collect


class Command(PlainCommand):
    help = "Run Planside: pages, API, live updates and, unless PLANSIDE_WORKERS=external, turns."
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--new-database", action="store_true", help="begin anew where the database is gone"
        )

    def handle(self, *args: object, new_database: bool = False, **options: object) -> None:
        try:
            make_undumpable()
            use_one_malloc_arena()
            for line in warnings():
                self.stderr.write(line)
            with lock():
                make_ready(new_database=new_database)
                collect()
                run()
        except KeyboardInterrupt:
            pass  # before the reactor listened to Ctrl-C
        leave()


def lock() -> AbstractContextManager[object]:
    """One process runs the turns of a home; PostgreSQL lets many, each turn leased."""
    alone = connection.vendor == "sqlite" and runs_turns()
    return home_lock() if alone else nullcontext()


def runs_turns() -> bool:
    return settings.PLANSIDE_WORKERS != "external"


def run() -> None:
    listener = server.listen(settings.PLANSIDE_HOST, settings.PLANSIDE_PORT)
    address = server.address_of(listener)
    keep_address(address)
    line = f"Planside is ready: {front_door(address)}"
    worker = Worker(alone=connection.vendor == "sqlite") if runs_turns() else None
    running = server.Server(listener, worker, on_ready=lambda: say(line))
    freeze_loaded_code()
    running.run()
    if running.is_broken:
        raise Conflict("Planside stopped because the part that runs turns broke; see above.")


def say(line: str) -> None:
    """Flushed, since whoever started this may read it through a pipe."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def front_door(address: str) -> str:
    """On this machine a link that signs in; on a server the page that asks for a password."""
    if settings.PLANSIDE_IS_LOCAL:
        return address + signin_path(local_owner())
    return f"{public_address()}/signin/"
