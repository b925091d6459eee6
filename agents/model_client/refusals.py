"""An error status, or an error inside the stream, read and said in plain words."""

from __future__ import annotations

import json
import re
from email.utils import parsedate_to_datetime
from time import time

import httpx

from agents.model_client.errors import ADVICE, UNANSWERED, ModelError, is_page, not_an_api
from agents.model_client.reply import mapping, said
from agents.model_client.request import ModelRequest

KINDS = {401: "key", 402: "key", 403: "key", 404: "missing", 405: "missing", 408: "silent"}
KINDS |= {409: "busy", 413: "too_long", 425: "busy", 429: "busy", 503: "busy", 529: "busy"}
PHRASES = {
    408: "it took too long",
    429: "too many requests",
    500: "an error of its own",
    502: "the server behind it is down",
    503: "it is overloaded or starting",
    504: "the server behind it took too long",
    529: "it is overloaded",
}
TOO_LONG = re.compile(
    r"context[ _]?(length|window|size)|maximum (context|number of tokens)|too many tokens"
    r"|(prompt|input|request|conversation) (is|was)? ?too (long|large)"
    r"|exceeds? the (available|model)",
    re.IGNORECASE,
)
NO_CREDIT = re.compile(r"insufficient_quota|billing|insufficient (credit|balance|fund)", re.I)
BUSY = re.compile(r"rate.?limit|overload|too many requests|capacity", re.IGNORECASE)
UNKNOWN = re.compile(
    r"^bad request\W*$|unknown|unrecogni[sz]ed|unexpected|not permitted"
    r"|(un|not )supported|extra|additional",
    re.IGNORECASE,
)
KEY_LIKE = re.compile(r"\b(sk|pk|gsk|xai|Bearer)[-_ ][\w*.-]{6,}")


def from_status(
    request: ModelRequest, status: int, body: str, headers: httpx.Headers
) -> ModelError:
    """The server answered with an error status."""
    kind = kind_of(status, body)
    words = "" if kind == "key" else without_secrets(request, message_in(body))
    sentence, detail, advice = words_for(request, kind, status, body, words)
    wait = retry_after(headers)
    return ModelError(kind, sentence, detail, advice, status=status, retry_after=wait)


def from_stream(request: ModelRequest, document: dict[str, object], began: bool) -> ModelError:
    """The server had begun with 200 and then sent an error instead of more of the reply."""
    error, body = document.get("error"), json.dumps(document)
    code = mapping(error).get("code") or document.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    kind = kind_of(status or (429 if BUSY.search(body) else 500), body)
    words = without_secrets(request, message_in(body)) or "no reason was given"
    detail = f"{request.model} stopped with an error: {ended(words)}"
    sentence = "The reply broke off" if began else UNANSWERED
    if kind == "too_long":
        sentence = f"This conversation is too long for {request.model}"
    return ModelError(kind, sentence, detail, ADVICE.get(kind, ""), status=status, began=began)


def words_for(
    request: ModelRequest, kind: str, status: int, body: str, words: str
) -> tuple[str, str, str]:
    """Sentence, detail and advice for an error status; `words` are the server's own."""
    model = request.model
    if kind == "key":
        return key_words(request, status, body)
    if kind == "missing":
        return missing_words(request, status, body, words)
    phrase = f", {PHRASES[status]}" if status in PHRASES else ""
    # Of being busy every server has words of its own; elsewhere they name the cause.
    reason = f": {ended(words)}" if words and kind != "busy" else f"{phrase}."
    detail = f"{model} returned {status}{reason}"
    titles = {
        "too_long": f"This conversation is too long for {model}",
        "bad_request": "The model refused the request",
    }
    advice = ADVICE[kind]
    if kind == "bad_request" and "tool" in words.lower():
        advice = "Choose a model that can call tools."
    return titles.get(kind, UNANSWERED), detail, advice


def key_words(request: ModelRequest, status: int, body: str) -> tuple[str, str, str]:
    model, provider = request.model, request.endpoint.provider
    if status == 402 or NO_CREDIT.search(body):
        detail = f"{model} returned {status}: the account has no credit left."
        return UNANSWERED, detail, f"Add credit at {provider}, or choose another model."
    if not request.endpoint.key:
        advice = f"Add a key for {provider} in Settings > Models"
        advice += ", or set OPENAI_API_KEY." if provider == "openai" else "."
        return "The model wants a key", f"{model} returned {status}, and no key is set.", advice
    advice = "Check the key in Settings > Models."
    return "The model refused the key", f"{model} returned {status}.", advice


def missing_words(
    request: ModelRequest, status: int, body: str, words: str
) -> tuple[str, str, str]:
    if status < 400 or is_page(body) or not words:
        error = not_an_api(request, f"returned {status}")
        return "The model was not found", error.detail, error.advice
    detail = f"{request.model} returned {status}: {ended(words)}"
    advice = "Choose another model in Settings > Agents."
    if request.endpoint.provider == "ollama":
        advice = f"Run ollama pull {request.model}, or choose another model in Settings > Agents."
    return "The model was not found", detail, advice


def may_mean_stream_options(body: str) -> bool:
    """Does a 400 name the option, or complain of something unknown without naming anything?"""
    words = message_in(body)
    named = re.search(r"stream_options|include_usage", body)
    return bool(named or not words or UNKNOWN.search(words))


def kind_of(status: int, body: str) -> str:
    if status in (400, 413, 422, 500) and TOO_LONG.search(body):
        return "too_long"
    if status == 429 and NO_CREDIT.search(body):
        return "key"
    if status < 400:
        return "missing"
    return KINDS.get(status) or ("server" if status >= 500 else "bad_request")


def message_in(body: str) -> str:
    """The server's own words out of the shapes that servers wrap them in."""
    try:
        document = json.loads(body)
    except ValueError:
        return "" if is_page(body) else body.strip()
    error = mapping(document).get("error") or mapping(document).get("detail") or document
    return said(error) or said(mapping(error).get("message"))


def without_secrets(request: ModelRequest, text: str) -> str:
    """One line of at most 300 characters in which no key can be read."""
    for secret in request.endpoint.secrets:
        text = text.replace(secret, "…")
    text = " ".join(KEY_LIKE.sub("…", text).split())
    return text if len(text) <= 300 else f"{text[:299]}…"


def ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def retry_after(headers: httpx.Headers) -> float | None:
    """Seconds, from a number or a date."""
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (TypeError, ValueError):
        return None
