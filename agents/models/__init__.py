"""Conversations, the turns that answer them, and what turns produce."""

from agents.models.access import AgentOwner, ApiToken, SigninToken, Tally
from agents.models.conversation import Conversation, Event, Message
from agents.models.integrations import Provider, ToolSource
from agents.models.turn import Lane, ToolCall, Turn, TurnState

__all__ = [
    "AgentOwner",
    "ApiToken",
    "Conversation",
    "Event",
    "Lane",
    "Message",
    "Provider",
    "SigninToken",
    "Tally",
    "ToolCall",
    "ToolSource",
    "Turn",
    "TurnState",
]
