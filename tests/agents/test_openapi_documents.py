"""Documents of every version, in JSON and YAML, however they are registered."""

import json

import httpx
import pytest
import yaml

from agents.errors import Invalid
from tests.agents.petstore import petstore
from tests.inner import (
    Job,
    ToolFailed,
    call_operation,
    http,
    operations_of,
    parsed,
    read_operations,
)

URL = "https://pets.example"
SWAGGER = {
    "swagger": "2.0",
    "host": "pets.example",
    "basePath": "/v2",
    "schemes": ["http", "https"],
    "parameters": {"limit": {"name": "limit", "in": "query", "type": "integer"}},
    "definitions": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}},
    "paths": {
        "/pet/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "type": "integer"}],
            "get": {"operationId": "getPet"},
            "post": {
                "operationId": "uploadImage",
                "consumes": ["multipart/form-data"],
                "parameters": [
                    {"name": "note", "in": "formData", "type": "string", "required": True},
                    {"name": "file", "in": "formData", "type": "file", "description": "A picture."},
                ],
            },
        },
        "/pet": {
            "get": {
                "operationId": "findPets",
                "parameters": [
                    {"$ref": "#/parameters/limit"},
                    {
                        "name": "status",
                        "in": "query",
                        "type": "array",
                        "items": {"type": "string", "enum": ["sold", "new"]},
                        "collectionFormat": "multi",
                    },
                    {"name": "ids", "in": "query", "type": "array", "items": {"type": "integer"}},
                ],
            },
            "post": {
                "operationId": "addPet",
                "consumes": ["application/xml", "application/json"],
                "parameters": [
                    {
                        "name": "pet",
                        "in": "body",
                        "required": True,
                        "schema": {"$ref": "#/definitions/Pet"},
                    }
                ],
            },
            "put": {
                "operationId": "renamePet",
                "parameters": [{"name": "name", "in": "formData", "type": "string"}],
            },
            "delete": {
                "operationId": "odd",
                "parameters": [
                    {
                        "name": "x",
                        "in": "query",
                        "type": "array",
                        "items": {},
                        "collectionFormat": "tsv",
                    }
                ],
            },
        },
    },
}


def serving(**texts):
    """A host on which only these paths are there."""

    def respond(request):
        text = texts.get(request.url.path)
        return httpx.Response(404) if text is None else httpx.Response(200, text=text)

    return http.use(httpx.MockTransport(respond))


async def read(url, **texts):
    with serving(**texts):
        return await read_operations(url, None, {}, 58)


async def sent(operation, read_file=None, **arguments):
    """The request that a call of it sends."""
    seen = []

    def respond(request):
        seen.append(request)
        return httpx.Response(200, json={})

    with http.use(httpx.MockTransport(respond)):
        more = {"read_file": read_file} if read_file else {}
        await call_operation(operation, arguments, {}, 5, **more)
    return seen[0]


def named(document, url=URL):
    return {each["name"]: each for each in operations_of(document, url, "", 58).operations}


# Swagger 2.0


async def test_swagger_2_is_called_at_its_base_path_by_the_registered_scheme():
    pets = named(SWAGGER)
    request = await sent(pets["findPets"], limit=3, status=["sold", "new"], ids=[1, 2])
    address = f"{URL}/v2/pet?limit=3&status=sold&status=new&ids=1%2C2"
    assert str(request.url) == address


async def test_a_body_of_swagger_2_is_sent_in_the_type_that_is_understood_best():
    request = await sent(named(SWAGGER)["addPet"], body={"name": "Rex"})
    assert request.headers["Content-Type"] == "application/json"
    assert json.loads(request.content) == {"name": "Rex"}


async def test_a_form_of_swagger_2_is_a_form_and_one_with_a_file_goes_out_in_parts():
    pets = named(SWAGGER)
    assert (await sent(pets["renamePet"], body={"name": "a b"})).content == b"name=a+b"
    upload = pets["uploadImage"]
    fields = upload["parameters"]["properties"]["body"]
    assert fields["required"] == ["note"] and fields["properties"]["file"]["type"] == "string"
    assert "workspace" in fields["properties"]["file"]["description"]
    request = await sent(
        upload, lambda path, largest: b"\x89PNG", id=1, body={"note": "n", "file": "a/b.png"}
    )
    assert b'name="file"; filename="b.png"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n' in (
        request.content
    )
    assert b'name="note"\r\n\r\nn\r\n' in request.content


