"""The turn kind `chat`: a message is answered, by a person's agent or for another agent."""

from __future__ import annotations

from agents.engine.budget import reached, used_by
from agents.engine.handlers import TurnHandler, chain_of, handler_of, register_handler
from agents.engine.prompt import opening_of_chat
from agents.engine.steps import Work
from agents.engine.subagents import answer_parent, repair_parents
from agents.models import Turn
from agents.turn_exceptions import TurnFailed


def prepare_chat(turn: Turn) -> Work:
    """A person's message, answered by the chain of whichever role the gate gives now."""
    return Work(chain_of(turn, handler_of(turn).offer(turn).role), opening_of_chat(turn))


def check_chat(turn: Turn) -> None:
    """A reply ends when the agent's budget for one is used up."""
    limits = turn.config.get("budget") or {}
    now = Turn.objects.filter(pk=turn.pk)
    if any(limits.values()) and (what := reached(limits, used_by(now))):
        advice = "The limits of a reply are in the agent's file, under budget."
        raise TurnFailed(
            "capacity", f"{what}.", "The reply has used up its budget", advice, "agent"
        )


def register() -> None:
    register_handler("chat", TurnHandler(prepare_chat, answer_parent, check_chat, repair_parents))
