import json

import httpx
import pytest

from agents.errors import Invalid
from tests.agents.petstore import many, petstore
from tests.inner import http, operations_of, read_operations

URL = "https://pets.example"


def read(document=None, url=URL, read_from=f"{URL}/openapi.json", longest=58):
    found = operations_of(document or petstore(), url, read_from, longest)
    return {operation["name"]: operation for operation in found.operations}


def refused(document):
    with pytest.raises(Invalid) as refusal:
        read(document)
    told = str(refusal.value)
    assert told.endswith(".") and "\n" not in told
    return told


def test_every_operation_has_a_safe_and_unique_name():
    assert list(read()) == [
        "get_pet",
        "put_pets_petId",
        "get_pet_2",
        "findPets",
        "addPet",
        "post_login",
    ]


def test_a_name_without_a_safe_letter_and_one_that_is_too_long_still_differ():
    paths = {f"/{n}": {"get": {"operationId": "x" * 80 + str(n)}} for n in range(3)}
    paths["/z"] = {"get": {"operationId": "获取"}}
    names = list(read(petstore(paths=paths), longest=20))
    assert len(set(names)) == 4 and all(len(name) <= 20 for name in names)
    assert names[3] == "unnamed"


def test_reading_methods_are_read_only_and_those_that_may_be_repeated_idempotent():
    operations = read()
    marks = {name: (o["read_only"], o["idempotent"]) for name, o in operations.items()}
    assert marks["get_pet"] == (True, True)
    assert marks["put_pets_petId"] == marks["get_pet_2"] == (False, True)
    assert marks["addPet"] == (False, False)


def test_a_paths_parameters_count_for_its_operations_unless_these_override_them():
    schema = read()["get_pet"]["parameters"]
    assert schema["properties"]["petId"] == {"type": "integer"}
    assert schema["properties"]["lang"] == {"enum": ["en", "de"]}
    assert schema["required"] == ["petId", "lang"]
    assert read()["get_pet_2"]["parameters"]["required"] == ["petId"]


def test_headers_that_belong_to_the_request_are_no_parameters():
    assert set(read()["get_pet"]["parameters"]["properties"]) == {
        "petId",
        "lang",
        "X-Trace",
        "session",
    }


def test_references_are_put_in_place_cycles_cut_and_all_of_merged():
    body = read()["addPet"]["parameters"]["properties"]["body"]
    assert body["required"] == ["name", "kind"]
    assert body["properties"] == {
        "name": {"type": "string"},
        "kind": {"type": ["string", "null"]},
        "parent": {},
        "$ref": {"type": "string"},
        "any~thing/": {},
    }
    assert "$ref" not in json.dumps({**body, "properties": {}})


def test_what_3_0_says_in_its_own_way_is_plain_json_schema():
    schema = {
        "type": "integer",
        "nullable": True,
        "minimum": 3,
        "exclusiveMinimum": True,
        "example": 4,
        "xml": {},
    }
    paths = {"/a": {"get": {"parameters": [{"name": "n", "in": "query", "schema": schema}]}}}
    read_schema = read(petstore(openapi="3.0.3", paths=paths))["get_a"]["parameters"]["properties"][
        "n"
    ]
    assert read_schema == {"type": ["integer", "null"], "exclusiveMinimum": 3}


def test_references_that_multiply_do_not_make_a_document_of_their_own():
    schemas = {
        f"s{n}": {"properties": {k: {"$ref": f"#/components/schemas/s{n + 1}"} for k in "abcdefgh"}}
        for n in range(20)
    }
    schemas["s20"] = {"type": "string"}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/s0"}}}}
    document = petstore(
        paths={"/a": {"post": {"requestBody": body}}}, components={"schemas": schemas}
    )
    assert len(json.dumps(read(document))) < 200_000


def test_json_goes_before_forms_before_anything_else():
    operations = read()
    assert operations["addPet"]["body_type"] == "application/json"
    assert operations["put_pets_petId"]["body_type"] == "application/json"
    assert operations["post_login"]["body_type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("servers", "url", "read_from", "base"),
    [
        ([{"url": "/v1"}], URL, f"{URL}/openapi.json", f"{URL}/v1"),
        ([{"url": "v1/"}], f"{URL}/api", f"{URL}/api/openapi.json", f"{URL}/api/v1"),
        ([{"url": f"{URL}:443/v1"}], URL, "", f"{URL}:443/v1"),
        ([{"url": "https://elsewhere.example/v1"}], URL, f"{URL}/openapi.json", URL),
        ([{"url": "http://pets.example/v1"}], URL, f"{URL}/openapi.json", URL),
        ([{"url": "/v1"}], URL, "https://docs.example/a.json", f"{URL}/v1"),
        ([], f"{URL}/sub/", f"{URL}/sub/openapi.json", f"{URL}/sub"),
        (None, URL, "", URL),
    ],
)
def test_requests_go_to_the_registered_host_whatever_server_the_document_names(
    servers, url, read_from, base
):
    document = petstore(servers=servers)
    assert read(document, url, read_from)["findPets"]["url"] == f"{base}/pets"


