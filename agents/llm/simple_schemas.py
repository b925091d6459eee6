"""Schemas of tools with the few keywords that every server follows.

Gemini refuses the whole request for a keyword it does not know, a list without `items` or an enum
of numbers in any tool; servers that make grammars of schemas refuse others. What is left out here
is still checked by the tool itself.
"""

from __future__ import annotations

from agents.llm.reply import Json, as_dict

COPIED = ("description", "required")


def with_simple_schemas(tools: list[Json]) -> list[Json]:
    """Tools as they are sent, in the form of either API."""
    return [with_simple_schema(tool) for tool in tools]


def with_simple_schema(tool: Json) -> Json:
    if "input_schema" in tool:
        return {**tool, "input_schema": simple(as_dict(tool["input_schema"]))}
    if "function" not in tool:  # of the Responses API
        return {**tool, "parameters": simple(as_dict(tool.get("parameters")))}
    function = as_dict(tool.get("function"))
    parameters = simple(as_dict(function.get("parameters")))
    return {**tool, "function": {**function, "parameters": parameters}}


def simple(schema: Json) -> Json:
    """One form of what may have several, with no more said of it than its kind and its words."""
    forms = (
        listed(schema.get("anyOf")) or listed(schema.get("oneOf")) or listed(schema.get("allOf"))
    )
    known = [form for form in map(as_dict, forms) if form.get("type") != "null"]
    if known:
        schema = {**known[0], **{key: value for key, value in schema.items() if value != forms}}
    found = {key: schema[key] for key in COPIED if key in schema}
    kind = kind_of(schema)
    choices = [schema["const"]] if "const" in schema else listed(schema.get("enum"))
    if kind == "string" and choices and all(isinstance(each, str) for each in choices):
        found["enum"] = choices
    if kind == "array":
        found["items"] = simple(as_dict(schema.get("items")))
    fields = {
        name: simple(as_dict(each)) for name, each in as_dict(schema.get("properties")).items()
    }
    if kind == "object" and fields:
        found["properties"] = fields
    required = [name for name in listed(found.pop("required", None)) if name in fields]
    return {"type": kind, **found, **({"required": required} if required else {})}


def kind_of(schema: Json) -> str:
    kinds = schema.get("type")
    named = [each for each in (kinds if isinstance(kinds, list) else [kinds]) if each != "null"]
    if named and isinstance(named[0], str):
        return named[0]
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else "string"


def listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
