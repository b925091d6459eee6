"""The chat-completions API: how a model is asked, and the reply put together from its pieces.

Servers that call themselves compatible differ most in how they stream tool calls, so the pieces
are put together by whatever each one carries: its index, its id, its name, or just its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from agents.llm.images import behind_results
from agents.llm.known_providers import known_provider
from agents.llm.message_order import begun_by_user, folded, with_results_answered
from agents.llm.model_info import read_models
from agents.llm.reply import (
    MOST_CALLS,
    Json,
    ModelPage,
    ReasoningPart,
    Reply,
    ReplyDraft,
    RequestedCall,
    TextPart,
    as_dict,
    as_dicts,
    as_text,
    call_of,
    distinct,
    dollars,
    is_origin_of,
    parsed,
    token_count,
)
from agents.llm.request import Endpoint, ModelRequest, short_id
from agents.llm.wanted_back import (
    REASONING,
    given_back,
    merge_details,
    reasoning_in,
    without_duplicates,
)
from agents.sanitize import sanitize
from agents.text.tokens import estimate_tokens

# Servers that take a system message anywhere.
LENIENT = ("openai", "azure", "xai", "deepseek", "openrouter", "demo")


class ChatCompletions:
    """The adapter (agents.llm.api.Api)."""

    def url(self, endpoint: Endpoint) -> str:
        return f"{endpoint.base_url.rstrip('/')}/chat/completions"

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """An empty key makes an illegal header, so it makes none."""
        bearer = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        return {**bearer, **endpoint.headers}

    def body(self, request: ModelRequest) -> Json:
        body: Json = {"model": request.model, "messages": messages_for(request), "stream": True}
        if request.endpoint.flags.get("stream_options", True):
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = request.tools
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return body | request.extra

    def draft(self) -> ReplyDraft:
        return ChatDraft()

    def error_in(self, document: Json) -> Json | None:
        """OpenRouter also puts it into the choice it belongs to."""
        if document.get("error") or document.get("object") == "error":
            return document
        choices = as_dicts(document.get("choices"))
        return next((choice for choice in choices if choice.get("error")), None)

    def models_url(self, endpoint: Endpoint, after: str) -> str:
        return f"{endpoint.base_url.rstrip('/')}/models"

    def models_in(self, document: Json) -> ModelPage | None:
        listed = document.get("data")
        if not isinstance(listed, list):
            return None
        return ModelPage(read_models(listed))


# What is asked


def messages_for(request: ModelRequest) -> list[Json]:
    """The messages as this model wants them.

    What it gave along with a reply or a call goes back to it, calls of other models get ids that
    any server takes.
    """
    ids: dict[object, str] = {}
    sent: list[Json] = []
    is_lenient = request.endpoint.provider in LENIENT
    asked = request.messages if is_lenient else folded(request.messages)
    for message in behind_results(begun_by_user(asked)):
        own = {key: value for key, value in message.items() if key != "wanted_back"}
        if message["role"] == "assistant" and "tool_calls" in message:
            is_own = is_origin_of(message, request)
            extras = as_dict(as_dict(message.get("wanted_back")).get("calls")) if is_own else {}
            own["tool_calls"] = [
                call_for(call, extras, None if is_own else ids)
                for call in as_dicts(message.get("tool_calls"))
            ]
        if message["role"] == "assistant" and is_origin_of(message, request):
            kept = as_dict(as_dict(message.get("wanted_back")).get("message"))
            own |= given_back(kept, bool(message.get("tool_calls")), bool(request.tools))
        if message["role"] == "tool":
            known = message.get("tool_call_id")
            own["tool_call_id"] = ids.get(known, known)
        sent.append(own)
    return with_results_answered(sent) if answers_results(request.endpoint) else sent


def answers_results(endpoint: Endpoint) -> bool:
    """Mistral refuses a user's words right behind results ("Unexpected role 'user' after role
    'tool'")."""
    known = known_provider(endpoint.provider, endpoint.base_url)
    return known is not None and known.name == "mistral"


def call_for(call: Json, extras: Json, ids: dict[object, str] | None) -> Json:
    """`ids` takes up the id that the call gets, where it keeps not its own."""
    known = as_text(call.get("id"))
    extra = as_dict(extras.get(known))
    function = {**as_dict(call.get("function")), **as_dict(extra.get("function"))}
    if ids is not None:
        ids[known] = short_id(known)
        known = ids[known]
    return {**call, **extra, "id": known, "function": function}


# What is answered


@dataclass
class CallDraft:
    """A call whose pieces are still arriving."""

    index: object = None
    id: str = ""
    name: str = ""
    arguments: str = ""
    extra: Json = field(default_factory=dict)  # what else came with it

    @property
    def length(self) -> int:
        return len(self.id) + len(self.name) + len(self.arguments)

    def add(self, name: str, arguments: object) -> None:
        # Some servers repeat the name in every chunk, others stream it in fragments.
        if name != self.name and not self.arguments:
            self.name += name
        if isinstance(arguments, str):
            self.arguments += arguments
        elif isinstance(arguments, dict):
            self.arguments = json.dumps(arguments, ensure_ascii=False)

    def keep_extra(self, piece: Json, function: Json) -> int:
        """Characters of what the piece has besides what every call has."""
        known = ("index", "id", "type", "function", "name", "arguments")
        extra = {k: v for k, v in piece.items() if k not in known and v}
        inner = {k: v for k, v in function.items() if k not in known and v}
        if inner and function is not piece:
            extra["function"] = inner
        self.extra |= as_dict(sanitize(extra))
        return len(json.dumps(extra, default=str)) if extra else 0

    def finished(self, cut_short: bool) -> RequestedCall:
        return call_of(self.id, self.name, self.arguments, cut_short)