def test_a_list_that_cannot_be_written_costs_its_operation_alone():
    found = operations_of(SWAGGER, URL, "", 58)
    assert [each["operation"] for each in found.skipped] == ["DELETE /pet"]
    assert "tsv" in found.skipped[0]["why"] and len(found.operations) == 5


# What is wrong in one place


def test_a_bad_operation_is_left_out_and_named_and_the_others_stay():
    document = petstore()
    document["paths"]["/items"] = {
        "get": {},
        "post": {"requestBody": {"content": {"application/json": {"schema": None}}}},
    }
    document["paths"]["/lost"] = {"$ref": "#/nowhere"}
    found = operations_of(document, URL, "", 58)
    assert len(found.operations) == 7
    assert [each["operation"] for each in found.skipped] == ["POST /items", "/lost"]
    assert "not an object" in found.skipped[0]["why"] and "#/nowhere" in found.skipped[1]["why"]


def path_with(**parameter):
    return {"get": {"parameters": [{"name": "id", "in": "path", **parameter}]}}


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ({"get": {}}, "does not say what {id}"),
        ({"get": {"parameters": [{"name": "id", "in": "query"}]}}, "does not say what {id}"),
        (path_with(style="label"), "{id} in the style label"),
        (path_with(style="matrix"), "{id} in the style matrix"),
    ],
)
def test_an_operation_whose_path_cannot_be_filled_in_is_left_out(item, why):
    """It was offered, and each call of it refused."""
    document = petstore()
    document["paths"]["/lost/{id}"] = item
    found = operations_of(document, URL, "", 58)
    assert [each["operation"] for each in found.skipped] == ["GET /lost/{id}"]
    assert why in found.skipped[0]["why"]


# YAML


async def test_yaml_is_read_as_its_values_are_in_json():
    text = """
openapi: 3.0.3
paths:
  /a:
    get:
      operationId: look
      parameters:
        - {name: country, in: query, schema: {enum: [NO, on, 010, 2024-01-01, 1:30, 1.5, true]}}
        - &limit {name: limit, in: query, schema: {type: integer, default: 10}}
      responses: {200: {description: ok}}
    post: {parameters: [*limit]}
"""
    found = await read(URL, **{"/openapi.json": text})
    look, post = found.operations
    enum = look["parameters"]["properties"]["country"]["enum"]
    assert enum == ["NO", "on", 10, "2024-01-01", "1:30", 1.5, True]
    assert post["parameters"]["properties"]["limit"]["default"] == 10


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (
            "a: &a0 [x, x, x, x, x, x, x, x, x]\n"
            + "\n".join(f"b{n}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]" for n in range(9)),
            "more than 600,000",
        ),
        ("a: &a [*a]", "more than 600,000"),
        ("openapi: 3.0.0\npaths: {/a: !!python/object/apply:os.system [id]}", "neither"),
        ("[" * 200_000, "nested too deeply"),
        ("a: " + "{a: " * 200_000, "nested too deeply"),
    ],
    ids=["an alias bomb", "an alias of itself", "an object of Python", "depth", "depth in YAML"],
)
@pytest.mark.sampled(3)
async def test_yaml_that_means_harm_is_one_sentence(text, word):
    with pytest.raises(Invalid, match=word):
        await read(URL, **{"/openapi.json": text})


# Addresses


@pytest.mark.parametrize("path", ["/docs/api.yaml", "/v3/api-docs"])
async def test_an_address_that_is_the_document_itself_is_taken(path):
    text = yaml.safe_dump(petstore())
    found = await read(f"{URL}{path}", **{path: text})
    assert found.operations[0]["url"].startswith(f"{URL}/live/v2/")


