"""What a model answers, whatever API its server speaks, and how its JSON is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import uuid4

from agents.json_size import has_more_values
from agents.llm.errors import MOST_VALUES
from agents.llm.model_info import ModelInfo
from agents.llm.request import ChatMessage, ModelRequest
from agents.sanitize import is_too_deep, sanitize, sanitize_text

Json = dict[str, object]

LONGEST_ID = 100_000  # characters; LiteLLM puts Gemini's signatures into ids
MOST_CALLS = 128  # of one reply
MOST_TOKENS = 10_000_000  # of one reply; more is a server's mistake
DEAREST = 100_000.0  # US dollars for one reply; likewise


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
    """`tokens_in` are all that were asked; of these, `cached_tokens` were read from the server's

    cache and `stored_tokens` written to it. `wanted_back` is what came with the reply, or with one
    of its calls, and has to be given back to the same model unchanged: {"message": …, "calls":
    {id: …}}, in the words of its API. `refusal` is why the model would not answer.
    """

    text: str
    reasoning: str
    calls: list[RequestedCall]
    tokens_in: int
    tokens_out: int
    estimated: bool
    finish_reason: str
    cached_tokens: int = 0
    stored_tokens: int = 0
    cost: float | None = None  # in US dollars, where the server says it
    refusal: str = ""
    wanted_back: Json = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.text.strip() or self.reasoning.strip() or self.calls)


@dataclass(frozen=True)
class ModelPage:
    """A part of the list; `after` asks for the next one, and is empty at the end."""

    models: list[ModelInfo]
    after: str = ""


class ReplyDraft(Protocol):
    """The reply so far. Feed it each document of the stream; it yields what is new.

    `accepted` is whether the server has begun to answer: from then on the request costs something.
    """

    finish_reason: str
    documents: int
    accepted: bool

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
        """`asked_tokens` estimates the request's, for a server that does not count.

        Of a reply that broke off it has what came, and counts what the server would have counted.
        """
        ...

    def go_on(self, request: ModelRequest) -> ModelRequest | None:
        """What to ask for the rest, where the reply is not over but only paused."""
        ...


def call_of(call_id: str, name: str, arguments: str, cut_short: bool) -> RequestedCall:
    """A call from what the model wrote; one without an id gets one."""
    if not call_id or len(call_id) > LONGEST_ID:
        call_id = f"call_{uuid4().hex[:12]}"
    value = parsed(arguments or "{}")
    if isinstance(value, dict) and not is_too_deep(value):
        return RequestedCall(call_id, name, as_dict(sanitize(value)))
    broken = "are not a JSON object"
    if cut_short:
        broken = "were cut off at the model's output limit"
    elif is_too_deep(value):
        broken = "are nested too deeply"
    return RequestedCall(call_id, name, {}, f"The arguments of {name} {broken}.")


def distinct(calls: list[RequestedCall]) -> list[RequestedCall]:
    """Each with an id of its own, since results are matched to calls by it."""
    found: dict[str, RequestedCall] = {}
    for call in calls:
        call_id = f"{call.id}-{len(found)}" if call.id in found else call.id
        found[call_id] = replace(call, id=call_id)
    return list(found.values())


def is_origin_of(message: ChatMessage, request: ModelRequest) -> bool:
    """Is the model that is asked the one that said this?"""
    origin = as_dict(message.get("wanted_back"))
    asked = (request.endpoint.provider, request.model)
    return (origin.get("provider"), origin.get("model")) == asked


def parsed(text: str) -> object:
    """JSON, also with raw line ends in its strings, and also when encoded twice; else None."""
    try:
        value = bounded(text)
        return bounded(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None


def bounded(text: str) -> object:
    """The value of a text; of a larger one than a reply may be, None."""
    if has_more_values(text.encode(errors="replace"), MOST_VALUES):
        return None
    value: object = json.loads(text, strict=False)
    return value


def as_dict(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def as_dicts(value: object) -> list[Json]:
    """The objects of a list; anything else in it is an empty one."""
    return [as_dict(each) for each in value] if isinstance(value, list) else []


def as_text(value: object) -> str:
    """A text, or the texts of a list of parts; anything else is nothing."""
    if isinstance(value, list):
        return "".join(as_texts(value, "text"))
    return sanitize_text(value) if isinstance(value, str) else ""


def as_texts(parts: object, name: str) -> list[str]:
    """What is under this name in each part of a list."""
    return [as_text(part.get(name)) for part in as_dicts(parts)]


def token_count(value: object) -> int:
    return int(min(value, MOST_TOKENS)) if isinstance(value, int | float) and value > 0 else 0


def dollars(value: object) -> float | None:
    """None where it is no amount; JSON has numbers too large for a float, and Python reads NaN."""
    is_amount = isinstance(value, int | float) and 0 <= value <= DEAREST
    return float(value) if is_amount and isinstance(value, int | float) else None
