"""OpenAI's Responses API: how a model is asked, and the reply put together from its events.

Sources: developers.openai.com/api/docs (reasoning, function calling, streaming responses) and the
types of openai-python (src/openai/types/responses). OpenAI's newest models think and call tools
together here alone.

Nothing is stored at the server: what it gave out goes back as it came, with the reasoning in it
encrypted, but only to the model that gave it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from agents.llm.chat_completions import ChatCompletions
from agents.llm.reply import (
    MOST_CALLS,
    Json,
    ReasoningPart,
    Reply,
    ReplyDraft,
    TextPart,
    as_dict,
    as_dicts,
    as_text,
    call_of,
    distinct,
    is_origin_of,
    token_count,
)
from agents.llm.request import ChatMessage, Endpoint, ModelRequest, short_id
from agents.sanitize import sanitize
from agents.text.tokens import estimate_tokens

LONGEST_CALL_ID = 64  # characters
# Why a reply is incomplete, in words that all APIs' replies are told in.
STOP_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}
ENDS = ("response.completed", "response.incomplete")
TEXTS = ("response.output_text.delta", "response.refusal.delta")
THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")


class OpenAIResponses(ChatCompletions):
    """The adapter (agents.llm.api.Api); key and list of models are those of chat completions."""

    def url(self, endpoint: Endpoint) -> str:
        return f"{endpoint.base_url.rstrip('/')}/responses"

    def body(self, request: ModelRequest) -> Json:
        extra = dict(request.extra)
        if "max_tokens" in extra:
            extra["max_output_tokens"] = extra.pop("max_tokens")
        body: Json = {
            "model": request.model,
            "input": items_for(request),
            "stream": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if request.tools:
            body["tools"] = [tool_of(tool) for tool in request.tools]
        if request.temperature is not None:
            body["temperature"] = request.temperature
        else:
            body["reasoning"] = {"summary": "auto"}
        return body | extra

    def draft(self) -> ReplyDraft:
        return ResponseDraft()

    def error_in(self, document: Json) -> Json | None:
        kind = document.get("type")
        if kind == "response.failed":
            return {"error": as_dict(document.get("response")).get("error")}
        if kind == "error":
            return document if document.get("error") else {"error": document}
        return super().error_in(document) if kind is None and document.get("error") else None


# What is asked


def tool_of(tool: Json) -> Json:
    """`strict` is on by itself here, and takes no schema with a field that may be left out."""
    return {"type": "function", "strict": False, **as_dict(tool.get("function"))}


def items_for(request: ModelRequest) -> list[Json]:
    ids: dict[object, str] = {}
    items: list[Json] = []
    for message in request.messages:
        if message["role"] == "assistant":
            items += said(message, request, ids)
        elif message["role"] == "tool":
            known = as_text(message.get("tool_call_id"))
            call_id = ids.get(known, known)
            output = content_of(message)
            items.append({"type": "function_call_output", "call_id": call_id, "output": output})
        else:
            items.append({"role": message["role"], "content": content_of(message)})
    return items


def said(message: ChatMessage, request: ModelRequest, ids: dict[object, str]) -> list[Json]:
    """What the model gave out: as it came if it is this one's, else its text and calls."""
    if is_origin_of(message, request):
        kept = as_dict(as_dict(message.get("wanted_back")).get("message")).get("output")
        if isinstance(kept, list) and kept:
            return [as_dict(item) for item in kept]
    items: list[Json] = []
    if text := as_text(message.get("content")):
        items.append({"role": "assistant", "content": text})
    for call in as_dicts(message.get("tool_calls")):
        known, function = as_text(call.get("id")), as_dict(call.get("function"))
        ids[known] = known if len(known) <= LONGEST_CALL_ID else short_id(known)
        name, arguments = function.get("name"), function.get("arguments")
        made = {"call_id": ids[known], "name": name, "arguments": arguments}
        items.append({"type": "function_call", **made})
    return items


def content_of(message: ChatMessage) -> str | list[Json]:
    content = message.get("content")
    if not isinstance(content, list):
        return as_text(content)
    return [part_of(as_dict(part)) for part in content]


