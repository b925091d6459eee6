"""Log lines on stderr: for a person, or (PLANSIDE_LOG=json) one JSON object each for a machine.

Whatever logs, ours or a library, goes through here: a line carries what the work at hand is about
(conversation, turn, plan, subtask …), and no secret.
"""

from __future__ import annotations

import logging
import re
import sys

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from agents.telemetry.redaction import HIDDEN, redact_log

SECRET_NAMES = ("authorization", "cookie", "password", "secret", "token", "key")
SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(),
]


def formatter(as_json: bool) -> logging.Formatter:
    """For `logging.config`."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*SHARED, without_empty, without_secret_keys, stamp(as_json)],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *(machine() if as_json else person()),
            redacted,
        ],
    )


class OneLineRefusals(logging.Filter):
    """What a stranger sent and was refused says nothing about our code: no traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security"):
            record.exc_info = None
        return True


def stamp(as_json: bool) -> Processor:
    """A machine compares times of several hosts, a person looks at the clock on the wall."""
    if as_json:
        return structlog.processors.TimeStamper(fmt="iso", utc=True)
    return structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)


def machine() -> list[Processor]:
    renamed = structlog.processors.EventRenamer("message")
    return [structlog.processors.format_exc_info, renamed, structlog.processors.JSONRenderer()]


def person() -> list[Processor]:
    """Tracebacks are plain: the fancy ones show the values of local variables."""
    colors = sys.stderr is not None and sys.stderr.isatty()
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain, pad_event_to=0)]


def without_empty(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """An error that there was not, a user who is not signed in: not worth a word."""
    return {k: v for k, v in event.items() if k == "event" or (v is not None and v != "")}


def without_secret_keys(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """What is called a secret is one, whatever it looks like."""
    return {key: HIDDEN if is_secret(key) else value for key, value in event.items()}


def is_secret(name: str) -> bool:
    """By its last word: api_key and client-secret, but not tokens or keyboard."""
    return re.split(r"[^a-z]", name.lower())[-1] in SECRET_NAMES


def redacted(logger: WrappedLogger, method: str, line: object) -> str:
    """The last of all: the line as it is written."""
    return redact_log(str(line))
