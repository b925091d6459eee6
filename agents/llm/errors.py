"""Why a model did not answer, in plain words and with what to do about it.

ModelError.kind    transient  when
├── key            no         401, 403, 402, or no credit left
├── missing        no         404, a redirect, a web page: the address or the model is wrong
├── too_long       no         the conversation does not fit the model
├── endless        no         the reply went on and on, asked for too many calls, is too large
├── bad_request    no         any other 4xx, an illegal address or header
├── busy           yes        429, 503, 529
├── server         yes        any other 5xx, an error inside the stream, an unreadable answer
├── silent         yes        nothing came for longer than the idle time, 408
├── unreachable    yes        no connection
├── cut            yes        the stream ended before the reply did
└── nothing        yes        an answer without anything in it
"""

from __future__ import annotations

import json
import re
from email.utils import parsedate_to_datetime
from time import time

import httpx
from django.conf import settings

from agents.llm.known_providers import known_provider
from agents.llm.reply import as_dict, as_text
from agents.llm.request import ModelRequest

# Bytes and JSON values of one document of an answer: parsing it holds up everybody else.
LONGEST_DOCUMENT = 4 * 1024 * 1024
MOST_VALUES = 100_000

UNANSWERED = "The model did not answer"
TRANSIENT = {"busy", "server", "silent", "unreachable", "cut", "nothing"}
ADVICE = {
    "busy": "Wait a little and retry, or choose another model.",
    "server": "Retry. If it goes on, choose another model.",
    "silent": "Retry, or choose a faster model.",
    "cut": "Retry.",
    "nothing": "Retry, or choose another model.",
    "endless": "Retry, or choose another model.",
    "too_long": "Start a new chat, or use a larger model.",
    "bad_request": "Check the model's settings, or choose another model.",
}


class ModelError(Exception):
    """One failed attempt. `began`: a part of the reply had come already; `words`: the server's own,
    without secrets."""

    def __init__(
        self,
        kind: str,
        sentence: str,
        detail: str,
        advice: str = "",
        *,
        retry_after: float | None = None,
        status: int | None = None,
        began: bool = False,
        words: str = "",
    ) -> None:
        super().__init__(f"{sentence}. {detail} {advice}".strip())
        self.kind, self.sentence, self.detail, self.advice = kind, sentence, detail, advice
        self.transient = kind in TRANSIENT
        self.retry_after, self.status, self.began = retry_after, status, began
        self.words = words


def broke(request: ModelRequest, error: Exception, began: bool) -> ModelError:
    """The connection failed before, or while, the reply came."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return unreachable(request)
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        detail = f"{request.model} sent nothing for {settings.MODEL_IDLE_TIMEOUT:g} s."
        sentence = "The model went silent" if began else UNANSWERED
        return ModelError("silent", sentence, detail, ADVICE["silent"], began=began)
    if isinstance(error, UnicodeError | httpx.LocalProtocolError):
        detail = f"The key or a header of {request.endpoint.provider} has an illegal character."
        advice = "Enter it again in Settings > Models, without spaces and line ends."
        return ModelError("key", "The request could not be sent", detail, advice)
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        detail = f"{request.endpoint.address or 'An empty address'} is not a web address."
        advice = "Set it in Settings > Models, for example http://127.0.0.1:11434/v1."
        return ModelError("bad_request", "The request could not be sent", detail, advice)
    if isinstance(error, httpx.DecodingError):
        return unreadable(request, "", began)
    return cut(request, began) if began else unreachable(request, "broke the connection off")


def unreachable(request: ModelRequest, happened: str = "does not answer") -> ModelError:
    start = {
        "ollama": "Start Ollama (ollama serve)",
        "lmstudio": "Start LM Studio's server (Developer > Start server)",
    }.get(request.endpoint.provider, "Check that the server runs and the network is up")
    return ModelError(
        "unreachable",
        "The model could not be reached",
        f"{request.endpoint.address} {happened}.",
        f"{start}, or check the address in Settings > Models.",
    )


def cut(request: ModelRequest, began: bool) -> ModelError:
    detail = f"{request.model} ended the stream before the reply was finished."
    sentence = "The reply broke off" if began else UNANSWERED
    return ModelError("cut", sentence, detail, ADVICE["cut"], began=began)


def endless(request: ModelRequest, longest: int) -> ModelError:
    detail = f"{request.model} went on for {longest:,} characters and was cut off."
    return ModelError("endless", "The reply had no end", detail, ADVICE["endless"], began=True)


def too_many_calls(request: ModelRequest, most: int) -> ModelError:
    detail = f"{request.model} asked for more than {most} tool calls at once. None was made."
    return ModelError("endless", "Too many calls", detail, ADVICE["endless"], began=True)


def too_large(request: ModelRequest, began: bool) -> ModelError:
    most = f"{LONGEST_DOCUMENT // 1024**2} MB and {MOST_VALUES:,} JSON values are the most"
    detail = f"{request.model} returned an answer that is too large: {most}."
    return ModelError("endless", UNANSWERED, detail, ADVICE["endless"], began=began)


def nothing(request: ModelRequest) -> ModelError:
    detail = f"{request.model} returned an empty answer."
    return ModelError("nothing", UNANSWERED, detail, ADVICE["nothing"])


def withheld(request: ModelRequest, reason: str = "", began: bool = False) -> ModelError:
    label = request.endpoint.label or request.endpoint.provider
    detail = f"{label}'s content filter stopped the reply of {request.model}."
    if reason:
        detail = f"{request.model} refused: {ended(without_secrets(request, reason))}"
    advice = "Say it another way, or choose another model."
    return ModelError("bad_request", "The reply was withheld", detail, advice, began=began)


def unreadable(request: ModelRequest, body: str, began: bool) -> ModelError:
    """A 200 whose body is not an answer: a web page means the address is not an API's."""
    if is_page(body):
        return not_an_api(request, "returned a web page instead of an answer")
    detail = f"{request.model} returned an answer that cannot be read as JSON."
    return ModelError("server", UNANSWERED, detail, ADVICE["server"], began=began)


