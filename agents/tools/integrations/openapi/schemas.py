"""Schemas of 3.0 and 3.1 as one plain JSON Schema without references, for the model."""

from __future__ import annotations

from typing import TypeGuard
from urllib.parse import unquote

from agents.errors import Invalid

Json = dict[str, object]

DEEPEST = 24
MOST_PARTS = 3000  # of one operation: references multiply
LONGEST_CHAIN = 20  # of references
LONGEST_DESCRIPTION = 1000

MAPS = ("properties", "patternProperties", "dependentSchemas")
LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
ONES = ("items", "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties")
PLAIN = (
    "type", "enum", "const", "format", "default", "required", "pattern", "minLength", "maxLength",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
    "maxItems", "uniqueItems", "minProperties", "maxProperties", "contentMediaType",
    "contentEncoding",
)  # fmt: skip
OBJECT_KEYS = {"type", "properties", "required", "description", "additionalProperties"}


class Inliner:
    """Puts what is referred to in its place. A cycle is cut to `{}`, and so is what is too much."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.parts = 0

    def schema(self, value: object, place: str, inside: tuple[str, ...] = ()) -> Json:
        self.parts += 1
        if isinstance(value, bool):
            return {} if value else {"not": {}}
        if self.parts > MOST_PARTS or len(inside) > DEEPEST:
            return {}
        raw = mapping(value, place)
        if not is_reference(raw):
            return merged(self.plain(raw, place, (*inside, "")))
        reference = str(raw["$ref"])
        if reference in inside:
            return {}
        target = self.document.target(reference)
        if isinstance(target, dict):  # what stands beside a reference counts too, since 3.1
            target = {**target, **{key: each for key, each in raw.items() if key != "$ref"}}
        return self.schema(target, place, (*inside, reference))

    def plain(self, raw: Json, place: str, inside: tuple[str, ...]) -> Json:
        schema = {key: raw[key] for key in PLAIN if key in raw}
        if description := text(raw.get("description")):
            schema["description"] = description[:LONGEST_DESCRIPTION]
        for key in MAPS:
            if key in raw:
                schema[key] = {
                    name: self.schema(each, f"{place}.{key}.{name}", inside)
                    for name, each in mapping(raw[key], f"{place}.{key}").items()
                    # What only ever comes from the server is left out.
                    if not (isinstance(each, dict) and each.get("readOnly") is True)
                }
        for key in LISTS:
            if key in raw:
                parts = sequence(raw[key], f"{place}.{key}")
                schema[key] = [self.schema(each, f"{place}.{key}", inside) for each in parts]
        for key in ONES:
            if key in raw:
                one = raw[key]
                is_plain = isinstance(one, bool)
                schema[key] = one if is_plain else self.schema(one, f"{place}.{key}", inside)
        return modernized(schema, raw)


def modernized(schema: Json, raw: Json) -> Json:
    """What 3.0 says in its own way: nullable, and limits that are excluded by a flag."""
    if raw.get("nullable") is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list) and None not in sequence(schema["enum"], ""):
            schema["enum"] = [*sequence(schema["enum"], ""), None]
    for flag, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(excluded := schema.get(flag), bool):
            del schema[flag]
            if excluded and limit in schema:
                schema[flag] = schema.pop(limit)
    known = schema.get("properties")
    if isinstance(schema.get("required"), list) and isinstance(known, dict) and known:
        left_out = set(mapping_or_empty(raw.get("properties"))) - set(known)
        required = sequence(schema["required"], "")
        schema["required"] = [name for name in required if name not in left_out]
    return schema


def merged(schema: Json) -> Json:
    """`allOf` of plain objects as one object: not every model server follows allOf."""
    parts = schema.get("allOf")
    if not isinstance(parts, list) or not all(
        isinstance(each, dict) and set(each) <= OBJECT_KEYS for each in parts
    ):
        return schema
    own = {key: value for key, value in schema.items() if key != "allOf"}
    whole = {key: value for each in [*parts, own] for key, value in each.items()}
    properties: Json = {}
    required: list[object] = []
    for each in [*parts, own]:
        properties |= mapping(each.get("properties", {}), "properties")
        required += [name for name in sequence(each.get("required"), "") if name not in required]
    if properties:
        whole |= {"type": "object", "properties": properties}
    if required:
        whole["required"] = required
    return whole


class Document:
    """A parsed document. Only references inside it are followed."""

    def __init__(self, root: Json) -> None:
        self.root = root

    def resolved(self, value: object, place: str) -> Json:
        """The object at this place, through its references. Raises Invalid."""
        for _ in range(LONGEST_CHAIN):
            whole = mapping(value, place)
            if not is_reference(whole):
                return whole
            value = self.target(str(whole["$ref"]))
        raise Invalid(f"{place} of the document refers to itself.")

    def target(self, reference: str) -> object:
        """What a reference like `#/components/schemas/Pet` points to. Raises Invalid."""
        if not reference.startswith("#"):
            raise Invalid(
                f"The document refers to another one ({reference[:200]}); "
                "only references inside it are followed."
            )
        here: object = self.root
        for step in reference.removeprefix("#").split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(here, list) and name.isdecimal() and int(name) < len(here):
                here = here[int(name)]
            else:
                here = here.get(name) if isinstance(here, dict) else None
        if here is None or (reference != "#" and not reference.startswith("#/")):
            raise Invalid(f"The document refers to {reference[:200]}, which is not in it.")
        return here


def is_reference(value: object) -> TypeGuard[Json]:
    return isinstance(value, dict) and isinstance(value.get("$ref"), str)


def mapping(value: object, place: str) -> Json:
    if not isinstance(value, dict):
        raise Invalid(f"{place} of the document is not an object.")
    return value


def mapping_or_empty(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def sequence(value: object, place: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Invalid(f"{place} of the document is not a list.")
    return value


def text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