def test_paths_that_already_hold_the_registered_path_do_not_hold_it_twice():
    document = petstore(servers=[], paths={"/api/a": {"get": {}}})
    assert read(document, f"{URL}/api")["get_api_a"]["url"] == f"{URL}/api/a"


def test_the_servers_of_an_operation_go_before_those_of_the_document():
    paths = {
        "/a": {"servers": [{"url": "/path"}], "get": {"servers": [{"url": "/own"}]}, "put": {}}
    }
    operations = read(petstore(paths=paths))
    assert [o["url"] for o in operations.values()] == [f"{URL}/own/a", f"{URL}/path/a"]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"openapi": "2.0"}, "OpenAPI 3"),
        ({"openapi": None, "swagger": "1.2"}, "Swagger 2.0"),
        ({"openapi": 3}, "OpenAPI 3"),
        ({"paths": []}, "paths"),
        ({"paths": None}, "paths"),
        ({"paths": {"/a": "x"}}, "paths[/a]"),
        ({"paths": {"/a": {"get": []}}}, "GET /a"),
        ({"paths": {"/a": {"get": {"parameters": {}}}}}, "parameters"),
        ({"paths": {"/a": {"get": {"parameters": ["x"]}}}}, "parameter"),
        ({"paths": {"/a": {"get": {"parameters": [{"name": "x"}]}}}}, "`in`"),
        ({"paths": {"/a": {"post": {"requestBody": 3}}}}, "requestBody"),
        ({"paths": {"/a": {"$ref": "#/paths/~1a"}}}, "itself"),
        ({"paths": {"/a": {"$ref": "other.json#/a"}}}, "other.json"),
        ({"paths": {"/a": {"$ref": "#/nowhere/at/all"}}}, "#/nowhere/at/all"),
        ({"servers": "x"}, "servers"),
        ({"paths": {}}, "has no operations to call: nothing stands below its paths."),
    ],
)
def test_a_document_of_a_wrong_shape_is_one_sentence_that_names_the_place(changes, word):
    assert word in refused(petstore(**changes))


def test_two_thousand_operations_are_read():
    assert len(read(many(2000))) == 2000


def answering(answer, seen=None):
    def respond(request):
        (seen if seen is not None else []).append(request)
        return answer if isinstance(answer, httpx.Response) else answer(request)

    return http.use(httpx.MockTransport(respond))


async def test_the_document_is_found_beside_the_url_and_asked_for_with_the_headers():
    seen = []
    with answering(httpx.Response(200, json=petstore()), seen):
        found = await read_operations(f"{URL}/", None, {"X-Key": "k-secret"}, 58)
    assert str(seen[0].url) == f"{URL}/openapi.json" and seen[0].headers["X-Key"] == "k-secret"
    assert len(found.operations) == 6 and found.skipped == []


async def test_a_document_elsewhere_is_read_without_the_headers():
    seen = []
    with answering(httpx.Response(200, json=petstore()), seen):
        found = await read_operations(
            URL, "https://docs.example/pets.json", {"X-Key": "k-secret"}, 58
        )
    assert "X-Key" not in seen[0].headers
    assert found.operations[0]["url"].startswith(f"{URL}/live/v2/")


def lost(request):
    raise httpx.ConnectError("secret-in-here")


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (httpx.Response(404), "404 Not Found"),
        (httpx.Response(200, text="openapi: 3.0.0\npaths: {]"), "YAML (line 2"),
        (httpx.Response(200, text="<!doctype html>\n<p>a: b: c"), "YAML"),
        (httpx.Response(200, text="[" * 100_000), "nested too deeply"),
        (httpx.Response(200, text="a: " + "[" * 1_000_000), "nested too deeply"),
        (httpx.Response(200, json=[1]), "another value"),
        (httpx.Response(200, json=petstore(paths={})), "no operations"),
        (httpx.Response(302, headers={"Location": "https://evil.example/?t=1"}), "evil.example/"),
        (httpx.Response(200, json=petstore(tags=[1] * 600_000)), "600,000 JSON values"),
        (httpx.Response(200, content=b" " * (21 * 1024 * 1024)), "20 MB"),
        (lost, "the connection failed"),
    ],
)
@pytest.mark.sampled(5)
async def test_a_document_that_cannot_be_read_is_one_sentence_without_the_query(answer, word):
    with answering(answer), pytest.raises(Invalid) as refusal:
        await read_operations(URL, f"{URL}/spec.json?key=topsecret", {}, 58)
    assert (
        word in str(refusal.value)
        and "secret" not in str(refusal.value)
        and "t=1" not in str(refusal.value)
    )


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "pets.example", "http://", "file:///etc/passwd", "http://[::1", "http://x:99999"],
)
async def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(Invalid):
        await read_operations(url, None, {}, 58)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"webhooks": {"newPet": {"post": {}}}}, "it describes webhooks alone, which the service"),
        ({"components": {"schemas": {}}}, "nothing stands below its paths"),
        ({"paths": {}, "webhooks": {"newPet": {"post": {}}}}, "it describes webhooks alone"),
    ],
)
def test_a_document_without_operations_says_so(document, why):
    with pytest.raises(Invalid) as refusal:
        read({"openapi": "3.1.0", "info": {}, **document})
    assert str(refusal.value).startswith(f"The document has no operations to call: {why}")
