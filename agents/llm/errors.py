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

import re

import httpx
from django.conf import settings
from django.utils.functional import Promise

from agents.llm.request import ModelRequest
from agents.stored_text import gettext, gettext_lazy, sentences

# Bytes and JSON values of one document of an answer: parsing it holds up everybody else.
LONGEST_DOCUMENT = 4 * 1024 * 1024
MOST_VALUES = 100_000

UNANSWERED = gettext_lazy("The model did not answer")
FAILED = gettext_lazy("The model’s server had an error")
WITHHELD = gettext_lazy("The reply was withheld")
BROKE_OFF = gettext_lazy("The reply broke off")
UNSENT = gettext_lazy("The request could not be sent")
NO_ANSWER = gettext_lazy("{address} does not answer.")
UNREAD_CALL = gettext_lazy("The model wrote a call that cannot be read")
LONG_WAIT = 60.0  # seconds; longer than that, and it is said what for
TRANSIENT = {"busy", "bad_call", "server", "silent", "unreachable", "cut", "nothing"}
ADVICE = {
    "busy": gettext_lazy("Wait a little and retry, or choose another model."),
    "server": gettext_lazy("Retry. If it goes on, choose another model."),
    "silent": gettext_lazy("Retry, or choose a faster model."),
    "cut": gettext_lazy("Retry."),
    "bad_call": gettext_lazy("Retry, or choose a model that calls tools better."),
    "nothing": gettext_lazy("Retry, or choose another model."),
    "endless": gettext_lazy("Retry, or choose another model."),
    "too_long": gettext_lazy("Start a new chat, or use a larger model."),
    "bad_request": gettext_lazy("Check the model's settings, or choose another model."),
    "withheld": gettext_lazy("Say it another way, or choose another model."),
}

KEY_LIKE = re.compile(r"\b(sk|pk|gsk|xai|Bearer)[-_ ][\w*.-]{6,}")


class ModelError(Exception):
    """One failed attempt. `began`: a part of the reply had come already; `words`: the server's own,
    without secrets; `remedy`: where it can be mended, with the providers ("models") or by another
    "model" here."""

    def __init__(
        self,
        kind: str,
        sentence: str | Promise,
        detail: str,
        advice: str | Promise = "",
        *,
        remedy: str = "model",
        retry_after: float | None = None,
        status: int | None = None,
        began: bool = False,
        words: str = "",
    ) -> None:
        super().__init__(sentences(gettext("{words}.").format(words=sentence), detail, advice))
        self.kind, self.sentence, self.detail = kind, str(sentence), detail
        self.advice, self.remedy = str(advice), remedy
        self.transient = kind in TRANSIENT
        self.retry_after, self.status, self.began = retry_after, status, began
        self.words = words

    @property
    def details(self) -> str:
        """The server's words, where the detail does not hold them."""
        return "" if self.words in self.detail else self.words


