"""One attempt to have a model answer, streamed from any server whose API we speak."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace

import httpx
from django.conf import settings

from agents import http
from agents.http_bodies import PLAIN, has_more_values, pieces
from agents.llm import errors
from agents.llm.api import api_of
from agents.llm.chat_completions import MOST_CALLS
from agents.llm.errors import LONGEST_DOCUMENT, MOST_VALUES
from agents.llm.images import count_images, without_images
from agents.llm.reply import Json, ListedModel, ReasoningPart, Reply, ReplyDraft, TextPart, as_dict
from agents.llm.request import Endpoint, ModelRequest
from agents.telemetry import hooks

Part = TextPart | ReasoningPart | Reply
MOST_PAGES = 20  # of a list of models
LONGEST_ERROR = 64 * 1024
LONGEST_REPLY = 1_000_000  # characters, some 250,000 tokens: a model that goes on never stops
# Seconds that a server may take to say [DONE], or how much was used, after the reply's end.
AFTERTHOUGHT = 3.0
# Seconds for which the pieces of a fast model gather: each that is waited for alone costs 0.6 ms
# of processor time, together they cost a third of it. Text is sent 25 times a second anyway.
GATHER = 0.03
GATHERED_BELOW = 0.001  # a piece that took less to come was there already
# Servers that answered 400 to stream_options; they are not sent it again.
_plain_servers: set[str] = set()
# Addresses and models that answered with an error as long as there were images in a request.
_blind_models: set[tuple[str, str]] = set()


async def stream(request: ModelRequest) -> AsyncGenerator[Part, None]:
    """Text and reasoning as they come, then the Reply. Raises ModelError.

    Closing the generator closes the connection, and with it the model's work.
    """
    api = api_of(request.endpoint)
    draft = api.draft()
    with hooks.model_call(request) as call:
        try:
            async with (
                _answer(request) as response,
                aclosing(_documents(request, response, draft)) as documents,
            ):
                async for document in documents:
                    if api.is_error(document):
                        raise errors.from_stream(request, document, draft.began)
                    if not call.answers:
                        call.first_piece()
                    for part in draft.add(document):
                        yield part
                    if draft.length > LONGEST_REPLY:
                        raise errors.endless(request, LONGEST_REPLY)
                    if draft.has_too_many_calls:
                        raise errors.too_many_calls(request, MOST_CALLS)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, UnicodeError) as error:
            if not draft.finish_reason:
                raise errors.broke(request, error, draft.began) from error
        reply = draft.finished(request.estimated_tokens)
        if reply.is_empty and reply.finish_reason == "content_filter":
            raise errors.withheld(request)
        if reply.is_empty and (reply.finish_reason or not draft.documents):
            raise errors.nothing(request)
        if not reply.finish_reason:
            raise errors.cut(request, draft.began)
        call.answered(reply)
    yield reply


async def list_models(endpoint: Endpoint) -> list[ListedModel]:
    """What the server's /models gives, sorted by id. Raises ModelError."""
    api = api_of(endpoint)
    listed: list[ListedModel] = []
    after = ""
    for _ in range(MOST_PAGES):
        text = await _get(endpoint, api.models_url(endpoint, after))
        page = api.models_in(as_dict(_json(_for_errors(endpoint), text)))
        if page is None:
            raise errors.unreadable(_for_errors(endpoint), text, began=False)
        listed += page.models
        after = page.after
        if not after:
            break
    return sorted(listed, key=lambda model: model.id)


def _for_errors(endpoint: Endpoint) -> ModelRequest:
    """What a sentence about a request that is for no model speaks of."""
    return ModelRequest(endpoint, "The server", [])


async def _get(endpoint: Endpoint, url: str) -> str:
    """The body of a short answer. Raises ModelError."""
    request = _for_errors(endpoint)
    headers = {**api_of(endpoint).headers(endpoint), **PLAIN}
    body = bytearray()
    try:
        async with (
            asyncio.timeout(settings.MODEL_CONNECT_TIMEOUT * 2),
            http.client().stream("GET", url, headers=headers) as response,
        ):
            await _read_into(body, response, LONGEST_DOCUMENT)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, UnicodeError) as error:
        raise errors.broke(request, error, began=False) from error
    text = body.decode(errors="replace")
    if response.status_code != 200:
        beginning = text[:LONGEST_ERROR]
        raise errors.from_status(request, response.status_code, beginning, response.headers)
    if len(body) > LONGEST_DOCUMENT:
        raise errors.too_large(request, began=False)
    return text


