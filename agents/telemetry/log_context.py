"""What the work at hand is about: facts that stand in each of its log lines and spans.

They live in context variables, so they follow a turn onto the database's thread and back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

Fact = str | int

NAMES = {
    "conversation": "gen_ai.conversation.id",
    "turn": "planside.turn.id",
    "plan": "planside.plan.id",
    "version": "planside.plan.version",
    "subtask": "planside.subtask.key",
    "attempt": "planside.attempt.number",
}


@contextmanager
def about(**facts: Fact) -> Iterator[None]:
    """These facts hold within; at the end whatever held before holds again."""
    before = get_contextvars()
    bind_contextvars(**facts)
    try:
        yield
    finally:
        clear_contextvars()
        bind_contextvars(**before)


def add(**facts: Fact) -> None:
    """What turned out later; it holds until the innermost `about` ends, and not outside of one."""
    if get_contextvars():
        bind_contextvars(**facts)


def as_attributes() -> dict[str, Fact]:
    """The facts under the names that spans give them."""
    known = get_contextvars()
    found = {name: known[fact] for fact, name in NAMES.items() if fact in known}
    if "conversation" in known:
        found[NAMES["conversation"]] = str(known["conversation"])
    return found
