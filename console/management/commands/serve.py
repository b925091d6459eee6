"""`manage.py serve`: the one command that runs Planside."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext

from django.conf import settings
from django.db import connection

from agents.agent_file.workspaces import prepare_home
from agents.errors import NotNow
from agents.queue.home import home_lock
from agents.queue.worker import Worker
from console.management.plain import PlainCommand, leave
from console.people import local_owner
from console.serving import server
from console.serving.migrating import migrate
from console.serving.static_files import collect
from console.serving.thrift import leave_code_alone, share_one_heap
from console.serving.undumpable import hide_memory
from console.signin import signin_path


class Command(PlainCommand):
    help = "Run Planside: pages, API, live updates and, unless PLANSIDE_WORKERS=external, turns."
    requires_migrations_checks = False

    def handle(self, *args: object, **options: object) -> None:
        try:
            hide_memory()
            share_one_heap()
            prepare_home()
            collect()
            with lock():
                migrate()
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
    line = f"Planside is ready: {front_door(server.address_of(listener))}"
    worker = Worker(alone=connection.vendor == "sqlite") if runs_turns() else None
    running = server.Server(listener, worker, on_ready=lambda: say(line))
    leave_code_alone()
    running.run()
    if running.is_broken:
        raise NotNow("Planside stopped because the part that runs turns broke; see above.")


def say(line: str) -> None:
    """Flushed, since whoever started this may read it through a pipe."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def front_door(address: str) -> str:
    """On this machine a link that signs in; on a server the page that asks for a password."""
    owner = local_owner()
    if settings.PLANSIDE_IS_LOCAL:
        return address + signin_path(owner)
    return f"https://{settings.PLANSIDE_ALLOWED_HOSTS[0]}/signin/"
