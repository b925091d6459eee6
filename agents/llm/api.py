"""The seam between the client and the APIs that servers speak: one adapter for each."""

from __future__ import annotations

from typing import Protocol

from agents.llm.anthropic_messages import AnthropicMessages
from agents.llm.chat_completions import ChatCompletions
from agents.llm.openai_responses import OpenAIResponses
from agents.llm.reply import Json, ModelPage, ReplyDraft
from agents.llm.request import Endpoint, ModelRequest


class Api(Protocol):
    """How one API is spoken. Adapters keep nothing: what is under way is in the draft."""

    def url(self, endpoint: Endpoint) -> str: ...

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """The key as this API wants it, and the endpoint's own headers."""
        ...

    def body(self, request: ModelRequest) -> Json: ...

    def draft(self) -> ReplyDraft: ...

    def error_in(self, document: Json) -> Json | None:
        """What says that the rest of the reply will not come, if a document of a stream does."""
        ...

    def models_url(self, endpoint: Endpoint, after: str) -> str:
        """Where the models are listed; `after` is what the page before gave for the next."""
        ...

    def models_in(self, document: Json) -> ModelPage | None:
        """None where this is no list of models."""
        ...


ADAPTERS: dict[str, Api] = {
    "chat_completions": ChatCompletions(),
    "anthropic_messages": AnthropicMessages(),
    "openai_responses": OpenAIResponses(),
}


def api_of(endpoint: Endpoint) -> Api:
    return ADAPTERS[endpoint.api]
