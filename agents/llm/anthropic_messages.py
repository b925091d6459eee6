"""Anthropic's Messages API: how a model is asked, and the reply put together from its events.

Sources: platform.claude.com/docs (streaming, adaptive thinking, prompt caching, stop reasons,
errors) and the types of anthropic-sdk-python at 009b035 (src/anthropic/types).

Thinking goes back exactly as it came, with its signatures and in its place among the other blocks,
but only to the model that thought it. The prompt is cached up to four places: behind the tools,
behind the system message, behind the last message and behind the one that was last a step ago.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from agents.llm.message_order import LEFT_OUT, folded
from agents.llm.model_info import read_models
from agents.llm.reply import (
    MOST_CALLS,
    Json,
    ModelPage,
    ReasoningPart,
    Reply,
    RequestedCall,
    TextPart,
    as_dict,
    as_dicts,
    as_text,
    as_texts,
    call_of,
    distinct,
    is_origin_of,
    parsed,
    token_count,
)
from agents.llm.request import ChatMessage, Endpoint, ModelRequest, short_id
from agents.sanitize import sanitize
from agents.text.tokens import estimate_tokens

VERSION = "2023-06-01"
MOST_TOKENS_OUT = 32_000  # `max_tokens` is required; a model that can write less says how much
# Thinking counts toward max_tokens: where an author allows fewer, all of them are for the answer.
FEWEST_TO_THINK = 4_096
MODELS_A_PAGE = 1000
HERE: Json = {"type": "ephemeral"}  # a place up to which the prompt is cached, for five minutes
ID = re.compile(r"[a-zA-Z0-9_-]{1,128}")
DATA_URL = re.compile(r"data:(?P<type>[\w.+/-]+);base64,(?P<data>.*)", re.DOTALL)
# In words that all APIs' replies are told in. What is not listed is told as it comes.
STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
PAUSED = "pause_turn"
# Of these blocks, what the rows have.
ROW_KEYS = {"text": {"type", "text"}, "tool_use": {"type", "id", "name", "input"}}


class AnthropicMessages:
    """The adapter (agents.llm.api.Api)."""

    def url(self, endpoint: Endpoint) -> str:
        return f"{endpoint.base_url.rstrip('/')}/messages"

    def headers(self, endpoint: Endpoint) -> dict[str, str]:
        key = {"x-api-key": endpoint.key} if endpoint.key else {}
        return {**key, "anthropic-version": VERSION, **endpoint.headers}

    def body(self, request: ModelRequest) -> Json:
        most = request.extra.get("max_tokens", MOST_TOKENS_OUT)
        body: Json = {"model": request.model, "max_tokens": most, "stream": True}
        if request.temperature is not None:  # it cannot be combined with thinking
            body["temperature"] = min(request.temperature, 1.0)
        elif isinstance(most, int) and most >= FEWEST_TO_THINK:
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
        if tools := [tool_of(each) for each in request.tools]:
            tools[-1]["cache_control"] = HERE
            body["tools"] = tools
        leading, rest = leading_system(request.messages)
        if leading:
            body["system"] = [{"type": "text", "text": leading, "cache_control": HERE}]
        body["messages"] = cached(turns_of(rest, request))
        return body | request.extra

    def draft(self) -> MessageDraft:
        return MessageDraft()

    def error_in(self, document: Json) -> Json | None:
        return document if document.get("type") == "error" else None

    def models_url(self, endpoint: Endpoint, after: str) -> str:
        page = f"&after_id={quote(after, safe='')}" if after else ""
        return f"{endpoint.base_url.rstrip('/')}/models?limit={MODELS_A_PAGE}{page}"

    def models_in(self, document: Json) -> ModelPage | None:
        listed = document.get("data")
        if not isinstance(listed, list):
            return None
        after = as_text(document.get("last_id")) if document.get("has_more") else ""
        return ModelPage(read_models(listed), after)


# What is asked


def tool_of(tool: Json) -> Json:
    function = as_dict(tool.get("function"))
    schema = {"type": "object", **as_dict(function.get("parameters"))}
    described = {"description": text} if (text := function.get("description")) else {}
    return {"name": function.get("name"), **described, "input_schema": schema}


def leading_system(messages: list[ChatMessage]) -> tuple[str, list[ChatMessage]]:
    """The text of the system messages that come first, and the rest."""
    count = next((n for n, m in enumerate(messages) if m["role"] != "system"), len(messages))
    texts = [as_text(message.get("content")) for message in messages[:count]]
    return "\n\n".join(filter(str.strip, texts)), messages[count:]


def turns_of(messages: list[ChatMessage], request: ModelRequest) -> list[Json]:
    """User and assistant by turns, each as a list of blocks; results belong to the user."""
    ids: dict[object, str] = {}
    turns: list[Json] = []
    for message in folded(messages):
        is_model = message["role"] == "assistant"
        role = "assistant" if is_model else "user"
        blocks = assistant_blocks(message, request, ids) if is_model else user_blocks(message, ids)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] = [*blocks_of(turns[-1]), *blocks]
        elif blocks:
            turns.append({"role": role, "content": blocks})
    if turns and turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": LEFT_OUT}]})
    return turns


def assistant_blocks(
    message: ChatMessage, request: ModelRequest, ids: dict[object, str]
) -> list[Json]:
    """What the model said: as it came if it is this one's, else its text and calls."""
    if is_origin_of(message, request):
        kept = as_dict(as_dict(message.get("wanted_back")).get("message")).get("content")
        if isinstance(kept, list) and kept:
            return [as_dict(block) for block in kept]
    blocks = text_blocks(message.get("content"))
    for call in as_dicts(message.get("tool_calls")):
        function = as_dict(call.get("function"))
        known = as_text(call.get("id"))
        ids[known] = known if ID.fullmatch(known) else short_id(known)
        blocks.append(
            {
                "type": "tool_use",
                "id": ids[known],
                "name": function.get("name"),
                "input": as_dict(parsed(as_text(function.get("arguments")))),
            }
        )
    return blocks


