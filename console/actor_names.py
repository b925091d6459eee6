"""How a page names who did something."""

from __future__ import annotations

from agents.actors import AGENT, Actor, SystemActor


def name_for(by: Actor, viewer: str) -> str:
    if isinstance(by, SystemActor) or not by:
        return "Agent" if by is AGENT else "Planside"
    return "You" if by == viewer else by
