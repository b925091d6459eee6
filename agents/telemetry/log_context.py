"""What the work at hand is about: facts that stand in each of its log lines and spans.

They live in context variables, so they follow a turn onto the database's thread and back.
"""

from __future__ import annotations

from structlog.contextvars import get_contextvars

Fact = str | int

NAMES = {
    "conversation": "gen_ai.conversation.id",
    "turn": "planside.turn.id",
    "plan": "planside.plan.id",
    "version": "planside.plan.version",
    "subtask": "planside.subtask.key",
    "attempt": "planside.attempt.number",
}


def as_attributes() -> dict[str, Fact]:
    """The facts under the names that spans give them."""
    known = get_contextvars()
    found = {name: known[fact] for fact, name in NAMES.items() if fact in known}
    if "conversation" in known:
        found[NAMES["conversation"]] = str(known["conversation"])
    return found
