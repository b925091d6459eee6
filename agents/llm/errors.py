"""Why a model did not answer, in plain words and with what to do about it.

ModelError.kind    transient  when
├── key            no         401, 403, 402, a key that is said to be wrong, or no credit left
├── missing        no         404, a redirect, a web page: the address or the model is wrong
├── too_long       no         the conversation does not fit the model, or the account
├── endless        no         the reply went on and on, asked for too many calls, is too large
├── bad_request    no         any other 4xx, an illegal address or header, a server that lacks
│                             memory or an option for it
├── busy           yes        429, 503, 529
├── bad_call       once       the model wrote a call that the server could not read
├── server         yes        any other 5xx, an error inside the stream, an unreadable answer
├── silent         yes        nothing came for longer than the idle time, 408
├── unreachable    yes        no connection
├── cut            yes        the stream ended before the reply did
└── nothing        yes        an answer without anything in it
"""

from __future__ import annotations

import json
import re

import httpx
from django.conf import settings

from agents.llm.error_bodies import message_in, wait_in
from agents.llm.error_kinds import (
    A_MINUTE,
    BAD_KEY,
    BUSY,
    EXTRA_USAGE,
    FLAGGED,
    MANY_TOOLS,
    NO_CREDIT,
    NO_MEMORY,
    NO_OPTION,
    kind_of,
)
from agents.llm.known_providers import known_provider
from agents.llm.reply import as_dict
from agents.llm.request import ModelRequest

# Bytes and JSON values of one document of an answer: parsing it holds up everybody else.
LONGEST_DOCUMENT = 4 * 1024 * 1024
MOST_VALUES = 100_000

