"""What a model answers, whatever API its server speaks, and how its JSON is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from agents.sanitize import sanitize_text

Json = dict[str, object]

MOST_TOKENS = 10_000_000  # of one reply; more is a server's mistake


@dataclass(frozen=True)
class TextPart:
    text: str


@dataclass(frozen=True)
class ReasoningPart:
    text: str


@dataclass(frozen=True)
class RequestedCall:
    """A tool call; `broken` is a sentence when its arguments are not a JSON object."""

    id: str
    name: str
    arguments: Json
    broken: str | None = None


@dataclass(frozen=True)
class Reply:
    text: str
    reasoning: str
    calls: list[RequestedCall]
    tokens_in: int
    tokens_out: int
    estimated: bool
    finish_reason: str

    @property
    def is_empty(self) -> bool:
        return not (self.text.strip() or self.reasoning.strip() or self.calls)


@dataclass(frozen=True)
class ListedModel:
    """A model that a server lists; None where it does not say."""

    id: str
    context_window: int | None = None
    sees_images: bool | None = None


@dataclass(frozen=True)
class ModelPage:
    """A part of the list; `after` asks for the next one, and is empty at the end."""

    models: list[ListedModel]
    after: str = ""


class ReplyDraft(Protocol):
    """The reply so far. Feed it each document of the stream; it yields what is new."""

    finish_reason: str
    documents: int

    @property
    def began(self) -> bool: ...

    @property
    def length(self) -> int:
        """Characters."""
        ...

    @property
    def has_too_many_calls(self) -> bool: ...

    def add(self, document: Json) -> Iterator[TextPart | ReasoningPart]: ...

    def finished(self, asked_tokens: Callable[[], int]) -> Reply:
        """`asked_tokens` estimates the request's, for a server that does not count."""
        ...


def parsed(text: str) -> object:
    """JSON, also with raw line ends in its strings, and also when encoded twice; else None."""
    try:
        value: object = json.loads(text, strict=False)
        return json.loads(value, strict=False) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None


def as_dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def as_text(value: object) -> str:
    """A text, or the texts of a list of parts; anything else is nothing."""
    if isinstance(value, list):
        return "".join(as_text(as_dict(part).get("text")) for part in value)
    return sanitize_text(value) if isinstance(value, str) else ""


def token_count(value: object) -> int:
    return int(min(value, MOST_TOKENS)) if isinstance(value, int | float) and value > 0 else 0
