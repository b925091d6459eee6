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


def formatter(as_json: bool) -> logging.Formatter:
    """For `logging.config`.

    A machine compares times of several hosts, a person looks at the clock on the wall. A person's
    tracebacks are plain: the fancy ones show the values of local variables.
    """
    if as_json:
        stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
        rendering: list[Processor] = [
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(),
        ]
    else:
        stamp = structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)
        colors = sys.stderr is not None and sys.stderr.isatty()
        plain = structlog.dev.plain_traceback
        rendering = [
            structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain, pad_event_to=0)
        ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            without_empty,
            without_secret_keys,
            stamp,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *rendering,
            redacted,
        ],
    )


class OneLineRefusals(logging.Filter):
    """What a stranger sent and was refused says nothing about our code: no traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security"):
            record.exc_info = None
        return True


def without_empty(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Drops an error that there was not, a user who is not signed in."""
    return {k: v for k, v in event.items() if k == "event" or (v is not None and v != "")}


def without_secret_keys(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """What is called a secret is one, whatever it looks like.

    The last word of its name counts: api_key and client-secret, but not tokens or keyboard.
    """
    return {
        key: HIDDEN if re.split(r"[^a-z]", key.lower())[-1] in SECRET_NAMES else value
        for key, value in event.items()
    }


def redacted(logger: WrappedLogger, method: str, line: object) -> str:
    """The last of all: the whole line, as it is written."""
    return redact_log(str(line))
