"""The parameters of a tool as one plain object, which is all that servers of models take.

Anthropic and OpenAI refuse the whole request, whatever is asked, for one tool whose schema is put
together at its top: `input_schema does not support oneOf, allOf, or anyOf at the top level`.
"""

from __future__ import annotations

Json = dict[str, object]

COMBINED = ("allOf", "anyOf", "oneOf")
REFUSED = {*COMBINED, "enum", "not"}


def plain_object(schema: Json) -> Json:
    """The schema without what is refused at its top.

    What may be given in one of several forms may then be given in any of them, and the tool itself
    refuses what does not go together.
    """
    if not REFUSED & schema.keys():
        return schema
    properties, required = dict(mapping(schema.get("properties"))), listed(schema.get("required"))
    for keyword in COMBINED:
        parts = [plain_object(mapping(part)) for part in listed(schema.get(keyword))]
        for part in parts:
            for name, value in mapping(part.get("properties")).items():
                properties[name] = either(properties[name], value) if name in properties else value
        needed = [listed(part.get("required")) for part in parts]
        is_needed = any if keyword == "allOf" else all
        names = [name for each in needed for name in each if name not in required]
        required += [name for name in names if is_needed(name in each for each in needed)]
    own = {key: value for key, value in schema.items() if key not in REFUSED}
    whole = {**own, "type": "object", "properties": properties}
    return {**whole, "required": list(dict.fromkeys(required))} if required else whole


def either(one: object, other: object) -> object:
    """A value of any of these forms; the first may be of several already."""
    forms = listed(mapping(one).get("anyOf")) if mapping(one).keys() == {"anyOf"} else [one]
    return one if other in forms else {"anyOf": [*forms, other]}


def mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[object]:
    return [*value] if isinstance(value, list) else []