def user_blocks(message: ChatMessage, ids: dict[object, str]) -> list[Json]:
    blocks = text_blocks(message.get("content"))
    if message["role"] != "tool":
        return blocks
    known = as_text(message.get("tool_call_id"))
    return [{"type": "tool_result", "tool_use_id": ids.get(known, known), "content": blocks}]


def text_blocks(content: object) -> list[Json]:
    """Texts and images; a text of nothing but blanks is refused, so it is left out."""
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    blocks: list[Json] = []
    for part in map(as_dict, parts):
        if part.get("type") == "image_url":
            blocks.append(image_block(as_text(as_dict(part.get("image_url")).get("url"))))
        elif (text := as_text(part.get("text"))).strip():
            blocks.append({"type": "text", "text": text})
    return blocks


def image_block(url: str) -> Json:
    if match := DATA_URL.fullmatch(url):
        source: Json = {"type": "base64", "media_type": match["type"], "data": match["data"]}
    else:
        source = {"type": "url", "url": url}
    return {"type": "image", "source": source}


def blocks_of(turn: Json) -> list[Json]:
    content = turn["content"]
    return content if isinstance(content, list) else []


def cached(turns: list[Json]) -> list[Json]:
    """Behind the last message of the user and the one before: where the last step had its own."""
    for turn in [turn for turn in turns if turn["role"] == "user"][-2:]:
        *before, last = blocks_of(turn)
        turn["content"] = [*before, {**last, "cache_control": HERE}]
    return turns


# What is answered


