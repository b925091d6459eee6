"""Schemas of tools that are put together at their top, as MCP servers offer them."""

from __future__ import annotations

import pytest

from tests.inner import Tool, ToolResult

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def sent(schema: dict[str, object]) -> dict[str, object]:
    """What a request says of a tool with these parameters."""

    async def run(arguments: dict[str, object]) -> ToolResult:
        return ToolResult("Done.")

    function = Tool("attach", "Attaches.", schema, run).as_function()["function"]
    assert isinstance(function, dict)
    parameters = function["parameters"]
    assert isinstance(parameters, dict)
    return parameters


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_forms_of_arguments_become_one_object_with_what_all_of_them_need(keyword: str) -> None:
    forms = [
        {"properties": {"page": TEXT, "content": TEXT}, "required": ["page", "content"]},
        {"properties": {"page": TEXT, "url": TEXT}, "required": ["page", "url"]},
    ]
    assert sent({"type": "object", keyword: forms, "additionalProperties": False}) == {
        "type": "object",
        "additionalProperties": False,
        "properties": {"page": TEXT, "content": TEXT, "url": TEXT},
        "required": ["page"],
    }


def test_all_parts_of_an_object_are_one() -> None:
    parts = [{"required": ["a"]}, {"properties": {"b": NUMBER}, "required": ["b"]}]
    assert sent({"type": "object", "properties": {"a": TEXT}, "allOf": parts}) == {
        "type": "object",
        "properties": {"a": TEXT, "b": NUMBER},
        "required": ["a", "b"],
    }


def test_a_property_that_differs_from_form_to_form_may_be_any_of_them() -> None:
    kinds = [{"const": "page"}, {"const": "block"}, {"const": "page"}, {"const": "file"}]
    forms = [{"properties": {"kind": kind}, "required": ["kind"]} for kind in kinds]
    assert sent({"type": "object", "properties": {}, "oneOf": forms}) == {
        "type": "object",
        "properties": {"kind": {"anyOf": [kinds[0], kinds[1], kinds[3]]}},
        "required": ["kind"],
    }


def test_what_no_server_refuses_is_sent_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {"anyOf": [TEXT, NUMBER]}}, "required": ["a"]}
    assert sent(schema) == schema
    assert sent({**schema, "not": {"required": ["b"]}}) == schema
