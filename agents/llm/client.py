"""One attempt to have a model answer, streamed from any server whose API we speak."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial

import httpx
from django.conf import settings

from agents import http
from agents.db import AWAY, in_db
from agents.http_bodies import PLAIN, pieces
from agents.json_size import has_more_values
from agents.llm import adaptation, errors, status_errors
from agents.llm.api import api_of
from agents.llm.error_kinds import BAD_CALL
from agents.llm.errors import LONGEST_DOCUMENT, MOST_VALUES, ModelError
from agents.llm.images import without_images
from agents.llm.lessons import Row, remember
from agents.llm.model_info import ModelInfo
from agents.llm.reply import MOST_CALLS, Json, ReasoningPart, Reply, ReplyDraft, TextPart
from agents.llm.request import Endpoint, ModelRequest
from agents.telemetry import hooks

Part = TextPart | ReasoningPart | Reply
MOST_PAGES = 20  # of a list of models
MOST_PAUSES = 10  # of one reply
# How it shows that a connection was kept too long.
DROPPED = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError, httpx.CloseError)
LONGEST_ERROR = 64 * 1024
LONGEST_REPLY = 1_000_000  # characters, some 250,000 tokens: a model that goes on never stops
# Seconds that a server may take to say [DONE], or how much was used, after the reply's end.
AFTERTHOUGHT = 3.0
END_OF_BODY = 0.05  # seconds that the body's end may come after [DONE]
# Seconds for which the pieces of a reply that has begun gather: each that is waited for alone costs
# 0.6 ms of processor time, together they cost a third of it. Text is shown 25 times a second.
GATHER = 0.04
GATHERED_BELOW = 0.001  # a piece that took less to come was there already


async def stream(
    request: ModelRequest, draft: ReplyDraft | None = None
) -> AsyncGenerator[Part, None]:
    """Text and reasoning as they come, then the Reply. Raises ModelError.

    Closing the generator closes the connection, and with it the model's work. Whoever gives the
    `draft` can ask afterwards what a reply that broke off has `spent`.
    """
    draft = draft or api_of(request.endpoint).draft()
    with hooks.model_call(request, partial(spent, request, draft)) as call:
        asked: ModelRequest | None = request
        for _ in range(MOST_PAUSES):
            if asked is None:
                break
            async with aclosing(_parts(asked, draft, call)) as parts:
                async for part in parts:
                    yield part
            asked = draft.go_on(asked)
        reply = draft.finished(request.estimated_tokens)
        if reply.finish_reason == "refusal":
            raise errors.withheld(request, reply.refusal, draft.began)
        if reply.is_empty and reply.finish_reason == "content_filter":
            raise errors.withheld(request)
        is_wordless = not (reply.text.strip() or reply.calls)
        if is_wordless and reply.finish_reason == "length":
            raise errors.no_room(request)
        if is_wordless and BAD_CALL.search(reply.finish_reason):
            raise errors.unread_call(request, reply.finish_reason)
        if reply.is_empty and (reply.finish_reason or not draft.documents):
            raise errors.nothing(request)
        if not reply.finish_reason:
            raise errors.cut(request, draft.began)
        call.answered(reply)
    yield reply


def spent(request: ModelRequest, draft: ReplyDraft) -> Reply | None:
    """What there was of a reply that broke off, with its tokens: those the server has counted, the
    others by estimate. None where the server had not begun, so that there is nothing to pay.
    """
    return draft.finished(request.estimated_tokens) if draft.accepted else None


async def _parts(
    request: ModelRequest, draft: ReplyDraft, call: hooks.ModelCall
) -> AsyncGenerator[TextPart | ReasoningPart, None]:
    """What one answer adds to the draft. Raises ModelError.

    Servers close connections that were idle, and may do so just as a request is sent: where
    nothing was received it is sent once more.
    """
    known, is_again = draft.documents, False
    while True:
        try:
            async with (
                _answer(request) as response,
                aclosing(_documents(request, response, draft)) as documents,
            ):
                draft.accepted = True
                async for document in documents:
                    if not call.answers:
                        call.first_piece()
                    for part in _added(request, draft, document):
                        yield part
            return
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, UnicodeError) as error:
            if isinstance(error, DROPPED) and draft.documents == known and not is_again:
                is_again = True
                continue
            if not draft.finish_reason:
                raise errors.broke(request, error, draft.began) from error
            return


def _added(
    request: ModelRequest, draft: ReplyDraft, document: Json
) -> Iterator[TextPart | ReasoningPart]:
    """What a document adds to the draft, within bounds."""
    if failed := api_of(request.endpoint).error_in(document):
        draft.accepted = draft.documents > 0
        raise status_errors.from_stream(request, failed, draft.began)
    yield from draft.add(document)
    if draft.length > LONGEST_REPLY:
        raise errors.endless(request, LONGEST_REPLY)
    if draft.has_too_many_calls:
        raise errors.too_many_calls(request, MOST_CALLS)


async def list_models(endpoint: Endpoint) -> list[ModelInfo]:
    """What the server's /models gives, sorted by id. Raises ModelError."""
    api = api_of(endpoint)
    listed: list[ModelInfo] = []
    after = ""
    for _ in range(MOST_PAGES):
        document = await fetch_json(endpoint, api.models_url(endpoint, after))
        page = api.models_in(document)
        if page is None:
            raise errors.unreadable(_for_errors(endpoint), "{}", began=False)
        listed += page.models
        after = page.after
        if not after:
            break
    return sorted(listed, key=lambda model: model.id)


