"""What a model answers: pieces as they arrive, and the whole reply put together from them.

Servers that call themselves compatible differ most in how they stream tool calls, so the pieces
are put together by whatever each one does tell: its index, its id, its name, or just its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from uuid import uuid4

from agents.llm.request import estimated_tokens
from agents.sanitize import is_too_deep, sanitize, sanitize_text

Json = dict[str, object]
REASONING = ("reasoning_content", "reasoning")
LONGEST_ID = 200
MOST_CALLS = 128  # of one reply
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


@dataclass
class CallDraft:
    """A call whose pieces are still arriving."""

    index: object = None
    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def length(self) -> int:
        return len(self.name) + len(self.arguments)

    def is_complete(self) -> bool:
        return isinstance(parsed(self.arguments), dict)

    def add(self, name: str, arguments: object) -> None:
        # Some servers repeat the name in every chunk, others stream it in fragments.
        if name != self.name and not self.arguments:
            self.name += name
        if isinstance(arguments, str):
            self.arguments += arguments
        elif isinstance(arguments, dict):
            self.arguments = json.dumps(arguments, ensure_ascii=False)

    def finished(self, cut_short: bool) -> RequestedCall:
        call_id = self.id[:LONGEST_ID] or f"call_{uuid4().hex[:12]}"
        arguments = parsed(self.arguments or "{}")
        if isinstance(arguments, dict) and not is_too_deep(arguments):
            return RequestedCall(call_id, self.name, mapping(sanitize(arguments)))
        return RequestedCall(call_id, self.name, {}, self.say_broken(cut_short))

    def say_broken(self, cut_short: bool) -> str:
        if cut_short:
            return f"The arguments of {self.name} were cut off at the model's output limit."
        if is_too_deep(parsed(self.arguments)):
            return f"The arguments of {self.name} are nested too deeply."
        return f"The arguments of {self.name} are not a JSON object."


@dataclass
class ReplyDraft:
    """The reply so far. Feed it each document of the stream; it yields what is new."""

    text: str = ""
    reasoning: str = ""
    calls: list[CallDraft] = field(default_factory=list)
    usage: Json = field(default_factory=dict)
    finish_reason: str = ""
    documents: int = 0
    called: int = 0  # characters of all calls

    @property
    def began(self) -> bool:
        return bool(self.text or self.reasoning or self.calls)

    @property
    def length(self) -> int:
        """Characters."""
        return len(self.text) + len(self.reasoning) + self.called

    @property
    def has_too_many_calls(self) -> bool:
        return len(self.calls) > MOST_CALLS

    def add(self, document: Json) -> Iterator[TextPart | ReasoningPart]:
        self.documents += 1
        self.usage = mapping(document.get("usage")) or self.usage
        for choice in map(mapping, sequence(document.get("choices"))):
            if choice.get("index") in (0, None):
                yield from self.add_choice(choice)

    def add_choice(self, choice: Json) -> Iterator[TextPart | ReasoningPart]:
        # A server that ignores `stream` sends `message` where a stream has `delta`.
        whole = mapping(choice.get("message"))
        delta = mapping(choice.get("delta")) or whole
        ended = said(choice.get("finish_reason")) or ("stop" if whole else "")
        self.finish_reason = ended or self.finish_reason
        if reasoning := reasoning_of(delta):
            self.reasoning += reasoning
            yield ReasoningPart(reasoning)
        if text := said(delta.get("content")):
            self.text += text
            yield TextPart(text)
        self.add_calls(delta)

    def add_calls(self, delta: Json) -> None:
        pieces = delta.get("tool_calls") or delta.get("function_call")
        for piece in map(mapping, pieces if isinstance(pieces, list) else [pieces]):
            function = mapping(piece.get("function")) or piece
            name, arguments = said(function.get("name")), function.get("arguments")
            if piece and not self.has_too_many_calls:
                draft = self.draft_for(piece, name, arguments)
                before = draft.length
                draft.add(name, arguments)
                self.called += draft.length - before

    def draft_for(self, piece: Json, name: str, arguments: object) -> CallDraft:
        index, call_id = piece.get("index"), said(piece.get("id"))
        draft = self.same_call(index, call_id)
        if draft is None or starts_another(draft, call_id, name, arguments):
            draft = CallDraft(index)
            self.calls.append(draft)
        draft.id = draft.id or call_id
        return draft

    def same_call(self, index: object, call_id: str) -> CallDraft | None:
        """The newest call at this index, or of all if there is none; best one with this id."""
        here = [draft for draft in self.calls[::-1] if index is None or draft.index == index]
        same_id = (draft for draft in here if call_id and draft.id == call_id)
        return next(same_id, None) or next(iter(here), None)

    def finished(self, asked_tokens: Callable[[], int]) -> Reply:
        tokens_in, tokens_out = counted(self.usage)
        estimated = not (tokens_in or tokens_out)
        if estimated:
            tokens_in, tokens_out = asked_tokens(), self.estimated_tokens()
        calls = [draft.finished(self.finish_reason == "length") for draft in self.calls]
        return Reply(
            self.text,
            self.reasoning,
            unlike_ids([call for call in calls if call.name]),
            tokens_in,
            tokens_out,
            estimated,
            self.finish_reason,
        )

    def estimated_tokens(self) -> int:
        calls = "".join(draft.name + draft.arguments for draft in self.calls)
        return estimated_tokens(self.text + self.reasoning + calls)


def starts_another(draft: CallDraft, call_id: str, name: str, arguments: object) -> bool:
    """Is this piece the start of a new call, though its index says it goes on with the draft?"""
    if call_id and draft.id:
        return call_id != draft.id and bool(name)
    has_arguments = isinstance(arguments, dict) or bool(said(arguments).strip())
    return bool(name) and has_arguments and draft.is_complete()


def unlike_ids(calls: list[RequestedCall]) -> list[RequestedCall]:
    """The same calls, none with the id of another: answers are matched to calls by id."""
    seen: dict[str, RequestedCall] = {}
    for call in calls:
        call_id = f"{call.id}-{len(seen)}" if call.id in seen else call.id
        seen[call_id] = RequestedCall(call_id, call.name, call.arguments, call.broken)
    return list(seen.values())


def counted(usage: Json) -> tuple[int, int]:
    tokens_in = usage.get("prompt_tokens") or usage.get("input_tokens")
    tokens_out = usage.get("completion_tokens") or usage.get("output_tokens")
    return whole(tokens_in), whole(tokens_out)


def reasoning_of(delta: Json) -> str:
    return next((text for key in REASONING if (text := said(delta.get(key)))), "")


def parsed(text: str) -> object:
    """JSON, also with raw line ends in its strings, and also when encoded twice; else None."""
    try:
        value: object = json.loads(text, strict=False)
        return json.loads(value, strict=False) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None


def mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def said(value: object) -> str:
    """A text, or the texts of a list of parts; anything else is nothing."""
    if isinstance(value, list):
        return "".join(said(mapping(part).get("text")) for part in value)
    return sanitize_text(value) if isinstance(value, str) else ""


def whole(value: object) -> int:
    return int(min(value, MOST_TOKENS)) if isinstance(value, int | float) and value > 0 else 0