def broke(request: ModelRequest, error: Exception, began: bool) -> ModelError:
    """The connection failed before, or while, the reply came."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return unreachable(request)
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        detail = gettext("{model} sent nothing for {seconds:g} s.")
        detail = detail.format(model=request.model, seconds=settings.MODEL_IDLE_TIMEOUT)
        sentence = gettext("The model went silent") if began else UNANSWERED
        return ModelError("silent", sentence, detail, ADVICE["silent"], began=began)
    if isinstance(error, UnicodeError | httpx.LocalProtocolError):
        detail = gettext("The key or a header of {provider} has an illegal character.")
        detail = detail.format(provider=request.endpoint.provider)
        advice = gettext("Enter it again in Settings > Models, without spaces and line ends.")
        return ModelError("key", UNSENT, detail, advice, remedy="models")
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        address = request.endpoint.address or gettext("An empty address")
        detail = gettext("{address} is not a web address.").format(address=address)
        advice = gettext("Set it in Settings > Models, for example http://127.0.0.1:11434/v1.")
        return ModelError("bad_request", UNSENT, detail, advice, remedy="models")
    if isinstance(error, httpx.DecodingError):
        return unreadable(request, "", began)
    sentence = gettext_lazy("{address} broke the connection off.")
    return cut(request, began) if began else unreachable(request, sentence)


def unreachable(request: ModelRequest, sentence: str | Promise = NO_ANSWER) -> ModelError:
    advice = {
        "ollama": gettext(
            "Start Ollama (ollama serve), or check the address in Settings > Models."
        ),
        "lmstudio": gettext(
            "Start LM Studio's server (Developer > Start server), or check the address in "
            "Settings > Models."
        ),
    }.get(
        request.endpoint.provider,
        gettext(
            "Check that the server runs and the network is up, or check the address in "
            "Settings > Models."
        ),
    )
    heading = gettext("The model could not be reached")
    detail = str(sentence).format(address=request.endpoint.address)
    return ModelError("unreachable", heading, detail, advice, remedy="models")


def cut(request: ModelRequest, began: bool) -> ModelError:
    detail = gettext("{model} ended the stream before the reply was finished.")
    detail, sentence = detail.format(model=request.model), BROKE_OFF if began else UNANSWERED
    return ModelError("cut", sentence, detail, ADVICE["cut"], began=began)


def endless(request: ModelRequest, longest: int) -> ModelError:
    detail = gettext("{model} went on for {longest:,} characters and was cut off.")
    detail, sentence = (
        detail.format(model=request.model, longest=longest),
        gettext("The reply had no end"),
    )
    return ModelError("endless", sentence, detail, ADVICE["endless"], began=True)


def too_many_calls(request: ModelRequest, most: int) -> ModelError:
    detail = gettext("{model} asked for more than {most} tool calls at once. None was made.")
    detail, sentence = detail.format(model=request.model, most=most), gettext("Too many calls")
    return ModelError("endless", sentence, detail, ADVICE["endless"], began=True)


def too_large(request: ModelRequest, began: bool) -> ModelError:
    detail = gettext(
        "{model} returned an answer that is too large: {megabytes} MB and {values:,} JSON values "
        "are the most."
    ).format(model=request.model, megabytes=LONGEST_DOCUMENT // 1024**2, values=MOST_VALUES)
    return ModelError("endless", UNANSWERED, detail, ADVICE["endless"], began=began)


def nothing(request: ModelRequest) -> ModelError:
    detail = gettext("{model} returned an empty answer.").format(model=request.model)
    return ModelError("nothing", UNANSWERED, detail, ADVICE["nothing"])


def unread_call(request: ModelRequest, reason: str) -> ModelError:
    """The server could not read the call with which the reply was to end, and left it out."""
    words = ended(without_secrets(request, reason))
    detail = gettext("{model} stopped: {words}").format(model=request.model, words=words)
    return ModelError("bad_call", UNREAD_CALL, detail, ADVICE["bad_call"], began=True)


def no_room(request: ModelRequest) -> ModelError:
    """It stopped at a limit before its first word, and would at each further try."""
    detail = gettext(
        "{model} had no room left for a reply: its context window, or max_tokens, is used up."
    ).format(model=request.model)
    advice = ADVICE["too_long"]
    if request.endpoint.provider == "ollama":
        advice = gettext_lazy("Give it a larger window (OLLAMA_CONTEXT_LENGTH=32768 ollama serve).")
    return ModelError("too_long", UNANSWERED, detail, advice)


def withheld(request: ModelRequest, reason: str = "", began: bool = False) -> ModelError:
    detail = gettext("{provider}'s content filter stopped the reply of {model}.")
    if reason:
        detail = gettext("{model} refused: {words}")
    words = ended(without_secrets(request, reason))
    label = request.endpoint.label or request.endpoint.provider
    detail = detail.format(provider=label, model=request.model, words=words)
    return ModelError("bad_request", WITHHELD, detail, ADVICE["withheld"], began=began)


def unreadable(request: ModelRequest, body: str, began: bool) -> ModelError:
    """A 200 whose body is not an answer: a web page means the address is not an API's."""
    if is_page(body):
        return not_an_api(request, gettext("{address} returned a web page instead of an answer."))
    detail = gettext("{model} returned an answer that cannot be read as JSON.")
    detail = detail.format(model=request.model)
    return ModelError("server", UNANSWERED, detail, ADVICE["server"], began=began)


def not_an_api(request: ModelRequest, sentence: str, status: int | None = None) -> ModelError:
    return ModelError(
        "missing",
        UNANSWERED,
        sentence.format(address=request.endpoint.address, status=status),
        gettext("Check the address in Settings > Models; it usually ends in /v1."),
        remedy="models",
        status=status,
    )


def is_page(body: str) -> bool:
    return body.lstrip()[:1] == "<"


def no_key(provider: str, variable: str = "") -> str:
    """`variable` of the environment is where it may be set."""
    sentence = gettext("No key for {provider}: enter one in Settings > Models.")
    if variable:
        sentence = gettext(
            "No key for {provider}: set {variable} or enter it in Settings > Models."
        )
    return sentence.format(provider=provider, variable=variable)


def without_secrets(request: ModelRequest, text: str) -> str:
    """One line of at most 300 characters in which no key can be read."""
    for secret in request.endpoint.secrets:
        text = text.replace(secret, "…")
    text = " ".join(KEY_LIKE.sub("…", text).split())
    return text if len(text) <= 300 else f"{text[:299]}…"


def ended(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
