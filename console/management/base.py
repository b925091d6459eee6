"""What every command is made of: its refusals are one plain sentence."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import NoReturn

from django.core.management.base import BaseCommand

from agents.errors import Refused
from agents.hidden_characters import MOST_BOXES, revealed, revealed_in_json
from console.home import database_in_words, make_ready
from console.ops import tracing
from console.visible_text import visible_plain


class Ended(Exception):
    """Ended by a signal; one sentence says what became of the work."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


class PlainCommand(BaseCommand):
    """Says why it refuses in one sentence on stderr, without a traceback, and exits with 1.

    Django's checks are for the server and CI: they load every page, which takes a second.
    """

    requires_system_checks = []

    def prepare(self) -> None:
        """Make a home that nobody has started yet ready, as a first start would."""
        make_ready()

    def run_from_argv(self, argv: list[str]) -> None:
        try:
            with database_in_words():
                super().run_from_argv(argv)
        except Refused as refused:
            self.stderr.write(str(refused))
            sys.exit(1)
        except UnicodeEncodeError:  # a byte that no database or terminal takes for text
            self.stderr.write("What was typed is not text in UTF-8.")
            sys.exit(1)
        except Ended as ended:
            self.stderr.write(str(ended))
            sys.exit(ended.code)
        except KeyboardInterrupt:
            self.stderr.write("Interrupted.")
            sys.exit(128 + signal.SIGINT)
        except BrokenPipeError:  # nobody reads on, as behind `| head -1`
            # What is still in the buffer goes nowhere, so that the exit does not fail over it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(128 + signal.SIGPIPE)

    def say(self, text: str) -> None:
        """To a person at a terminal, with nothing in it that cannot be seen."""
        self.stdout.write(visible_plain(text, MOST_BOXES))

    def hand_out(self, text: str) -> None:
        """What a program or a file may get: as it is, but for a person at a terminal, who would
        not see what is hidden in it, or would see what it makes of the screen."""
        self.stdout.write(at_terminal(text) if self.stdout.isatty() else text)

    def print_json(self, document: object) -> None:
        text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
        self.stdout.write(revealed_in_json(text))


def at_terminal(text: str) -> str:
    """What is hidden as its code point: [U+202E]."""
    return revealed(text, lambda sign: f"[U+{ord(sign):04X}]")


def leave() -> NoReturn:
    """Exit now: a thread that hangs in a tool or a driver must not hold the process."""
    tracing.finish()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