def not_an_api(request: ModelRequest, happened: str, status: int | None = None) -> ModelError:
    return ModelError(
        "missing",
        UNANSWERED,
        f"{request.endpoint.address} {happened}.",
        "Check the address in Settings > Models; it usually ends in /v1.",
        status=status,
    )


def is_page(body: str) -> bool:
    return body.lstrip()[:1] == "<"


# An error status, or an error inside the stream, read and put into plain words.

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
IMAGES = re.compile(r"image|vision|multi-?modal|mmproj", re.IGNORECASE)
KEY_LIKE = re.compile(r"\b(sk|pk|gsk|xai|Bearer)[-_ ][\w*.-]{6,}")


def from_status(
    request: ModelRequest, status: int, body: str, headers: httpx.Headers
) -> ModelError:
    """The server answered with an error status."""
    model, kind = request.model, kind_of(status, body)
    said = without_secrets(request, message_in(body))
    words = "" if kind == "key" else said
    if kind == "key":
        sentence, detail, advice = key_words(request, status, body)
    elif kind == "missing":
        sentence, detail, advice = missing_words(request, status, body, words)
    else:
        sentence, advice = UNANSWERED, ADVICE[kind]
        if kind == "too_long":
            sentence = f"This conversation is too long for {model}"
        elif kind == "bad_request":
            sentence = "The model refused the request"
            if "tool" in words.lower():
                advice = "Choose a model that can call tools."
        phrase = f", {PHRASES[status]}" if status in PHRASES else ""
        # Of being busy every server has words of its own; elsewhere they name the cause.
        reason = f": {ended(words)}" if words and kind != "busy" else f"{phrase}."
        detail = f"{model} returned {status}{reason}"
    wait = retry_after(headers)
    return ModelError(kind, sentence, detail, advice, status=status, retry_after=wait, words=said)


def from_stream(request: ModelRequest, document: dict[str, object], began: bool) -> ModelError:
    """The server had begun with 200 and then sent an error instead of more of the reply."""
    error, body = document.get("error"), json.dumps(document)
    code = as_dict(error).get("code") or document.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    kind = kind_of(status or (429 if BUSY.search(body) else 500), body)
    words = without_secrets(request, message_in(body)) or "no reason was given"
    detail = f"{request.model} stopped with an error: {ended(words)}"
    sentence = "The reply broke off" if began else UNANSWERED
    if kind == "too_long":
        sentence = f"This conversation is too long for {request.model}"
    return ModelError(kind, sentence, detail, ADVICE.get(kind, ""), status=status, began=began)


def key_words(request: ModelRequest, status: int, body: str) -> tuple[str, str, str]:
    """Sentence, detail and advice."""
    model, provider = request.model, request.endpoint.provider
    if status == 402 or NO_CREDIT.search(body):
        detail = f"{model} returned {status}: the account has no credit left."
        return UNANSWERED, detail, f"Add credit at {provider}, or choose another model."
    if not request.endpoint.key:
        known = known_provider(provider, request.endpoint.base_url)
        how = f"set {known.keys[-1]} or enter it" if known and known.keys else "enter one"
        advice = f"No key for {request.endpoint.label or provider}: {how} in Settings > Models."
        return "The model wants a key", f"{model} returned {status}, and no key is set.", advice
    advice = "Check the key in Settings > Models."
    return "The model refused the key", f"{model} returned {status}.", advice


def missing_words(
    request: ModelRequest, status: int, body: str, words: str
) -> tuple[str, str, str]:
    """Sentence, detail and advice; `words` are the server's own."""
    if status < 400 or is_page(body) or not words:
        error = not_an_api(request, f"returned {status}")
        return "The model was not found", error.detail, error.advice
    detail = f"{request.model} returned {status}: {ended(words)}"
    advice = "Choose another model in Settings > Agents."
    if request.endpoint.provider == "ollama":
        advice = f"Run ollama pull {request.model}, or choose another model in Settings > Agents."
    return "The model was not found", detail, advice


def may_mean_images(status: int, body: str) -> bool:
    """May the server have refused a request for its images? Some do without a word about them."""
    if kind_of(status, body) == "too_long":
        return False
    return status in (400, 404, 415, 422) or (status >= 500 and bool(IMAGES.search(body)))


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
    except (ValueError, RecursionError):
        return "" if is_page(body) else body.strip()
    error = as_dict(document).get("error") or as_dict(document).get("detail") or document
    return as_text(error) or as_text(as_dict(error).get("message"))


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