def part_of(part: Json) -> Json:
    if part.get("type") != "image_url":
        return {"type": "input_text", "text": as_text(part.get("text"))}
    url = as_text(as_dict(part.get("image_url")).get("url"))
    return {"type": "input_image", "image_url": url}


# What is answered


@dataclass
class ResponseDraft:
    """The items of the output as they grow, by their place in it."""

    items: dict[int, Json] = field(default_factory=dict)
    arguments: dict[int, str] = field(default_factory=dict)  # JSON of a call
    text: str = ""
    reasoning: str = ""
    usage: Json = field(default_factory=dict)
    finish_reason: str = ""
    documents: int = 0
    accepted: bool = False
    rest: int = 0  # characters of what is neither text nor reasoning

    @property
    def began(self) -> bool:
        return bool(self.items)

    @property
    def length(self) -> int:
        return len(self.text) + len(self.reasoning) + self.rest

    @property
    def has_too_many_calls(self) -> bool:
        return len(self.arguments) > MOST_CALLS

    def add(self, document: Json) -> Iterator[TextPart | ReasoningPart]:
        self.documents += 1
        kind, index = as_text(document.get("type")), document.get("output_index")
        place = index if isinstance(index, int) else -1
        piece = as_text(document.get("delta"))
        if kind in ("response.output_item.added", "response.output_item.done"):
            self.put(place, as_dict(document.get("item")))
        elif kind in TEXTS and piece:
            self.text += piece
            yield TextPart(piece)
        elif kind in THOUGHTS and piece:
            yield self.think(piece)
        elif kind == "response.reasoning_summary_part.added" and self.reasoning:
            yield self.think("\n\n")
        elif kind == "response.function_call_arguments.delta" and place in self.arguments:
            self.arguments[place] += piece
            self.rest += len(piece)
        elif kind in ENDS:
            self.end(as_dict(document.get("response")))
        elif document.get("object") == "response":  # from a server that ignores `stream`
            yield from self.add_whole(document)

    def think(self, piece: str) -> ReasoningPart:
        self.reasoning += piece
        return ReasoningPart(piece)

    def put(self, place: int, item: Json) -> None:
        item = as_dict(sanitize(item))
        self.rest += len(json.dumps(item, default=str)) if place not in self.items else 0
        self.items[place] = item
        if item.get("type") == "function_call":
            self.arguments[place] = as_text(item.get("arguments"))

    def add_whole(self, response: Json) -> Iterator[TextPart | ReasoningPart]:
        for place, item in enumerate(as_dicts(response.get("output"))):
            self.put(place, item)
            if text := as_text(item.get("content")):
                self.text += text
                yield TextPart(text)
            if thought := as_text(item.get("summary")):
                yield self.think(thought)
        self.end(response)

    def end(self, response: Json) -> None:
        self.usage = as_dict(response.get("usage"))
        reason = as_text(as_dict(response.get("incomplete_details")).get("reason"))
        self.finish_reason = STOP_REASONS.get(reason, reason)
        if not reason:
            self.finish_reason = "tool_calls" if self.arguments else "stop"

    def finished(self, asked_tokens: Callable[[], int]) -> Reply:
        tokens_in = token_count(self.usage.get("input_tokens"))
        tokens_out = token_count(self.usage.get("output_tokens"))
        if estimated := not (tokens_in or tokens_out):
            tokens_in, tokens_out = asked_tokens(), estimate_tokens("x" * self.length)
        details = as_dict(self.usage.get("input_tokens_details"))
        calls = [
            call_of(
                as_text(self.items[place].get("call_id")),
                as_text(self.items[place].get("name")),
                arguments,
                self.finish_reason == "length",
            )
            for place, arguments in sorted(self.arguments.items())
            if self.items[place].get("name")
        ]
        # Text and calls are written anew from their rows; what it thought goes back as it came,
        # and with it what it gave out behind that.
        output = [self.items[place] for place in sorted(self.items)]
        keeps = any(item.get("type") == "reasoning" for item in output)
        return Reply(
            self.text,
            self.reasoning,
            distinct(calls),
            tokens_in,
            tokens_out,
            estimated,
            self.finish_reason,
            cached_tokens=token_count(details.get("cached_tokens")),
            wanted_back={"message": {"output": output}} if keeps else {},
        )

    def go_on(self, request: ModelRequest) -> None:
        return None
