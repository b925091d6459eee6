"""`manage.py serve`: the one command that runs Planside."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import nullcontext
from functools import partial

from django.conf import settings
from django.db import connection

from agents.errors import Conflict
from agents.queue.leases import home_lock
from agents.queue.worker import Worker
from console import static_files
from console.auth.signin import signin_path
from console.auth.users import local_owner
from console.home import cannot_be_used, keep_address, make_ready, public_address, warnings
from console.management.base import PlainCommand, leave
from console.serving import server
from console.serving.process import freeze_loaded_code, make_undumpable, use_one_malloc_arena


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
            # One process runs the turns of a home; PostgreSQL lets many, each turn leased.
            alone = connection.vendor == "sqlite"
            runs_turns = settings.PLANSIDE_WORKERS != "external"
            with home_lock() if alone and runs_turns else nullcontext():
                make_ready(new_database=new_database)
                try:
                    static_files.collect()
                except OSError as error:
                    raise cannot_be_used(error) from None
                run(Worker(alone=alone) if runs_turns else None)
        except KeyboardInterrupt:
            pass  # before the reactor listened to Ctrl-C
        leave()


def run(worker: Worker | None) -> None:
    listener = server.listen(settings.PLANSIDE_HOST, settings.PLANSIDE_PORT)
    address = server.address_of(listener)
    keep_address(address)
    # On this machine a link that signs in; on a server the page that asks for a password.
    is_local = settings.PLANSIDE_IS_LOCAL
    door = address + signin_path(local_owner()) if is_local else f"{public_address()}/signin/"
    # Flushed, since whoever started this may read it through a pipe.
    ready = partial(print, f"Planside is ready: {door}", flush=True)
    running = server.Server(listener, worker, on_ready=ready)
    freeze_loaded_code()
    running.run()
    if running.is_broken:
        raise Conflict("Planside stopped because the part that runs turns broke; see above.")
