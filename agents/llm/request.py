"""What a model is asked, whatever API its server speaks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256

from agents.llm.images import IMAGE_TOKENS, count_images, without_images
from agents.llm.lessons import NOTHING_LEARNT, Lessons
from agents.telemetry.redaction import redacted_url
from agents.text.tokens import estimate_tokens

# A message as the chat-completions API has it. An assistant's may have `wanted_back` besides: what
# came with it, and from which provider and model, for the adapter to give back.
ChatMessage = dict[str, object]


@dataclass(frozen=True)
class Endpoint:
    """A server that speaks one of the APIs we know. What is secret stays out of its repr.

    `api` names the adapter (agents.llm.api), as in known_providers.PROTOCOLS. `prices` are
    {model: {"input": 0.4, "output": 1.6}}, in US dollars per million tokens.
    """

    provider: str
    base_url: str = field(repr=False)
    key: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    label: str = ""
    flags: dict[str, object] = field(default_factory=dict)
    prices: dict[str, dict[str, float]] = field(default_factory=dict)
    api: str = "chat_completions"

    @property
    def address(self) -> str:
        """The base URL as it may be shown."""
        return redacted_url(self.base_url)

    @property
    def secrets(self) -> list[str]:
        """Longest first, so that none is left half when another is a part of it."""
        known = {self.key, *self.headers.values()}
        return sorted((secret for secret in known if len(secret) > 3), key=len, reverse=True)


@dataclass(frozen=True)
class ModelRequest:
    """`messages` and `tools` are written as chat completions have them; `extra` goes along.

    `prices` are those of the model, in US dollars per million tokens; empty where none is known.
    `lessons` are what it is known to refuse.
    """

    endpoint: Endpoint
    model: str
    messages: list[ChatMessage]
    tools: list[dict[str, object]] = field(default_factory=list)
    temperature: float | None = None
    extra: dict[str, object] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)
    lessons: Lessons = NOTHING_LEARNT

    def estimated_tokens(self) -> int:
        texts = without_images(self.messages)
        written = json.dumps([texts, self.tools], ensure_ascii=False, default=str)
        return estimate_tokens(written) + IMAGE_TOKENS * count_images(self.messages)


def short_id(call_id: str) -> str:
    """An id that every API takes for a call that another model made.

    Mistral wants nine letters or digits, OpenAI at most 40 characters, Anthropic no others than
    letters, digits, _ and -.
    """
    return sha256(call_id.encode()).hexdigest()[:9]
