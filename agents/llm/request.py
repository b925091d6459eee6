"""What a model is asked: where, which one, with which messages and tools."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

CHARACTERS_PER_TOKEN = 4

ChatMessage = dict[str, object]  # a message of the chat-completions API


@dataclass(frozen=True)
class Endpoint:
    """A server that speaks chat completions. What is secret stays out of its repr.

    `prices` are {model: {"input": 0.4, "output": 1.6}}, in US dollars per million tokens.
    """

    provider: str
    base_url: str = field(repr=False)
    key: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    label: str = ""
    flags: dict[str, object] = field(default_factory=dict)
    prices: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The base URL as it may be shown: without a user, password or query."""
        shown = re.sub(r"//[^/@]*@", "//", self.base_url)
        return re.sub(r"[?#].*", "", shown)

    @property
    def secrets(self) -> list[str]:
        """Longest first, so that none is left half when another is a part of it."""
        known = {self.key, *self.headers.values()}
        return sorted((secret for secret in known if len(secret) > 3), key=len, reverse=True)


@dataclass(frozen=True)
class ModelRequest:
    endpoint: Endpoint
    model: str
    messages: list[dict[str, object]]
    tools: list[dict[str, object]] = field(default_factory=list)
    temperature: float | None = None
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"{self.endpoint.base_url.rstrip('/')}/chat/completions"

    def headers(self) -> dict[str, str]:
        return authorised(self.endpoint)

    def body(self) -> dict[str, object]:
        body: dict[str, object] = {"model": self.model, "messages": self.messages, "stream": True}
        if self.endpoint.flags.get("stream_options", True):
            body["stream_options"] = {"include_usage": True}
        if self.tools:
            body["tools"] = self.tools
        if self.temperature is not None:
            body["temperature"] = self.temperature
        return body | self.extra

    def estimated_tokens(self) -> int:
        written = json.dumps([self.messages, self.tools], ensure_ascii=False, default=str)
        return estimated_tokens(written)


def authorised(endpoint: Endpoint) -> dict[str, str]:
    """The endpoint's headers. An empty key makes an illegal header, so it makes none."""
    bearer = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    return {**bearer, **endpoint.headers}


def estimated_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