@dataclass
class MessageDraft:
    """The blocks as they grow, each with its pieces joined."""

    blocks: list[Json] = field(default_factory=list)
    inputs: dict[int, str] = field(default_factory=dict)  # JSON of a call, by its block's place
    before: int = 0  # blocks that came before the reply paused
    used: list[Json] = field(default_factory=list)  # of each part of a reply that paused
    stop_reason: str = ""
    finish_reason: str = ""
    refusal: str = ""
    documents: int = 0
    accepted: bool = False
    length: int = 0

    @property
    def began(self) -> bool:
        return bool(self.blocks)

    @property
    def has_too_many_calls(self) -> bool:
        return len(self.inputs) > MOST_CALLS

    def add(self, document: Json) -> Iterator[TextPart | ReasoningPart]:
        self.documents += 1
        kind = document.get("type")
        if kind == "message_start":
            self.used.append(as_dict(as_dict(document.get("message")).get("usage")))
        elif kind == "content_block_start":
            yield from self.add_block(as_dict(document.get("content_block")))
        elif kind == "content_block_delta":
            yield from self.add_piece(document.get("index"), as_dict(document.get("delta")))
        elif kind == "message_delta":
            self.end(as_dict(document.get("delta")), as_dict(document.get("usage")))
        elif kind == "message":  # from a server that ignores `stream`
            self.used.append({})
            for block in as_dicts(document.get("content")):
                yield from self.add_block(block)
            self.end(document, as_dict(document.get("usage")))

    def add_block(self, block: Json) -> Iterator[TextPart | ReasoningPart]:
        block = as_dict(sanitize(block))
        self.blocks.append(block)
        self.length += len(json.dumps(block, default=str))
        if block.get("type") == "tool_use":
            whole = block.get("input")
            self.inputs[len(self.blocks) - 1] = json.dumps(whole) if whole else ""
        elif text := as_text(block.get("text")):
            yield TextPart(text)
        elif text := as_text(block.get("thinking")):
            yield ReasoningPart(text)

    def add_piece(self, index: object, delta: Json) -> Iterator[TextPart | ReasoningPart]:
        place = self.before + index if isinstance(index, int) and index >= 0 else -1
        if not 0 <= place < len(self.blocks):
            return
        block = self.blocks[place]
        for name in ("text", "thinking", "signature"):
            if piece := as_text(delta.get(name)):
                block[name] = as_text(block.get(name)) + piece
                self.length += len(piece)
                if name != "signature":
                    yield TextPart(piece) if name == "text" else ReasoningPart(piece)
        if piece := as_text(delta.get("partial_json")):
            self.inputs[place] = self.inputs.get(place, "") + piece
            self.length += len(piece)
        if citation := delta.get("citation"):
            known = block.get("citations")
            block["citations"] = [*(known if isinstance(known, list) else []), citation]

    def end(self, delta: Json, usage: Json) -> None:
        """Counts are of the whole reply each time; those that are not given stay."""
        if self.used:
            self.used[-1] = self.used[-1] | {k: v for k, v in usage.items() if v is not None}
        self.refusal = as_text(as_dict(delta.get("stop_details")).get("explanation"))
        self.stop_reason = as_text(delta.get("stop_reason"))
        self.finish_reason = STOP_REASONS.get(self.stop_reason, self.stop_reason)

    def go_on(self, request: ModelRequest) -> ModelRequest | None:
        """After `pause_turn` what came so far is sent back, and the reply goes on behind it."""
        if self.stop_reason != PAUSED:
            return None
        self.stop_reason = self.finish_reason = ""
        self.before = len(self.blocks)
        back = {
            "provider": request.endpoint.provider,
            "model": request.model,
            "message": {"content": self.content()},
        }
        asked = request.messages
        if asked and asked[-1].get("paused"):
            asked = asked[:-1]
        paused: ChatMessage = {"role": "assistant", "paused": True, "wanted_back": back}
        return replace(request, messages=[*asked, paused])

    def content(self) -> list[Json]:
        """The blocks as they are to be given back; texts without anything in them are refused."""
        whole: list[Json] = []
        for place, block in enumerate(self.blocks):
            if place in self.inputs:
                block = {**block, "input": as_dict(parsed(self.inputs[place] or "{}"))}
            if block.get("type") != "text" or as_text(block.get("text")).strip():
                whole.append(block)
        return whole

    def finished(self, asked_tokens: Callable[[], int]) -> Reply:
        def sum_of(name: str) -> int:
            return sum(token_count(used.get(name)) for used in self.used)

        text = "".join(as_texts(self.blocks, "text"))
        reasoning = "".join(as_texts(self.blocks, "thinking"))
        cached, stored = sum_of("cache_read_input_tokens"), sum_of("cache_creation_input_tokens")
        tokens_in = sum_of("input_tokens") + cached + stored
        tokens_out = sum_of("output_tokens")
        # The input is counted at the beginning of a reply, the output at its end.
        if estimated := not (self.finish_reason and (tokens_in or tokens_out)):
            tokens_in = tokens_in or asked_tokens()
            tokens_out = max(tokens_out, estimate_tokens("x" * self.length))
        calls = [
            self.call_at(place, block)
            for place, block in enumerate(self.blocks)
            if block.get("type") == "tool_use" and block.get("name")
        ]
        # Text and calls are written anew from their rows; what else there is goes back as it came.
        keeps = any(has_more(block) for block in self.blocks)
        return Reply(
            text,
            reasoning,
            distinct(calls),
            tokens_in,
            tokens_out,
            estimated,
            self.finish_reason,
            cached_tokens=cached,
            stored_tokens=stored,
            refusal=self.refusal,
            wanted_back={"message": {"content": self.content()}} if keeps else {},
        )

    def call_at(self, place: int, block: Json) -> RequestedCall:
        return call_of(
            as_text(block.get("id")),
            as_text(block.get("name")),
            self.inputs.get(place, ""),
            self.finish_reason == "length",
        )


def has_more(block: Json) -> bool:
    """Is there anything in it besides a text or a call?

    LiteLLM puts Gemini's signatures beside the calls (`provider_specific_fields`).
    """
    known = ROW_KEYS.get(as_text(block.get("type")))
    return known is None or any(value and name not in known for name, value in block.items())
