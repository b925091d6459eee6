"""Conversations, the turns that answer them, and what turns produce."""

from agents.models.access import (
    AgentOwner,
    ApiToken,
    BrowserSession,
    LocalOwner,
    Preferences,
    SigninToken,
    Tally,
)
from agents.models.conversation import (
    Attachment,
    Conversation,
    Event,
    Message,
    attachments_of,
)
from agents.models.integrations import (
    ListedModel,
    ModelLesson,
    OAuthLogin,
    Provider,
    ProviderListing,
    ToolSource,
)
from agents.models.recording import Observation, PersonEdit, Recording, SkippedFile, Undo
from agents.models.search import SearchEntry
from agents.models.trashed import Trashed
from agents.models.turn import FileChange, Lane, Progress, StoredImage, ToolCall, Turn, TurnState

__all__ = [
    "AgentOwner",
    "ApiToken",
    "Attachment",
    "BrowserSession",
    "Conversation",
    "Event",
    "FileChange",
    "Lane",
    "ListedModel",
    "LocalOwner",
    "Message",
    "ModelLesson",
    "OAuthLogin",
    "Observation",
    "PersonEdit",
    "Preferences",
    "Progress",
    "Provider",
    "ProviderListing",
    "Recording",
    "SearchEntry",
    "SigninToken",
    "SkippedFile",
    "StoredImage",
    "Tally",
    "ToolCall",
    "ToolSource",
    "Trashed",
    "Turn",
    "TurnState",
    "Undo",
    "attachments_of",
]
