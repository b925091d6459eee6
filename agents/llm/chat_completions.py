"""The chat-completions API: how a model is asked, and the reply put together from its pieces.

Servers that call themselves compatible differ most in how they stream tool calls, so the pieces
are put together by whatever each one does tell: its index, its id, its name, or just its place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from uuid import uuid4

from agents.llm.images import behind_results
from agents.llm.reply import (
    Json,
    ListedModel,
    ModelPage,
    ReasoningPart,
    Reply,
    RequestedCall,
    TextPart,
    as_dict,
    as_text,
    parsed,
    token_count,
)
from agents.llm.request import Endpoint, ModelRequest, estimated_tokens
from agents.sanitize import is_too_deep, sanitize

REASONING = ("reasoning_content", "reasoning")
LONGEST_ID = 200
MOST_CALLS = 128  # of one reply


class ChatCompletions:
    """The adapter (agents.llm.api.Api)."""

    def url(self, endpoint: Endpoint) -> str:
        return f"{endpoint.base_url.rstrip('/')}/chat/completions"

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        """An empty key makes an illegal header, so it makes none."""
        bearer = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        return {**bearer, **endpoint.headers}

    def body(self, request: ModelRequest) -> Json:
        messages = behind_results(request.messages)
        body: Json = {"model": request.model, "messages": messages, "stream": True}
        if request.endpoint.flags.get("stream_options", True):
            body["stream_options"] = {"include_usage": True}
        if request.tools:
            body["tools"] = request.tools
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return body | request.extra

    def draft(self) -> ChatDraft:
        return ChatDraft()

    def is_error(self, document: Json) -> bool:
        return bool(document.get("error")) or document.get("object") == "error"

    def models_url(self, endpoint: Endpoint, after: str) -> str:
        return f"{endpoint.base_url.rstrip('/')}/models"

    def models_in(self, document: Json) -> ModelPage | None:
        listed = document.get("data")
        if not isinstance(listed, list):
            return None
        names = filter(None, (as_text(as_dict(each).get("id")) for each in listed))
        return ModelPage([ListedModel(name) for name in names])


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
            return RequestedCall(call_id, self.name, as_dict(sanitize(arguments)))
        broken = "are not a JSON object"
        if cut_short:
            broken = "were cut off at the model's output limit"
        elif is_too_deep(arguments):
            broken = "are nested too deeply"
        return RequestedCall(call_id, self.name, {}, f"The arguments of {self.name} {broken}.")


@dataclass
class ChatDraft:
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
        return len(self.text) + len(self.reasoning) + self.called

    @property
    def has_too_many_calls(self) -> bool:
        return len(self.calls) > MOST_CALLS

    def add(self, document: Json) -> Iterator[TextPart | ReasoningPart]:
        self.documents += 1
        self.usage = as_dict(document.get("usage")) or self.usage
        choices = document.get("choices")
        for choice in map(as_dict, choices if isinstance(choices, list) else []):
            if choice.get("index") not in (0, None):
                continue
            # A server that ignores `stream` sends `message` where a stream has `delta`.
            message = as_dict(choice.get("message"))
            delta = as_dict(choice.get("delta")) or message
            ended = as_text(choice.get("finish_reason")) or ("stop" if message else "")
            self.finish_reason = ended or self.finish_reason
            reasoning = next((text for key in REASONING if (text := as_text(delta.get(key)))), "")
            if reasoning:
                self.reasoning += reasoning
                yield ReasoningPart(reasoning)
            if text := as_text(delta.get("content")):
                self.text += text
                yield TextPart(text)
            self.add_calls(delta)

    def add_calls(self, delta: Json) -> None:
        pieces = delta.get("tool_calls") or delta.get("function_call")
        for piece in map(as_dict, pieces if isinstance(pieces, list) else [pieces]):
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
            draft.id = draft.id or call_id
            before = draft.length
            draft.add(name, arguments)
            self.called += draft.length - before

    def finished(self, asked_tokens: Callable[[], int]) -> Reply:
        usage = self.usage
        tokens_in = token_count(usage.get("prompt_tokens") or usage.get("input_tokens"))
        tokens_out = token_count(usage.get("completion_tokens") or usage.get("output_tokens"))
        if estimated := not (tokens_in or tokens_out):
            written = "".join(draft.name + draft.arguments for draft in self.calls)
            tokens_in = asked_tokens()
            tokens_out = estimated_tokens(self.text + self.reasoning + written)
        calls: dict[str, RequestedCall] = {}  # results are matched to calls by id
        for draft in self.calls:
            call = draft.finished(self.finish_reason == "length")
            if call.name:
                call_id = f"{call.id}-{len(calls)}" if call.id in calls else call.id
                calls[call_id] = replace(call, id=call_id)
        return Reply(
            self.text,
            self.reasoning,
            list(calls.values()),
            tokens_in,
            tokens_out,
            estimated,
            self.finish_reason,
        )


def starts_another(draft: CallDraft, call_id: str, name: str, arguments: object) -> bool:
    """Is this piece the start of a new call, though its index says it goes on with the draft?"""
    if call_id and draft.id:
        return call_id != draft.id and bool(name)
    has_arguments = isinstance(arguments, dict) or bool(as_text(arguments).strip())
    return bool(name) and has_arguments and isinstance(parsed(draft.arguments), dict)
