"""The turn kind `chat`: a message is answered, by a person's agent or for another agent."""

from __future__ import annotations

from agents.chains.steps import Work
from agents.models import Turn
from agents.tools.run_agent import register_opens
from agents.toolset import offer_of
from agents.turns.budget import reached, used_by
from agents.turns.children import answer_parent, open_child
from agents.turns.interruptions import TurnFailed
from agents.turns.kinds import TurnKind, chain_of, register_kind
from agents.turns.transcript import opening_of_chat


def prepare_chat(turn: Turn) -> Work:
    """A person's message, answered by the chain of whichever role the gate gives now."""
    return Work(chain_of(turn, offer_of(turn).role), opening_of_chat(turn))


def check_chat(turn: Turn) -> None:
    """A reply ends when the agent's budget for one is used up."""
    limits = turn.config.get("budget") or {}
    now = Turn.objects.filter(pk=turn.pk)
    if any(limits.values()) and (what := reached(limits, used_by(now))):
        advice = "The limits of a reply are in the agent's file, under budget."
        raise TurnFailed("capacity", f"{what}.", "The reply has used up its budget", advice)


def register() -> None:
    register_opens(open_child)
    register_kind("chat", TurnKind(prepare_chat, answer_parent, check_chat))
