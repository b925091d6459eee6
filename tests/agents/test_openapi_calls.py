import asyncio
import gzip
import json
import tracemalloc
import zlib
from urllib.parse import parse_qsl

import httpx
import pytest

from tests.agents.petstore import petstore
from tests.inner import ToolFailed, call_operation, http, operations_of

URL = "http://127.0.0.1:8123"
BASE = f"{URL}/live/v2"
OPERATIONS = {
    o["name"]: o for o in operations_of(petstore(), URL, f"{URL}/openapi.json", 58).operations
}
OK = httpx.Response(200, json={"ok": True})


async def call(name, answer=OK, headers=None, operations=OPERATIONS, seconds=5, **arguments):
    """The request that was sent, and the text that came of it."""
    seen = []

    def respond(request):
        seen.append(request)
        return answer(request) if callable(answer) else answer

    with http.use(httpx.MockTransport(respond)):
        told = await call_operation(operations[name], arguments, headers or {}, seconds)
    return seen[-1], told.text


async def failing(name, answer=OK, **arguments):
    with pytest.raises(ToolFailed) as failure:
        await call(name, answer, **arguments)
    return str(failure.value)


async def test_each_argument_goes_where_the_document_says():
    request, told = await call("get_pet", petId=7, lang="de", session="a;b", **{"X-Trace": "t1"})
    assert str(request.url) == f"{BASE}/pets/7?lang=de"
    assert request.headers["X-Trace"] == "t1" and request.headers["Cookie"] == "session=a%3Bb"
    assert told == '200 OK\n{"ok":true}'


async def test_lists_objects_and_json_are_written_in_the_query_as_declared():
    request, _ = await call(
        "findPets",
        tags=["a", "b&c"],
        ids=[1, 2],
        near={"lat": 1.5, "lon": True},
        where={"age": {"gt": 3}},
        filter_age=4,
    )
    assert parse_qsl(request.url.query.decode()) == [
        ("tags", "a"), ("tags", "b&c"), ("ids", "1,2"), ("filter[age]", "4"),
        ("near[lat]", "1.5"), ("near[lon]", "true"), ("where", '{"age": {"gt": 3}}'),
    ]  # fmt: skip


async def test_a_body_that_is_neither_json_nor_a_form_is_written_by_the_model():
    """Fields sent as JSON under the name of XML are understood by nobody."""
    fields = {"type": "object", "properties": {"name": {"type": "string"}}}
    body = {"content": {"application/xml": {"schema": fields}}}
    document = petstore(paths={"/f": {"post": {"requestBody": body}}})
    made = {"post_f": operations_of(document, URL, "", 58).operations[0]}
    described = made["post_f"]["parameters"]["properties"]["body"]
    request, _ = await call("post_f", operations=made, body="<name/>")
    assert described["type"] == "string" and "application/xml" in described["description"]
    assert request.headers["Content-Type"] == "application/xml" and request.content == b"<name/>"


async def test_a_json_body_is_sent_as_json():
    request, _ = await call("addPet", body={"name": "Ä"})
    assert json.loads(request.content) == {"name": "Ä"}
    assert request.headers["Content-Type"] == "application/json"


async def test_a_form_is_sent_as_a_form():
    request, _ = await call("post_login", body={"user": "a&b", "keep": True})
    assert parse_qsl(request.content.decode()) == [("user", "a&b"), ("keep", "true")]


async def test_a_multipart_field_cannot_end_its_part():
    body = {"content": {"multipart/form-data": {"schema": {"type": "object"}}}}
    made = operations_of(
        petstore(paths={"/f": {"post": {"requestBody": body}}}), URL, "", 58
    ).operations
    request, _ = await call(
        "post_f", operations={"post_f": made[0]}, body={"a": "--planside\r\n", 'b"\n': "2"}
    )
    boundary = request.headers["Content-Type"].partition("boundary=")[2]
    assert boundary != "planside" and request.content.count(f"--{boundary}".encode()) == 3


@pytest.mark.parametrize("value", ["../admin", "a/b", "a?b=c", "a#b", "%2e%2e"])
async def test_a_value_in_a_path_stays_one_segment(value):
    request, _ = await call("get_pet_2", petId=value)
    path = request.url.raw_path.decode()
    assert path.startswith("/live/v2/pets/") and path.count("/") == 4 and "?" not in path


@pytest.mark.parametrize("value", ["", ".", ".."])
async def test_a_value_that_would_be_another_path_is_refused(value):
    assert "petId" in await failing("get_pet_2", petId=value)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "ä", "\0"])
async def test_a_value_in_a_header_cannot_begin_another(value):
    assert "X-Trace" in await failing("get_pet", petId=1, lang="de", **{"X-Trace": value})


async def test_a_missing_and_an_unknown_argument_are_named():
    assert await failing("get_pet", lang="de") == "get_pet needs petId."
    assert "does not know color; it takes petId" in await failing("get_pet_2", petId=1, color="red")


async def test_half_a_character_is_no_crash():
    assert (await failing("get_pet_2", petId="\ud800")).endswith(".")


