"""Who does something: a person, by username, or one of the two that are none.

AGENT and SYSTEM equal no text, so that nobody can be called like them.
"""

from __future__ import annotations

from enum import Enum


class SystemActor(Enum):
    AGENT = "agent"
    SYSTEM = "system"


AGENT, SYSTEM = SystemActor.AGENT, SystemActor.SYSTEM
PERSON = "person"
Actor = str | SystemActor


def kind_of(by: Actor) -> str:
    """As it is stored beside the name: person, agent or system; nobody in particular is system."""
    if isinstance(by, SystemActor):
        return by.value
    return PERSON if by else SYSTEM.value


def name_of(by: Actor) -> str:
    """A person's username, or the word for what is none."""
    return by.value if isinstance(by, SystemActor) else by


def actor_of(kind: str, name: str) -> Actor:
    """Out of the two columns."""
    return name if kind == PERSON else AGENT if kind == AGENT.value else SYSTEM
