"""Why a model did not answer, in plain words and with what to do about it.

ModelError.kind    transient  when
├── key            no         401, 403, 402, or no credit left
├── missing        no         404, a redirect, a web page: the address or the model is wrong
├── too_long       no         the conversation does not fit the model
├── endless        no         the reply went on and on
├── bad_request    no         any other 4xx, an illegal address or header
├── busy           yes        429, 503, 529
├── server         yes        any other 5xx, an error inside the stream, an unreadable answer
├── silent         yes        nothing came for longer than the idle time, 408
├── unreachable    yes        no connection
├── cut            yes        the stream ended before the reply did
└── nothing        yes        an answer without anything in it
"""

from __future__ import annotations

import httpx
from django.conf import settings

from agents.model_client.request import ModelRequest

UNANSWERED = "The model did not answer"
UNUSABLE = (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeError)
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
    """One failed attempt. `began` tells that a part of the reply had been seen already."""

    def __init__(
        self,
        kind: str,
        sentence: str,
        detail: str,
        advice: str = "",
        *,
        transient: bool | None = None,
        retry_after: float | None = None,
        status: int | None = None,
        began: bool = False,
    ) -> None:
        super().__init__(f"{sentence}. {detail} {advice}".strip())
        self.kind, self.sentence, self.detail, self.advice = kind, sentence, detail, advice
        self.transient = kind in TRANSIENT if transient is None else transient
        self.retry_after, self.status, self.began = retry_after, status, began


def broke(request: ModelRequest, error: Exception, began: bool) -> ModelError:
    """The connection failed before, or while, the reply came."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return unreachable(request)
    if isinstance(error, TimeoutError | httpx.TimeoutException):
        return silent(request, began)
    if isinstance(error, UNUSABLE):
        return unusable(request, error)
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


def silent(request: ModelRequest, began: bool) -> ModelError:
    detail = f"{request.model} sent nothing for {settings.MODEL_IDLE_TIMEOUT:g} s."
    sentence = "The model went silent" if began else UNANSWERED
    return ModelError("silent", sentence, detail, ADVICE["silent"], began=began)


def cut(request: ModelRequest, began: bool) -> ModelError:
    detail = f"{request.model} ended the stream before the reply was finished."
    sentence = "The reply broke off" if began else UNANSWERED
    return ModelError("cut", sentence, detail, ADVICE["cut"], began=began)


def endless(request: ModelRequest, longest: int) -> ModelError:
    detail = f"{request.model} went on for {longest:,} characters and was cut off."
    return ModelError("endless", "The reply had no end", detail, ADVICE["endless"], began=True)


def nothing(request: ModelRequest) -> ModelError:
    detail = f"{request.model} returned an empty answer."
    return ModelError("nothing", UNANSWERED, detail, ADVICE["nothing"])


def withheld(request: ModelRequest) -> ModelError:
    detail = f"{request.endpoint.label}'s content filter stopped the reply of {request.model}."
    advice = "Say it another way, or choose another model."
    return ModelError("bad_request", "The reply was withheld", detail, advice)


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


def unusable(request: ModelRequest, error: Exception) -> ModelError:
    if isinstance(error, UnicodeError | httpx.LocalProtocolError):
        detail = f"The key or a header of {request.endpoint.provider} has an illegal character."
        advice = "Enter it again in Settings > Models, without spaces and line ends."
        return ModelError("key", "The request could not be sent", detail, advice)
    detail = f"{request.endpoint.address or 'An empty address'} is not a web address."
    advice = "Set it in Settings > Models, for example http://127.0.0.1:11434/v1."
    return ModelError("bad_request", "The request could not be sent", detail, advice)


def is_page(body: str) -> bool:
    return body.lstrip()[:1] == "<"