UNANSWERED = "The model did not answer"
FAILED = "The model’s server had an error"
WITHHELD = "The reply was withheld"
LONG_WAIT = 60.0  # seconds; longer than that, and it is said what for
TRANSIENT = {"busy", "bad_call", "server", "silent", "unreachable", "cut", "nothing"}
ADVICE = {
    "busy": "Wait a little and retry, or choose another model.",
    "server": "Retry. If it goes on, choose another model.",
    "silent": "Retry, or choose a faster model.",
    "cut": "Retry.",
    "bad_call": "Retry, or choose a model that calls tools better.",
    "nothing": "Retry, or choose another model.",
    "endless": "Retry, or choose another model.",
    "too_long": "Start a new chat, or use a larger model.",
    "bad_request": "Check the model's settings, or choose another model.",
    "withheld": "Say it another way, or choose another model.",
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

    @property
    def remedy(self) -> str:
        """Where it can be mended: with the providers, or by another model here."""
        return "models" if "Settings > Models" in self.advice else "model"


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


def unread_call(request: ModelRequest, reason: str) -> ModelError:
    """The server could not read the call with which the reply was to end, and left it out."""
    sentence, advice = heading(request, "bad_call", "", "")
    detail = f"{request.model} stopped: {ended(without_secrets(request, reason))}"
    return ModelError("bad_call", sentence, detail, advice, began=True)


def no_room(request: ModelRequest) -> ModelError:
    """It stopped at a limit before its first word, and would at each further try."""
    detail = f"{request.model} had no room left for a reply: its context window, or max_tokens, is"
    advice = ADVICE["too_long"]
    if request.endpoint.provider == "ollama":
        advice = "Give it a larger window (OLLAMA_CONTEXT_LENGTH=32768 ollama serve)."
    return ModelError("too_long", UNANSWERED, f"{detail} used up.", advice)


def withheld(request: ModelRequest, reason: str = "", began: bool = False) -> ModelError:
    label = request.endpoint.label or request.endpoint.provider
    detail = f"{label}'s content filter stopped the reply of {request.model}."
    if reason:
        detail = f"{request.model} refused: {ended(without_secrets(request, reason))}"
    return ModelError("bad_request", WITHHELD, detail, ADVICE["withheld"], began=began)


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

PHRASES = {
    408: "it took too long",
    429: "too many requests",
    500: "an error of its own",
    502: "the server behind it is down",
    503: "it is overloaded or starting",
    504: "the server behind it took too long",
    529: "it is overloaded",
}
STATUS = re.compile(r"[45]\d\d")  # LiteLLM writes it as a text
# The types of Anthropic's errors, and of OpenAI's inside a stream, as the status they stand for.
TYPES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
KEY_LIKE = re.compile(r"\b(sk|pk|gsk|xai|Bearer)[-_ ][\w*.-]{6,}")


def from_status(
    request: ModelRequest, status: int, body: str, headers: httpx.Headers
) -> ModelError:
    """The server answered with an error status."""
    wait = wait_in(headers, body)
    model, kind = request.model, kind_of(status, body, wait)
    words = without_secrets(request, message_in(body))
    if kind == "key":
        sentence, detail, advice = key_words(request, status, body, words)
    elif kind == "missing":
        sentence, detail, advice = missing_words(request, status, body, words)
    else:
        sentence, advice = heading(request, kind, body, words)
        phrase = f", {PHRASES[status]}" if status in PHRASES else ""
        # Of being busy every server has words of its own; elsewhere, and where the wait is long,
        # they name the cause.
        is_told = words and (kind != "busy" or (wait or 0) > LONG_WAIT)
        reason = f": {ended(words)}" if is_told else f"{phrase}."
        detail = f"{model} returned {status}{reason}"
    wait = wait if kind in TRANSIENT else None
    return ModelError(kind, sentence, detail, advice, status=status, retry_after=wait, words=words)


def from_stream(request: ModelRequest, document: dict[str, object], began: bool) -> ModelError:
    """The server had begun with 200 and then sent an error instead of more of the reply."""
    error, body = as_dict(document.get("error")), json.dumps(document)
    codes = (error.get("code"), error.get("status_code"), document.get("code"))
    known = (int(str(code)) for code in codes if STATUS.fullmatch(str(code)))
    status = next(known, TYPES.get(str(error.get("type"))))
    wait = wait_in(httpx.Headers(), body)
    kind = kind_of(status or (429 if BUSY.search(body) else 500), body, wait)
    words = without_secrets(request, message_in(body)) or "no reason was given"
    detail = f"{request.model} stopped with an error: {ended(words)}"
    sentence, advice = heading(request, kind, body, words)
    if sentence in (UNANSWERED, FAILED) and began:
        sentence = "The reply broke off"
    return ModelError(kind, sentence, detail, advice, status=status, retry_after=wait, began=began)


def heading(request: ModelRequest, kind: str, body: str, words: str) -> tuple[str, str]:
    """Sentence and advice."""
    sentence, advice = UNANSWERED, ADVICE.get(kind, "")
    if kind == "too_long" and A_MINUTE.search(words):
        sentence = "This conversation is longer than the account allows a minute"
        where = request.endpoint.label or request.endpoint.provider
        advice = f"Start a new chat, choose another model, or raise the limit at {where}."
    elif kind == "too_long" and EXTRA_USAGE.search(words):
        sentence = "This conversation is longer than the account allows"
        where = request.endpoint.label or request.endpoint.provider
        advice = f"Start a new chat, choose another model, or turn on extra usage at {where}."
    elif kind == "too_long":
        sentence = f"This conversation is too long for {request.model}"
    elif kind == "server":
        sentence = FAILED
    elif kind == "bad_call":
        sentence = "The model wrote a call that cannot be read"
    elif kind == "bad_request":
        sentence, advice = refused(body, words)
    return sentence, advice


def refused(body: str, words: str) -> tuple[str, str]:
    """Sentence and advice; what the server says decides which."""
    sentence, advice = "The model refused the request", ADVICE["bad_request"]
    if FLAGGED.search(body):
        sentence, advice = WITHHELD, ADVICE["withheld"]
    elif NO_MEMORY.search(words):
        sentence = "The model does not fit into the server's memory"
        advice = "Choose a smaller model, or free memory there."
    elif option := NO_OPTION.search(words):
        advice = f"Start the server with {option['option']}, or choose another model."
    elif MANY_TOOLS.search(words):
        sentence = "The model was offered too many tools"
        advice = "Turn some off for this agent in Settings > Agents, or choose another model."
    elif "tool" in words.lower():
        advice = "Choose a model that can call tools."
    return sentence, advice


def key_words(request: ModelRequest, status: int, body: str, words: str) -> tuple[str, str, str]:
    """Sentence, detail and advice; `words` are the server's own."""
    model, provider = request.model, request.endpoint.provider
    if status == 402 or NO_CREDIT.search(body):
        detail = f"{model} returned {status}: the account has no credit left."
        return UNANSWERED, detail, f"Add credit at {provider}, or choose another model."
    if not request.endpoint.key:
        known = known_provider(provider, request.endpoint.base_url)
        how = f"set {known.keys[-1]} or enter it" if known and known.keys else "enter one"
        advice = f"No key for {request.endpoint.label or provider}: {how} in Settings > Models."
        return "The model wants a key", f"{model} returned {status}, and no key is set.", advice
    if status == 403 and words and not BAD_KEY.search(body):
        detail = f"{model} returned {status}: {ended(words)}"
        advice = "Check what the key may be used for, or choose another model."
        return "The model refused access", detail, advice
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


def without_secrets(request: ModelRequest, text: str) -> str:
    """One line of at most 300 characters in which no key can be read."""
    for secret in request.endpoint.secrets:
        text = text.replace(secret, "…")
    text = " ".join(KEY_LIKE.sub("…", text).split())
    return text if len(text) <= 300 else f"{text[:299]}…"


def ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
