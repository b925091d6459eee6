"""What a server says of a model it has: its window, whether it sees images, what it costs.

Servers that list their models as chat completions do (`{"data": [{"id": …}]}`) add fields of their
own, each under another name; the sources stand beside the providers (known_providers.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

Json = dict[str, object]

MILLION = 1_000_000
LONGEST_NAME = 200
# Tokens a model can hold, and those it was loaded with; the first that is there counts.
WINDOWS = (
    "context_length",  # OpenRouter, xAI
    "context_window",  # Groq
    "max_context_length",  # Mistral, LM Studio
    "max_model_len",  # vLLM
    "max_input_tokens",  # Anthropic
    "inputTokenLimit",  # Gemini
)
# A name by itself that says it is no model to talk with; used where the server says nothing.
NOT_FOR_CHAT = (
    *("embed", "whisper", "tts", "dall-e", "moderation", "rerank", "image", "audio", "sora"),
    *("transcribe", "realtime", "davinci", "babbage", "aqa", "imagen", "veo-"),
)
PRICES = ("price_in", "price_out", "price_cached", "price_stored")


@dataclass(frozen=True)
class ModelInfo:
    """None where the server does not say. `size` in bytes, prices in US dollars per million tokens.

    `loaded_window` is what the model was loaded with, where that may be less than it could hold.
    `price_cached` is for input that is read from the server's cache, `price_stored` for input that
    is written to it.
    """

    id: str
    context_window: int | None = None
    loaded_window: int | None = None
    sees_images: bool | None = None
    calls_tools: bool | None = None
    is_chat: bool = True
    size: int | None = None
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    price_stored: float | None = None

    @property
    def prices(self) -> dict[str, float]:
        """As an admin's own are written; nothing while those of input and output are not known."""
        if self.price_in is None or self.price_out is None:
            return {}
        cache = {"cached_input": self.price_cached, "stored_input": self.price_stored}
        known = {name: price for name, price in cache.items() if price is not None}
        return {"input": self.price_in, "output": self.price_out, **known}

    @property
    def window(self) -> int | None:
        """The tokens that a request may have now."""
        return self.loaded_window or self.context_window


def read_models(entries: Iterable[object]) -> list[ModelInfo]:
    """The models of a list, each also under its other names."""
    found: dict[str, ModelInfo] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        if (model := read_model(entry)) is None:
            continue
        found[model.id] = model
        for alias in texts(entry.get("aliases")):
            found.setdefault(alias, replace(model, id=alias))
    return list(found.values())


def read_model(entry: Json) -> ModelInfo | None:
    """One entry of a list; None where it has no name."""
    name = entry.get("id")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        return None
    meta, can = mapping(entry.get("meta")), set(abilities(entry))
    return ModelInfo(
        id=name,
        context_window=first_count(entry, WINDOWS) or count(meta.get("n_ctx_train")),
        loaded_window=count(entry.get("loaded_context_length")) or count(meta.get("n_ctx")),
        sees_images=sees_images(entry, can),
        calls_tools=calls_tools(entry, can),
        is_chat=is_chat(entry, can),
        size=count(meta.get("size")),
        **prices(entry),
    )


def abilities(entry: Json) -> Iterator[str]:
    """A list of words, or words that are each true or {"supported": true}."""
    said = entry.get("capabilities")
    yield from texts(said)
    for name, value in mapping(said).items():
        if value is True or mapping(value).get("supported") is True:
            yield name
    yield from texts(entry.get("supported_parameters"))


def sees_images(entry: Json, can: set[str]) -> bool | None:
    """False only where the server lists what the model takes, and images are not among it."""
    taken = entry.get("input_modalities") or mapping(entry.get("architecture")).get(
        "input_modalities"
    )
    if isinstance(taken, list):
        return "image" in taken
    if entry.get("type") == "vlm" or can & {"vision", "image_input", "multimodal"}:
        return True
    if "prompt_image_token_price" in entry:
        return bool(entry["prompt_image_token_price"])
    said = mapping(entry.get("capabilities"))
    return False if {"vision", "image_input"} & said.keys() or entry.get("type") == "llm" else None


def calls_tools(entry: Json, can: set[str]) -> bool | None:
    lists = (entry.get("capabilities"), entry.get("supported_parameters"))
    says = "function_calling" in mapping(lists[0]) or any(isinstance(each, list) for each in lists)
    return bool(can & {"tools", "tool_use", "function_calling"}) if says else None


def is_chat(entry: Json, can: set[str]) -> bool:
    """By the server's word, else by the name."""
    said = mapping(entry.get("capabilities"))
    if "completion_chat" in said:
        return "completion_chat" in can
    given = mapping(entry.get("architecture")).get("output_modalities")
    if isinstance(given, list) and "text" not in given:
        return False
    if entry.get("type") in ("embedding", "embeddings"):
        return False
    return not any(word in str(entry["id"]).lower() for word in NOT_FOR_CHAT)


def prices(entry: Json) -> dict[str, float | None]:
    """OpenRouter has dollars per token, xAI cents per hundred million tokens."""
    if pricing := mapping(entry.get("pricing")):
        names = ["prompt", "completion", "input_cache_read", "input_cache_write"]
        listed, times = [pricing.get(name) for name in names], float(MILLION)
    else:
        names = ["prompt", "completion", "cached_prompt", "stored_prompt"]
        listed = [entry.get(f"{name}_text_token_price") for name in names]
        times = 1 / 10_000
    return dict(zip(PRICES, (dollars(price, times) for price in listed), strict=True))


def dollars(value: object, times: float) -> float | None:
    """A negative price means that it differs from request to request."""
    try:
        price = float(value) * times if isinstance(value, str | int | float) else -1.0
    except (ValueError, OverflowError):
        return None
    return round(price, 6) if 0 <= price < MILLION else None


def first_count(entry: Json, names: Iterable[str]) -> int | None:
    return next((number for name in names if (number := count(entry.get(name)))), None)


def count(value: object) -> int | None:
    """A number of tokens or bytes; anything else, or none at all, is None."""
    is_one = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**62
    return value if is_one and isinstance(value, int) else None


def mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
