"""An error status, or an error inside the stream, read and put into plain words."""

from __future__ import annotations

import json
import re

import httpx
from django.utils.functional import Promise

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
from agents.llm.errors import (
    ADVICE,
    BROKE_OFF,
    FAILED,
    LONG_WAIT,
    TRANSIENT,
    UNANSWERED,
    UNREAD_CALL,
    WITHHELD,
    ModelError,
    ended,
    is_page,
    no_key,
    not_an_api,
    without_secrets,
)
from agents.llm.known_providers import known_provider
from agents.llm.reply import as_dict
from agents.llm.request import ModelRequest
from agents.stored_text import gettext, gettext_lazy

UNKNOWN = gettext_lazy("The model was not found")
RETURNED = gettext_lazy("{model} returned {status}: {words}")
STATUSES = {
    408: gettext_lazy("{model} returned 408, it took too long."),
    429: gettext_lazy("{model} returned 429, too many requests."),
    500: gettext_lazy("{model} returned 500, an error of its own."),
    502: gettext_lazy("{model} returned 502, the server behind it is down."),
    503: gettext_lazy("{model} returned 503, it is overloaded or starting."),
    504: gettext_lazy("{model} returned 504, the server behind it took too long."),
    529: gettext_lazy("{model} returned 529, it is overloaded."),
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


def from_status(
    request: ModelRequest, status: int, body: str, headers: httpx.Headers
) -> ModelError:
    """The server answered with an error status."""
    wait = wait_in(headers, body)
    kind, remedy = kind_of(status, body, wait), "model"
    words = without_secrets(request, message_in(body))
    sentence: str | Promise
    advice: str | Promise
    if kind == "key":
        sentence, detail, advice, remedy = key_words(request, status, body, words)
    elif kind == "missing":
        sentence, detail, advice, remedy = missing_words(request, status, body, words)
    else:
        sentence, advice = heading(request, kind, body, words)
        # Of being busy every server has words of its own; elsewhere, and where the wait is long,
        # they name the cause.
        is_told = words and (kind != "busy" or (wait or 0) > LONG_WAIT)
        known = STATUSES.get(status, gettext_lazy("{model} returned {status}."))
        detail = (RETURNED if is_told else known).format(
            model=request.model, status=status, words=ended(words)
        )
    wait = wait if kind in TRANSIENT else None
    return ModelError(
        kind, sentence, detail, advice, remedy=remedy, status=status, retry_after=wait, words=words
    )


def from_stream(request: ModelRequest, document: dict[str, object], began: bool) -> ModelError:
    """The server had begun with 200 and then sent an error instead of more of the reply."""
    error, body = as_dict(document.get("error")), json.dumps(document)
    codes = (error.get("code"), error.get("status_code"), document.get("code"))
    known = (int(str(code)) for code in codes if STATUS.fullmatch(str(code)))
    status = next(known, TYPES.get(str(error.get("type"))))
    wait = wait_in(httpx.Headers(), body)
    kind = kind_of(status or (429 if BUSY.search(body) else 500), body, wait)
    words = without_secrets(request, message_in(body)) or gettext("no reason was given")
    detail = gettext("{model} stopped with an error: {words}")
    detail = detail.format(model=request.model, words=ended(words))
    sentence, advice = heading(request, kind, body, words)
    if sentence in (UNANSWERED, FAILED) and began:
        sentence = BROKE_OFF
    return ModelError(kind, sentence, detail, advice, status=status, retry_after=wait, began=began)


def heading(
    request: ModelRequest, kind: str, body: str, words: str
) -> tuple[str | Promise, str | Promise]:
    """Sentence and advice."""
    sentence: str | Promise = UNANSWERED
    advice: str | Promise = ADVICE.get(kind, "")
    where = request.endpoint.label or request.endpoint.provider
    if kind == "too_long" and A_MINUTE.search(words):
        sentence = gettext("This conversation is longer than the account allows a minute")
        advice = gettext(
            "Start a new chat, choose another model, or raise the limit at {provider}."
        ).format(provider=where)
    elif kind == "too_long" and EXTRA_USAGE.search(words):
        sentence = gettext("This conversation is longer than the account allows")
        advice = gettext(
            "Start a new chat, choose another model, or turn on extra usage at {provider}."
        ).format(provider=where)
    elif kind == "too_long":
        sentence = gettext("This conversation is too long for {model}").format(model=request.model)
    elif kind == "server":
        sentence = FAILED
    elif kind == "bad_call":
        sentence = UNREAD_CALL
    elif kind == "bad_request":
        sentence, advice = refused(body, words)
    return sentence, advice


def refused(body: str, words: str) -> tuple[str | Promise, str | Promise]:
    """Sentence and advice; what the server says decides which."""
    sentence: str | Promise = gettext("The model refused the request")
    advice: str | Promise = ADVICE["bad_request"]
    if FLAGGED.search(body):
        sentence, advice = WITHHELD, ADVICE["withheld"]
    elif NO_MEMORY.search(words):
        sentence = gettext("The model does not fit into the server's memory")
        advice = gettext("Choose a smaller model, or free memory there.")
    elif option := NO_OPTION.search(words):
        advice = gettext("Start the server with {option}, or choose another model.")
        advice = advice.format(option=option["option"])
    elif MANY_TOOLS.search(words):
        sentence = gettext("The model was offered too many tools")
        advice = gettext(
            "Turn some off for this agent in Settings > Agents, or choose another model."
        )
    elif "tool" in words.lower():
        advice = gettext("Choose a model that can call tools.")
    return sentence, advice


Words = tuple[str | Promise, str, str, str]  # sentence, detail, advice and remedy


def key_words(request: ModelRequest, status: int, body: str, words: str) -> Words:
    """`words` are the server's own."""
    model, provider = request.model, request.endpoint.provider
    if status == 402 or NO_CREDIT.search(body):
        detail = gettext("{model} returned {status}: the account has no credit left.")
        advice = gettext("Add credit at {provider}, or choose another model.")
        return (
            UNANSWERED,
            detail.format(model=model, status=status),
            advice.format(provider=provider),
            "model",
        )
    if not request.endpoint.key:
        known = known_provider(provider, request.endpoint.base_url)
        variable = known.keys[-1] if known and known.keys else ""
        advice = no_key(request.endpoint.label or provider, variable)
        detail = gettext("{model} returned {status}.").format(model=model, status=status)
        return gettext("The model wants a key"), detail, advice, "models"
    if status == 403 and words and not BAD_KEY.search(body):
        detail = RETURNED.format(model=model, status=status, words=ended(words))
        advice = gettext("Check what the key may be used for, or choose another model.")
        return gettext("The model refused access"), detail, advice, "model"
    detail = gettext("{model} returned {status}.").format(model=model, status=status)
    advice = gettext("Check the key in Settings > Models.")
    return gettext("The model refused the key"), detail, advice, "models"


def missing_words(request: ModelRequest, status: int, body: str, words: str) -> Words:
    """`words` are the server's own."""
    if status < 400 or is_page(body) or not words:
        error = not_an_api(request, gettext("{address} returned {status}."), status)
        return UNKNOWN, error.detail, error.advice, error.remedy
    detail = RETURNED.format(model=request.model, status=status, words=ended(words))
    advice = gettext("Choose another model in Settings > Agents.")
    if request.endpoint.provider == "ollama":
        advice = gettext("Run ollama pull {model}, or choose another model in Settings > Agents.")
    return UNKNOWN, detail, advice.format(model=request.model), "model"