async def test_the_registered_headers_win_over_the_models():
    request, _ = await call(
        "get_pet", headers={"x-trace": "ours"}, petId=1, lang="de", **{"X-Trace": "its"}
    )
    assert request.headers.get_list("X-Trace") == ["ours"]


async def test_an_error_is_a_failure_with_its_status_and_the_beginning_of_its_body():
    told = await failing("get_pet_2", httpx.Response(404, json={"detail": "x" * 9000}), petId=1)
    assert (
        told.startswith('get_pet_2 was answered with 404 Not Found: {"detail":"xxx')
        and len(told) < 2200
    )


async def test_a_binary_answer_is_named_not_shown():
    png = httpx.Response(200, content=b"\x89PNG\0" * 100, headers={"Content-Type": "image/png"})
    assert (await call("get_pet_2", png, petId=1))[1] == "200 OK\n[image/png, 500 bytes]"
    nameless = httpx.Response(200, content=b"\xff\xfe\x01" * 9)
    assert (await call("get_pet_2", nameless, petId=1))[1] == "200 OK\n[binary, 27 bytes]"


async def test_a_long_answer_is_cut_and_says_so():
    _, told = await call("get_pet_2", httpx.Response(200, text="x" * 100_000), petId=1)
    assert told.endswith("[cut: 100,000 characters in all]") and len(told) < 60_100


async def test_an_answer_without_an_end_is_not_read_to_it():
    async def endless():
        while True:
            yield b"x" * 65_536

    _, told = await call("get_pet_2", lambda _: httpx.Response(200, content=endless()), petId=1)
    assert len(told) < 60_200


async def test_a_small_answer_does_not_unpack_to_more_than_there_is_room_for():
    packed = gzip.compress(bytes(200_000_000))
    headers = {"Content-Encoding": "gzip", "Content-Type": "text/plain"}
    bomb = httpx.Response(200, headers=headers, stream=httpx.ByteStream(packed))
    tracemalloc.start()
    try:
        _, told = await call("get_pet_2", bomb, petId=1)
        assert told == "200 OK\n[text/plain, more than 1,048,576 bytes]"
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("utf-8", b"Rex"),
        ("identity, gzip", gzip.compress(b"Rex", mtime=0)),
        ("deflate", zlib.compress(b"Rex")),
        ("deflate", zlib.compress(b"Rex", wbits=-15)),
    ],
)
async def test_an_encoding_is_taken_as_servers_use_it(encoding, body):
    headers = {"Content-Encoding": encoding, "Content-Type": "text/plain"}
    answer = httpx.Response(200, headers=headers, stream=httpx.ByteStream(body))
    assert (await call("get_pet_2", answer, petId=1))[1] == "200 OK\nRex"


async def test_an_answer_without_a_body_is_none_whatever_its_encoding():
    answer = httpx.Response(204, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(b""))
    assert (await call("get_pet_2", answer, petId=1))[1].startswith("204")


async def test_a_redirect_within_the_host_is_followed_and_one_to_another_is_not():
    def within(request):
        if request.url.path.endswith("/"):
            return OK
        return httpx.Response(307, headers={"Location": f"{request.url.path}/"})

    request, _ = await call("get_pet_2", within, headers={"X-Key": "k"}, petId=1)
    assert request.url.path.endswith("/1/") and request.headers["X-Key"] == "k"
    for place in ("http://evil.example/?q=1", "http://127.0.0.1:9/", "https://127.0.0.1:8123/"):
        asked = []

        def away(request, place=place, asked=asked):
            asked.append(request)
            return httpx.Response(302, headers={"Location": place})

        assert "not followed" in await failing("get_pet_2", away, petId=1)
        assert len(asked) == 1


async def test_a_redirect_in_a_circle_ends():
    told = await failing(
        "get_pet_2", lambda r: httpx.Response(302, headers={"Location": str(r.url)}), petId=1
    )
    assert "not followed" in told


async def test_a_service_that_is_silent_or_slow_for_ever_is_given_up():
    async def dripping():
        while True:
            await asyncio.sleep(0.01)
            yield b"x"

    told = await failing(
        "get_pet_2", lambda _: httpx.Response(200, content=dripping()), petId=1, seconds=0.2
    )
    assert told == "get_pet_2 did not answer within 0.2 seconds."


async def test_a_service_that_is_not_there_is_one_sentence():
    with pytest.raises(ToolFailed) as failure:
        await call_operation(
            {**OPERATIONS["get_pet_2"], "url": "http://127.0.0.1:9/"}, {"petId": 1}, {}, 5
        )
    assert str(failure.value) == "get_pet_2 could not be called: the connection failed."


async def test_cookies_of_one_call_are_not_sent_with_the_next():
    await call("get_pet_2", httpx.Response(200, headers={"Set-Cookie": "a=1"}), petId=1)
    request, _ = await call("get_pet_2", petId=1)
    assert "Cookie" not in request.headers


async def test_a_body_of_very_many_values_is_given_as_it_came():
    values = f"[{'1, ' * 200_000}1]"
    answer = httpx.Response(200, text=values, headers={"Content-Type": "application/json"})
    _, told = await call("get_pet_2", answer, petId="7")
    assert told.startswith("200 OK\n[1, 1, 1")
