"""A service's charset never decides how its words are decoded, through whichever door they come."""

import codecs

import httpx
import httpx2
import pytest

from agents import http
from tests.agents.petstore import petstore
from tests.inner import (
    MULTIBYTE,
    SINGLE_BYTE,
    Endpoint,
    Remote,
    Server,
    call_operation,
    decoded,
    list_models,
    operations_of,
    read_operations,
)
from tests.inner import fetch_fetch as fetch
from tests.inner import http as openapi_wire

URL = "http://127.0.0.1:8123"
OPERATIONS = {
    o["name"]: o for o in operations_of(petstore(), URL, f"{URL}/openapi.json", 58).operations
}
TEXT = "Grüße from a-b-c "

HOSTILE = [
    "punycode", "idna", "undefined", "utf-7", "hex", "bz2", "zlib", "rot13", "quopri", "uu", "mbcs",
    "unicode_escape", "raw_unicode_escape", "oem", "nonsense", "x" * 5_000, '"', '"punycode', "''",
    '"punycode"', "../../etc/passwd", "utf-8; charset=punycode", "\tpunycode", "utf-8punycode",
]  # fmt: skip


def answering(kind, body, library=httpx):
    """A service that answers everything with this body, and calls it what it likes."""
    headers = {"Content-Type": kind}
    return library.MockTransport(
        lambda _: library.Response(200, headers=headers, stream=library.ByteStream(body))
    )


async def fetched(parameter, text):
    body = text.encode()
    return (await fetch(URL, answering(f"text/plain; {parameter}", body))).text


async def called(parameter, text):
    with openapi_wire.use(answering(f"text/plain; {parameter}", text.encode())):
        told = await call_operation(OPERATIONS["get_pet"], {"petId": 7, "lang": "de"}, {}, 5)
    return told.text.removeprefix("200 OK\n")


async def streamed_by_mcp(parameter, text):
    transport = answering(f"text/event-stream; {parameter}", f"data: {text}\n\n".encode(), httpx2)
    hooks = {"response": [Remote(Server("s", url=URL)).bound]}
    async with httpx2.AsyncClient(transport=transport, event_hooks=hooks) as client:
        response = await client.send(client.build_request("POST", URL), stream=True)
        (event,) = [event async for event in httpx2.EventSource(response)]
    return event.data


async def listed_by_a_model_server(parameter, text):
    body = httpx.Response(200, json={"data": [{"id": text}]}).content
    with http.use(answering(f"application/json; {parameter}", body)):
        (model,) = await list_models(Endpoint("openai", URL, "key"))
        await http.aclose_all()
    return model.id


async def read_from_a_document(parameter, text):
    document = {"openapi": "3.0.0", "paths": {"/a": {"get": {"operationId": "a", "summary": text}}}}
    body = httpx.Response(200, json=document).content
    with openapi_wire.use(answering(f"application/json; {parameter}", body)):
        (operation,), _ = await read_operations(URL, f"{URL}/openapi.json", {}, 58)
    return operation["description"]


DOORS = [fetched, called, streamed_by_mcp, listed_by_a_model_server, read_from_a_document]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.sampled(2)
async def test_what_is_no_plain_charset_is_read_as_utf_8(door):
    text = TEXT.strip()
    for charset in HOSTILE:
        assert (await door(f"charset={charset}", text)).strip() == text, charset


@pytest.fixture
def asked():
    """Every name that Python's registry of codecs did not know and was asked for."""
    names = []
    codecs.register(names.append)
    yield names
    codecs.unregister(names.append)


@pytest.mark.parametrize("door", DOORS)
async def test_no_word_of_a_service_reaches_the_registry_of_codecs(door, asked):
    for number, parameter in enumerate(
        ('charset="trap{}"', "charset=trap{}", "charset*=trap{}''utf-8", "charset*0=trap{}")
    ):
        await door(parameter.format(f"{number}{door.__name__}"), TEXT)
    assert asked == []


@pytest.mark.parametrize(
    "charset", ["iso-8859-1", "windows-1252", "ISO-8859-15", "utf-16", "shift_jis", "koi8-r", "GBK"]
)
async def test_text_in_a_common_charset_is_read(charset):
    text = {"shift_jis": "日本語", "koi8-r": "Привет", "GBK": "中文"}.get(charset, "Grüße")
    for quoted in (charset, f'"{charset}"'):
        page = answering(f"text/plain;format=flowed; Charset={quoted}", text.encode(charset))
        assert (await fetch(URL, page)).text == text


async def test_every_byte_of_every_charset_is_read_as_something():
    for charset in (*MULTIBYTE, *SINGLE_BYTE):
        text = decoded(bytes(range(256)), f"text/plain; charset={charset}")
        text.encode()  # no half characters, which no database takes
        assert "A" in text or charset.startswith("utf-16")