async def test_calls_go_to_the_documents_own_host_by_the_path_it_names():
    document = petstore(servers=[{"url": "https://elsewhere.example/v2"}])
    found = await read(f"{URL}/docs/api.json", **{"/docs/api.json": json.dumps(document)})
    assert found.operations[0]["url"].startswith(f"{URL}/v2/pets")


async def test_where_there_is_no_document_the_usual_address_is_named():
    with pytest.raises(Invalid, match=r"/api/openapi\.json answered 404"):
        await read(f"{URL}/api")


# Size


async def test_a_small_document_that_means_a_huge_one_is_one_sentence():
    """Each operation refers to the same long list, in hundreds of places."""
    names = {f"n{n}": {"$ref": "#/components/schemas/Long"} for n in range(400)}
    body = {"content": {"application/json": {"schema": {"properties": names}}}}
    paths = {f"/{n}": {"post": {"requestBody": body}} for n in range(8)}
    long = {"enum": [f"{n:0100}" for n in range(1_000)]}
    document = petstore(paths=paths, components={"schemas": {"Long": long}})
    assert len(json.dumps(document)) < 500_000
    with pytest.raises(Invalid, match="operations that are too large"):
        await parsed(json.dumps(document).encode(), Job("It", URL, "", 50))


# Files


def upload(schema, **media):
    body = {"content": {"multipart/form-data": {"schema": schema, **media}}}
    return named(petstore(paths={"/f": {"post": {"operationId": "send", "requestBody": body}}}))[
        "send"
    ]


@pytest.mark.parametrize(
    ("field", "encoding"),
    [
        ({"type": "string", "format": "binary"}, {}),
        ({"type": "string", "contentMediaType": "application/octet-stream"}, {}),
        ({"anyOf": [{"type": "string", "format": "binary"}, {"type": "null"}]}, {}),
        ({}, {"contentType": "image/png, image/jpeg"}),
    ],
)
async def test_a_file_part_is_a_path_for_the_model_and_goes_out_as_the_file(field, encoding):
    schema = {"type": "object", "properties": {"f": field, "n": {"type": "integer"}}}
    operation = upload(schema, encoding={"f": encoding})
    shown = operation["parameters"]["properties"]["body"]["properties"]["f"]
    assert shown["type"] == "string" and "workspace" in shown["description"]
    request = await sent(operation, lambda path, most: b"bytes", body={"f": "notes/a.txt", "n": 3})
    assert b'filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nbytes\r\n' in request.content
    assert b'name="n"\r\n\r\n3\r\n' in request.content


@pytest.mark.parametrize("is_optional", [False, True])
async def test_several_files_are_read_and_their_sizes_add_up(is_optional):
    field = {"type": "array", "items": {"type": "string", "format": "binary"}}
    field = {"anyOf": [field, {"type": "null"}]} if is_optional else field
    operation = upload({"type": "object", "properties": {"files": field}})
    limits = []

    def read_file(path, largest):
        limits.append(largest)
        return b"12345"

    request = await sent(operation, read_file, body={"files": ["a", "b"]})
    assert request.content.count(b"12345") == 2 and limits[0] - limits[1] == 5


async def test_texts_in_parts_are_no_files():
    schema = {
        "type": "object",
        "properties": {
            "json": {"type": "string", "contentMediaType": "application/json"},
            "base64": {
                "type": "string",
                "contentMediaType": "image/png",
                "contentEncoding": "base64",
            },
        },
    }
    assert upload(schema)["files"] == []


async def test_a_body_of_bytes_is_a_file():
    body = {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}
    operation = named(petstore(paths={"/f": {"put": {"operationId": "put", "requestBody": body}}}))
    request = await sent(operation["put"], lambda path, most: path.encode(), body="a.bin")
    assert request.content == b"a.bin"
    assert request.headers["Content-Type"] == "application/octet-stream"


async def test_a_call_without_files_at_hand_sends_none():
    operation = upload({"type": "object", "properties": {"f": {"format": "binary"}}})
    with pytest.raises(ToolFailed, match="no files"):
        await sent(operation, body={"f": "../../etc/passwd"})