def _for_errors(endpoint: Endpoint) -> ModelRequest:
    """What a sentence about a request that is for no model speaks of."""
    return ModelRequest(endpoint, "The server", [])


async def fetch_json(
    endpoint: Endpoint, url: str, sent: Json | None = None, seconds: float = 0.0
) -> Json:
    """A short answer to a GET, or to a POST of what is `sent`. Raises ModelError.

    It may take twice as long as reaching the server, or that many `seconds`.
    """
    request = _for_errors(endpoint)
    headers = {**api_of(endpoint).headers(endpoint), **PLAIN}
    method = "GET" if sent is None else "POST"
    body = bytearray()
    try:
        async with (
            asyncio.timeout(seconds or settings.MODEL_CONNECT_TIMEOUT * 2),
            http.client().stream(method, url, headers=headers, json=sent) as response,
        ):
            await _read_into(body, response, LONGEST_DOCUMENT)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, UnicodeError) as error:
        raise errors.broke(request, error, began=False) from error
    text = body.decode(errors="replace")
    if response.status_code != 200:
        beginning = text[:LONGEST_ERROR]
        raise status_errors.from_status(request, response.status_code, beginning, response.headers)
    if len(body) > LONGEST_DOCUMENT:
        raise errors.too_large(request, began=False)
    document = _json(request, text)
    if not isinstance(document, dict):
        raise errors.unreadable(request, text, began=False)
    return document


@asynccontextmanager
async def _answer(request: ModelRequest) -> AsyncIterator[httpx.Response]:
    """The response to a request that was accepted; what is refused of it is left out at once."""
    client, endpoint, api = http.client(), request.endpoint, api_of(request.endpoint)
    headers = {**api.headers(endpoint), **PLAIN}
    lessons = request.lessons
    learnt: dict[Row, str] = {}  # by this request, with the words of the refusal
    for number in range(adaptation.MOST_LESSONS + 1):
        if lessons.is_blind or lessons.drops_images:
            request = replace(request, messages=without_images(request.messages))
        sent = adaptation.heeding(lessons, api.body(request))
        message = client.build_request(
            "POST", api.url(endpoint), json=sent, headers=headers, timeout=http.timeout()
        )
        # Transports other than the network's own do not count time, so it is counted here too.
        async with asyncio.timeout(settings.MODEL_CONNECT_TIMEOUT + settings.MODEL_IDLE_TIMEOUT):
            response = await client.send(message, stream=True)
        try:
            if response.status_code == 200:
                await _remember(request, learnt)
                yield response
                return
            beginning = bytearray()
            with suppress(httpx.HTTPError, TimeoutError):  # some bodies do not end
                async with asyncio.timeout(AFTERTHOUGHT):
                    await _read_into(beginning, response, LONGEST_ERROR)
        finally:
            await response.aclose()
        text = beginning[:LONGEST_ERROR].decode(errors="replace")
        error = status_errors.from_status(request, response.status_code, text, response.headers)
        more = None
        if error.kind in ("bad_request", "server", "missing") and number < adaptation.MOST_LESSONS:
            more = adaptation.learn(request, lessons, sent, response.status_code, text)
        if more is None:
            raise error
        learnt |= dict.fromkeys(more.rows - lessons.rows, error.words)
        lessons = more


async def _remember(request: ModelRequest, learnt: dict[Row, str]) -> None:
    if learnt:
        with suppress(*AWAY):  # then the next request learns it again
            await in_db(remember, request.endpoint, request.model, learnt)


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
                await _read_to_the_end(lines)
                return
            if data:
                yield _document(request, data, draft.began)
    if body:
        yield _document(request, "\n".join(body), draft.began)


async def _read_to_the_end(lines: AsyncGenerator[str, None]) -> None:
    """A connection whose answer was read whole is kept, which saves the next request a handshake.

    Most servers send the end along with the last line; others are not waited for.
    """
    with suppress(httpx.HTTPError, TimeoutError, ModelError):
        async with asyncio.timeout(END_OF_BODY):
            async for _ in lines:
                pass


async def _lines(
    request: ModelRequest, response: httpx.Response, draft: ReplyDraft
) -> AsyncGenerator[str, None]:
    """Lines cut at LF alone: httpx also cuts at U+2028, which JSON may hold."""
    rest, idle = b"", settings.MODEL_IDLE_TIMEOUT
    now = asyncio.get_running_loop().time
    async with aclosing(pieces(response)) as chunks:
        while True:
            began = now()
            async with asyncio.timeout(min(idle, AFTERTHOUGHT) if draft.finish_reason else idle):
                chunk = await anext(chunks, None)
            waited = now() - began
            *whole, rest = (rest + (chunk or b"\n")).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace").strip("\r\ufeff")
            if len(rest) > LONGEST_DOCUMENT:
                raise errors.too_large(request, draft.began)
            if chunk is None:
                return
            if draft.began and waited > GATHERED_BELOW:
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