@dataclass
class ChatDraft:
    text: str = ""
    reasoning: str = ""
    calls: list[CallDraft] = field(default_factory=list)
    usage: Json = field(default_factory=dict)
    finish_reason: str = ""
    documents: int = 0
    accepted: bool = False
    kept: Json = field(default_factory=dict)  # of the message, by its key
    rest: int = 0  # characters of all calls, and of what came with them

    @property
    def began(self) -> bool:
        return bool(self.text or self.reasoning or self.calls)

    @property
    def length(self) -> int:
        return len(self.text) + len(self.reasoning) + self.rest

    @property
    def has_too_many_calls(self) -> bool:
        return len(self.calls) > MOST_CALLS

    def add(self, document: Json) -> Iterator[TextPart | ReasoningPart]:
        self.documents += 1
        self.usage = as_dict(document.get("usage")) or self.usage
        for choice in as_dicts(document.get("choices")):
            if choice.get("index") not in (0, None):
                continue
            # A server that ignores `stream` sends `message` where a stream has `delta`.
            message = as_dict(choice.get("message"))
            delta = as_dict(choice.get("delta")) or message
            ended = as_text(choice.get("finish_reason")) or ("stop" if message else "")
            self.finish_reason = ended or self.finish_reason
            if is_text_alone(delta):  # as most are
                self.text += (text := as_text(delta["content"]))
                yield TextPart(text)
                continue
            self.rest += merge_details(self.kept, delta)
            name, reasoning = reasoning_in(delta)
            if reasoning:
                self.reasoning += reasoning
                if name in REASONING:
                    self.kept[name] = as_text(self.kept.get(name)) + reasoning
                yield ReasoningPart(reasoning)
            # A refusal is what the model says, only under a name of its own.
            if text := as_text(delta.get("content")) or as_text(delta.get("refusal")):
                self.text += text
                yield TextPart(text)
            self.add_calls(delta)

    def add_calls(self, delta: Json) -> None:
        pieces = delta.get("tool_calls") or delta.get("function_call")
        for piece in as_dicts(pieces if isinstance(pieces, list) else [pieces]):
            if not piece or self.has_too_many_calls:
                continue
            function = as_dict(piece.get("function")) or piece
            name, arguments = as_text(function.get("name")), function.get("arguments")
            index, call_id = piece.get("index"), as_text(piece.get("id"))
            # The newest call at this index, or of all if there is none; best one with this id.
            here = [call for call in self.calls[::-1] if index is None or call.index == index]
            same_id = (call for call in here if call_id and call.id == call_id)
            draft = next(same_id, None) or next(iter(here), None)
            if draft is None or starts_another(draft, call_id, name, arguments):
                draft = CallDraft(index)
                self.calls.append(draft)
            before = draft.length
            draft.id = draft.id or call_id
            draft.add(name, arguments)
            self.rest += draft.length - before + draft.keep_extra(piece, function)

    def finished(self, asked_tokens: Callable[[], int]) -> Reply:
        usage = self.usage
        details = as_dict(usage.get("prompt_tokens_details"))
        tokens_in = token_count(usage.get("prompt_tokens") or usage.get("input_tokens"))
        tokens_out = token_count(usage.get("completion_tokens") or usage.get("output_tokens"))
        if estimated := not (tokens_in or tokens_out):
            written = "".join(draft.name + draft.arguments for draft in self.calls)
            tokens_in = asked_tokens()
            tokens_out = estimate_tokens(self.text + self.reasoning + written)
        elif tokens_in:  # xAI and Gemini count thinking, which is billed as output, in it alone
            tokens_out = max(tokens_out, token_count(usage.get("total_tokens")) - tokens_in)
        cut_short = self.finish_reason == "length"
        named = [draft for draft in self.calls if draft.name]
        calls = distinct([draft.finished(cut_short) for draft in named])
        return Reply(
            self.text,
            self.reasoning,
            calls,
            tokens_in,
            tokens_out,
            estimated,
            self.finish_reason,
            # DeepSeek's name for it; OpenAI's is spoken by all others.
            cached_tokens=token_count(
                details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")
            ),
            stored_tokens=token_count(details.get("cache_write_tokens")),  # OpenRouter
            cost=dollars(usage.get("cost")),
            wanted_back=self.wanted_back(named, calls),
        )

    def wanted_back(self, drafts: list[CallDraft], calls: list[RequestedCall]) -> Json:
        message = without_duplicates(self.kept, has_calls=bool(calls))
        pairs = zip(drafts, calls, strict=True)
        extras = {call.id: draft.extra for draft, call in pairs if draft.extra}
        parts = {"message": message, "calls": extras}
        return {name: part for name, part in parts.items() if part}

    def go_on(self, request: ModelRequest) -> None:
        return None


def is_text_alone(delta: Json) -> bool:
    content = delta.get("content")
    return isinstance(content, str) and content != "" and delta.keys() <= {"role", "content"}


def starts_another(draft: CallDraft, call_id: str, name: str, arguments: object) -> bool:
    """Is this piece the start of a new call, though its index says it goes on with the draft?"""
    if not name:
        return False
    if call_id and draft.id and call_id != draft.id:
        return True
    written = "{}" if isinstance(arguments, dict) else as_text(arguments).strip()
    # `transformers serve` gives all calls of a reply the same id and index: there each comes whole.
    is_there = isinstance(parsed(written), dict) if call_id and draft.id else bool(written)
    return is_there and isinstance(parsed(draft.arguments), dict)
