"""What chat-completions servers send along with a reply and want back with the next request.

- `reasoning_content`: DeepSeek refuses calls without it, and while tools are offered any reply
  (api-docs.deepseek.com/guides/thinking_mode). vLLM and others take it, or `reasoning`, from
  models that think between calls.
- `reasoning_details`: OpenRouter's, with the signatures of whoever is behind it
  (openrouter.ai/docs/guides/best-practices/reasoning-tokens).
- `thinking_blocks`: LiteLLM's, for Anthropic (docs.litellm.ai/docs/reasoning_content).
- `extra_content`: Gemini's thought signatures, at calls and at messages
  (ai.google.dev/gemini-api/docs/thought-signatures).
"""

from __future__ import annotations

import json

from agents.llm.reply import Json, as_dict, as_dicts, as_text, as_texts
from agents.sanitize import sanitize

REASONING = ("reasoning_content", "reasoning")
LISTS = ("reasoning_details", "thinking_blocks")
OBJECTS = ("extra_content",)
GROWING = ("text", "summary", "thinking")  # keys of a detail whose pieces are joined


def reasoning_in(delta: Json) -> tuple[str, str]:
    """The newest piece of reasoning, and the key it came under."""
    for name in REASONING:
        if text := as_text(delta.get(name)):
            return name, text
    # Mistral's are parts of the content (docs.mistral.ai/capabilities/reasoning).
    content = delta.get("content")
    return "content", "".join(as_texts(content, "thinking"))


def merge_details(kept: Json, delta: Json) -> int:
    """Join what came before with what came now; gives the characters that were added."""
    size = 0
    for name in OBJECTS:
        if found := as_dict(delta.get(name)):
            kept[name] = as_dict(kept.get(name)) | as_dict(sanitize(found))
            size += len(json.dumps(found, default=str))
    for name in LISTS:
        for piece in as_dicts(delta.get(name)):
            details = kept.setdefault(name, [])
            assert isinstance(details, list)
            add_detail(details, as_dict(sanitize(piece)))
            size += len(json.dumps(piece, default=str))
    return size


def add_detail(details: list[Json], piece: Json) -> None:
    """Join the piece to the last one if it goes on with it, as OpenRouter's own clients do."""
    last = details[-1] if details else {}
    same = all(last.get(key) == piece.get(key) for key in ("type", "index"))
    grows = any(piece.get(key) for key in GROWING)
    whole = "data" in piece or (grows and bool(last.get("signature")))
    if not last or not same or whole:
        details.append(dict(piece))
        return
    for key, value in piece.items():
        if key in GROWING:
            last[key] = as_text(last.get(key)) + as_text(value)
        elif value:
            last[key] = value


def without_duplicates(kept: Json, has_calls: bool) -> Json:
    """Plain reasoning is not kept beside the same in detail; `reasoning` is for calls only."""
    dropped = {name for name in REASONING if any(each in kept for each in LISTS)}
    if not has_calls:
        dropped.add("reasoning")
    return {name: value for name, value in kept.items() if name not in dropped}


def given_back(kept: Json, has_calls: bool, offers_tools: bool) -> Json:
    """What of it goes back with this request.

    DeepSeek wants the reasoning of every reply while tools are offered. Without them it ignores
    that of a reply without calls, and its first reasoner refused it.
    """
    plain = has_calls or offers_tools
    return {name: value for name, value in kept.items() if plain or name not in REASONING}
