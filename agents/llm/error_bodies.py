"""What servers write into the bodies of their errors: why, and how long to wait.

The shapes, each from the server's documentation or from answers it has given:

- `{"error": {"message", "type", "code", "param"}}`: OpenAI, Azure, Groq, DeepSeek, vLLM, LiteLLM
- `{"type": "error", "error": {"type", "message"}}`: Anthropic
- `{"error": "…"}`: Ollama; with a `code` that is a sentence: xAI
- `[{"error": {"code", "message", "status", "details": […RetryInfo…]}}]`: Gemini
- `{"object": "error", "message": {"detail": [{"loc", "msg"}]}}`, also as a list or text: Mistral
- `{"detail": [{"loc", "msg"}]}`: FastAPI, older vLLM
- `{"error": {"message": "Provider returned error", "metadata": {"raw", "reasons"}}}`: OpenRouter
- any of these once more as a text, where one server passes on what another has said, or as the one
  event of a stream, where it had begun to answer: LiteLLM
"""

from __future__ import annotations

import json
import re
from email.utils import parsedate_to_datetime
from time import time

import httpx

from agents.llm.reply import Json, as_dict, as_text

DEEPEST = 6
MOST_FAULTS = 3  # of a request that are told
EVENT = re.compile(r"^data: ?(\{.*)", re.MULTILINE)


def message_in(body: str) -> str:
    """The server's own words out of the shapes that servers wrap them in."""
    document = parsed(event[1] if (event := EVENT.search(body)) else body)
    if document is None:
        return "" if body.lstrip()[:1] == "<" else body.strip()
    return words_in(document)


def words_in(document: object, depth: int = 0) -> str:
    """The innermost words; nothing where there are none."""
    if depth > DEEPEST:
        return ""
    if isinstance(document, str):
        return words_in(passed_on(document), depth + 1) or as_text(document).strip()
    if isinstance(document, list):
        faults = filter(None, (words_in(each, depth + 1) for each in document[:MOST_FAULTS]))
        return "; ".join(dict.fromkeys(faults))
    found = as_dict(document)
    if "msg" in found:
        return fault(found)
    metadata = as_dict(found.get("metadata"))
    reasons = metadata.get("reasons")
    if raw := words_in(metadata.get("raw"), depth + 1):
        return raw
    if isinstance(reasons, list) and reasons:
        said = as_text(found.get("message")).rstrip(".")
        return f"{said} ({', '.join(map(str, reasons[:MOST_FAULTS]))})"
    for key in ("error", "detail", "message"):
        if words := words_in(found.get(key), depth + 1):
            return words
    return ""


def passed_on(text: str) -> object:
    """The answer of another server that is all of a text, or stands somewhere in it.

    LiteLLM: `litellm.BadRequestError: AnthropicException - b'{"error": …}'. Received …`
    """
    text = text.strip()
    begin = 0 if text[:1] == "[" else text.find("{")
    if begin < 0:
        return None
    try:
        document, _ = json.JSONDecoder().raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None
    return document


def fault(found: Json) -> str:
    """One of pydantic's: where, and what."""
    place = found.get("loc")
    steps = [str(step) for step in (place if isinstance(place, list) else []) if step != "body"]
    return ": ".join(filter(None, (".".join(steps), as_text(found.get("msg")))))


def parsed(text: str) -> object:
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document


# How long to wait

WORDS = re.compile(
    r"(?:(?:try|retry) (?:again )?(?:in|after)|retry after|wait)\s+(?:about )?"
    r"(?P<time>(?:\d+(?:\.\d+)?\s*(?:ms|h|m|s|hours?|minutes?|seconds?|milliseconds?)?\s*)+)",
    re.IGNORECASE,
)
RETRY_INFO = re.compile(r'"retryDelay"\s*:\s*"(?P<time>\d+(?:\.\d+)?s)"')
# OpenRouter's, of free models that may be asked so often a day: when the count begins anew, in ms.
RESET = re.compile(r'"X-RateLimit-Reset"\s*:\s*"?(?P<at>\d{13})\b', re.IGNORECASE)
PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "": 1.0}
UNITS = {"hour": "h", "minute": "m", "second": "s", "millisecond": "ms"}


def wait_in(headers: httpx.Headers, body: str) -> float | None:
    """Seconds that the server asks for: in its head, in Google's RetryInfo or OpenRouter's time of
    reset, or in words."""
    header = seconds_in(headers)
    if header is not None:
        return header
    document = parsed(body)
    unpacked = body if document is None else json.dumps(document, ensure_ascii=False)
    if reset := RESET.search(unpacked):
        return max(0.0, int(reset["at"]) / 1000 - time())
    match = RETRY_INFO.search(unpacked.replace('\\"', '"')) or WORDS.search(message_in(body))
    return seconds_of(match["time"]) if match else None


def seconds_in(headers: httpx.Headers) -> float | None:
    """From a number, a date, or OpenAI's and Azure's milliseconds."""
    milliseconds = headers.get("retry-after-ms", "").strip()
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(milliseconds) / 1000 if milliseconds else float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (TypeError, ValueError):
        return None


def seconds_of(written: str) -> float:
    """7.66s, 1m30.5s, 520ms, 26 seconds."""
    total = 0.0
    for number, unit in PART.findall(written):
        name = UNITS.get(unit.lower().removesuffix("s"), unit.lower())
        total += float(number) * SECONDS.get(name, 1.0)
    return total
