"""How a turn is shown."""

from __future__ import annotations

from agents.models import Turn


def turn_shape(turn: Turn | None) -> dict[str, object] | None:
    if turn is None:
        return None
    return {
        "id": turn.pk,
        "lane": turn.lane,
        "kind": turn.kind,
        "state": turn.state,
        "waiting_for": turn.waiting_for,
        "error": turn.error,
    }