@asynccontextmanager
async def _answer(request: ModelRequest) -> AsyncIterator[httpx.Response]:
    """The response to a request that was accepted, asked once more in plainer form if need be."""
    model = (request.endpoint.base_url, request.model)
    if model in _blind_models:
        request = replace(request, messages=without_images(request.messages))
    has_images = count_images(request.messages) > 0
    client, endpoint, api = http.client(), request.endpoint, api_of(request.endpoint)
    body = api.body(request)
    if endpoint.base_url in _plain_servers:
        body.pop("stream_options", None)
    headers = {**api.headers(endpoint), **PLAIN}
    is_plainer = is_blind = False
    while True:
        message = client.build_request(
            "POST", api.url(endpoint), json=body, headers=headers, timeout=http.timeout()
        )
        # Transports other than the network's own do not count time, so it is counted here too.
        async with asyncio.timeout(settings.MODEL_CONNECT_TIMEOUT + settings.MODEL_IDLE_TIMEOUT):
            response = await client.send(message, stream=True)
        try:
            if response.status_code == 200:
                if is_plainer:
                    _plain_servers.add(endpoint.base_url)
                if is_blind:
                    _blind_models.add(model)
                yield response
                return
            beginning = bytearray()
            with suppress(httpx.HTTPError, TimeoutError):  # some bodies do not end
                async with asyncio.timeout(AFTERTHOUGHT):
                    await _read_into(beginning, response, LONGEST_ERROR)
        finally:
            await response.aclose()
        text = beginning[:LONGEST_ERROR].decode(errors="replace")
        error = errors.from_status(request, response.status_code, text, response.headers)
        if has_images and not is_blind and errors.may_mean_images(response.status_code, text):
            options = body.get("stream_options")
            body = api.body(replace(request, messages=without_images(request.messages)))
            if not options:
                body.pop("stream_options", None)
            is_blind = True
            continue
        is_vague = error.kind == "bad_request" and errors.may_mean_stream_options(text)
        if not is_vague or "stream_options" not in body:
            raise error
        del body["stream_options"]
        is_plainer = True


async def _read_into(body: bytearray, response: httpx.Response, most: int) -> None:
    """The beginning of an answer, up to the piece that makes it longer than `most` bytes."""
    async with aclosing(pieces(response)) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > most:
                break


async def _documents(
    request: ModelRequest, response: httpx.Response, draft: ReplyDraft
) -> AsyncGenerator[Json, None]:
    """Every JSON document of the answer: those of an event stream, or the one of a plain body."""
    body: list[str] = []
    length = 0
    async with aclosing(_lines(request, response, draft)) as lines:
        async for line in lines:
            if not line.startswith("data:"):
                if body or line[:1] in ("{", "[", "<"):
                    body.append(line)
                    length += len(line)
                if length > LONGEST_DOCUMENT:
                    raise errors.too_large(request, draft.began)
                continue
            if (data := line[5:].strip()) == "[DONE]":
                draft.finish_reason = draft.finish_reason or "stop"
                return
            if data:
                yield _document(request, data, draft.began)
    if body:
        yield _document(request, "\n".join(body), draft.began)


async def _lines(
    request: ModelRequest, response: httpx.Response, draft: ReplyDraft
) -> AsyncGenerator[str, None]:
    """Lines cut at LF alone: httpx also cuts at U+2028, which JSON may hold."""
    rest = b""
    now = asyncio.get_running_loop().time
    quick = 0  # pieces in a row that came soon, but had to be waited for
    async with aclosing(pieces(response)) as chunks:
        while True:
            began = now()
            idle = AFTERTHOUGHT if draft.finish_reason else settings.MODEL_IDLE_TIMEOUT
            async with asyncio.timeout(min(idle, settings.MODEL_IDLE_TIMEOUT)):
                chunk = await anext(chunks, None)
            waited = now() - began
            if waited > GATHERED_BELOW:
                quick = quick + 1 if waited < GATHER else 0
            *whole, rest = (rest + (chunk or b"\n")).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace").strip("\r\ufeff")
            if len(rest) > LONGEST_DOCUMENT:
                raise errors.too_large(request, draft.began)
            if chunk is None:
                return
            if quick > 2 and waited > GATHERED_BELOW:
                await asyncio.sleep(GATHER)


def _document(request: ModelRequest, text: str, began: bool) -> Json:
    value = _json(request, text, began)
    if not isinstance(value, dict):
        raise errors.unreadable(request, text, began)
    return value


def _json(request: ModelRequest, text: str, began: bool = False) -> object:
    """The value of the text; None where it is no JSON."""
    if len(text) > MOST_VALUES and has_more_values(text.encode(errors="replace"), MOST_VALUES):
        raise errors.too_large(request, began)
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
