"""A command whose refusals are one plain sentence."""

from __future__ import annotations

import json
import os
import sys
from typing import NoReturn

from django.core.management.base import BaseCommand

from agents.agent_file.record import prepare_home
from agents.errors import Refused
from console.serving.migrating import migrate
from console.watch import tracing


class PlainCommand(BaseCommand):
    """Says why it refuses in one sentence on stderr, without a traceback, and exits with 1."""

    def prepare(self) -> None:
        """Make a home that nobody has started yet ready, as a first start would."""
        prepare_home()
        migrate()

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            super().run_from_argv(argv)
        except Refused as refused:
            self.stderr.write(str(refused))
            sys.exit(1)

    def print_json(self, document: object) -> None:
        self.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def leave() -> NoReturn:
    """Exit now: a thread that hangs in a tool or a driver must not hold the process."""
    tracing.finish()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
