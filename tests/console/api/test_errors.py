import json
from typing import get_args, get_origin

import pytest
from pydantic import ValidationError

import console.urls  # noqa: F401  all operations, and with them the bodies of all
from tests.inner import ERRORS_MOST_BYTES as MOST_BYTES
from tests.inner import Body


def post_raw(api, raw, path="/conversations"):
    return api.client.generic("POST", f"/api{path}", data=raw, content_type="application/json")


@pytest.mark.parametrize("path", ["/api/nothing", "/api/plans/1/nothing", "/api/plans/x"])
def test_an_unknown_address_is_a_sentence_in_json(client, db, said, path):
    said(client.get(path), 404 if path != "/api/plans/x" else 401)


def test_an_id_that_is_no_number_is_a_sentence(alice, said):
    assert said(alice.get("/plans/x"), 422).startswith("id: ")


@pytest.mark.parametrize("id", ["0", "-1", "9" * 30])
def test_an_id_nobody_has_is_a_404(alice, said, id):
    said(alice.get(f"/conversations/{id}"), 404)


def test_a_method_the_address_does_not_take_is_a_sentence(alice, said):
    answer = alice.put("/conversations", {})
    assert "PUT" in said(answer, 405)
    assert "GET" in answer.headers["Allow"]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "body is missing"),
        (b"{", "not valid JSON"),
        (b"[]", "must be a JSON object"),
        (b"null", "agent is missing"),
        (b"\xff", "not JSON in UTF-8"),
        (b'{"agent": "\\ud800"}', "half of a character"),
        (b'{"agent": "a\\u0000b"}', "null character"),
        (b'{"agent": 3}', "agent: "),
        (b"{}", "agent is missing"),
        (b'{"agent": "a", "b": 1}', "b is not a field here"),
        (b'{"agent": ' + b"[" * 9_000 + b"]" * 9_000 + b"}", "nested too deeply"),
    ],
)
def test_a_body_that_cannot_be_used_is_a_sentence(alice, said, raw, words):
    assert words in said(post_raw(alice, raw), 422)


def test_two_faults_are_told_as_one_and_one_more(alice, said):
    told = said(post_raw(alice, b'{"x": 1, "y": 2}'), 422)
    assert told.endswith("(and 2 more).")


def test_a_backslash_that_people_typed_is_no_null_character(alice, said):
    conversation = alice.talk()
    answer = alice.patch(f"/conversations/{conversation}", {"title": "\\u0000 \u00e9"})
    assert answer.json()["title"] == "\\u0000 \u00e9"


def test_a_body_over_two_megabytes_is_a_sentence(alice, said):
    raw = json.dumps({"agent": "x" * MOST_BYTES}).encode()
    assert "2 MB" in said(post_raw(alice, raw), 413)


def test_a_long_body_that_hides_its_length_is_refused_too(alice, said):
    raw = json.dumps({"agent": "x" * MOST_BYTES}).encode()
    answer = alice.client.generic(
        "POST",
        "/api/conversations",
        data=raw,
        content_type="application/json",
        CONTENT_LENGTH="",
        headers={"Transfer-Encoding": "chunked"},
    )
    assert answer.status_code in (413, 422)


def test_every_operation_declares_how_it_refuses(client, db):
    document = client.get("/api/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            declared = set(operation["responses"])
            assert {"401", "403", "422"} <= declared, (method, path)
            if "{id}" in path or "{agent_id}" in path:
                assert "404" in declared, (method, path)
            if path.endswith("/plans/{id}") and method == "patch":
                assert {"409", "412", "428"} <= declared


def test_refusals_are_declared_in_their_one_shape(client, db):
    document = client.get("/api/openapi.json").json()
    shape = document["components"]["schemas"]["Problem"]
    assert shape["required"] == ["detail"]


def bodies():
    """What callers may send, by every operation."""
    waiting = [Body]
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        yield model


def kinds_in(annotation):
    yield annotation
    for each in get_args(annotation):
        yield from kinds_in(each)


def fields_of(*kinds):
    for model in bodies():
        for name, field in model.model_fields.items():
            if set(kinds) & set(kinds_in(field.annotation)):
                yield pytest.param(model, field.alias or name, id=f"{model.__name__}.{name}")


def is_refused(model, name, value):
    if get_origin(model.model_fields[name].annotation) is list:
        value = [value]
    try:
        model.model_validate({name: value})
    except ValidationError as wrong:
        return any(each["loc"][:1] == (name,) for each in wrong.errors())
    return False


@pytest.mark.parametrize("value", [True, "1"])
@pytest.mark.parametrize(("model", "name"), [*fields_of(int, float)])
def test_a_number_is_not_read_out_of_another_value(model, name, value):
    assert is_refused(model, name, value)


@pytest.mark.parametrize("value", [1, "yes", "true"])
@pytest.mark.parametrize(("model", "name"), [*fields_of(bool)])
def test_a_flag_is_not_read_out_of_another_value(model, name, value):
    assert is_refused(model, name, value)


def test_a_yes_to_true_is_none_to_version_1(alice):
    made = alice.post(
        "/plans", {"agent": "alice-writer", "title": "One", "subtasks": [{"name": "A"}]}
    )
    path = f"/plans/{made.json()['id']}"
    assert alice.post(f"{path}/approve", {"version": True}).status_code == 422
    assert alice.get(path).json()["approved_version"] is None
