"""Arguments that an admin has set for good: filled in, and never shown to a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from agents.tools.base import Arguments

Json = Mapping[str, object]


@dataclass(frozen=True)
class Injection:
    """What is filled in: arguments of the operation itself, and fields of its body.

    `is_whole_body` when every field of the body is filled in.
    """

    own: dict[str, object]
    inner: dict[str, object]
    body: str
    is_whole_body: bool

    def shown(self, parameters: Json) -> dict[str, object]:
        """The schema for the model. A body of which nothing is left is not shown either."""
        fields = fields_of(parameters)
        hidden = {*self.own}
        if self.inner:
            fields[self.body] = without(mapping(fields[self.body]), {*self.inner})
            hidden |= {self.body} if self.is_whole_body else set()
        return without({**parameters, "properties": fields}, hidden)

    def into(self, arguments: Arguments) -> Arguments:
        """The arguments of a call with what is filled in, whatever the model said there."""
        whole = {**arguments, **self.own}
        body = whole.get(self.body, {} if self.is_whole_body else None)
        if self.inner and isinstance(body, dict):
            whole[self.body] = {**body, **self.inner}
        return whole


def injection_for(stored: Json, inject: Json) -> Injection:
    """What of `inject` a stored operation takes, in the types it wants."""
    body = str(stored.get("body") or "")
    fields = fields_of(mapping(stored["parameters"]))
    inside = fields_of(mapping(fields.pop(body, {})))
    own = {name: fitted(inject[name], fields[name]) for name in inject if name in fields}
    rest = [name for name in inject if name in inside and name not in own]
    inner = {name: fitted(inject[name], inside[name]) for name in rest}
    return Injection(own, inner, body, bool(inside) and set(rest) == set(inside))


def without(schema: Json, hidden: set[str]) -> dict[str, object]:
    """An object schema without some of its properties."""
    fields = {name: each for name, each in fields_of(schema).items() if name not in hidden}
    whole = {**schema, "properties": fields}
    if isinstance(required := schema.get("required"), list):
        whole["required"] = [name for name in required if name not in hidden]
    return whole


def fitted(value: object, schema: object) -> object:
    """An injected text as the number, flag or list that the schema asks for."""
    kinds = mapping(schema).get("type")
    wanted = {str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind}
    if not isinstance(value, str) or "string" in wanted or not wanted - {"null"}:
        return value
    try:
        read: object = json.loads(value)
    except ValueError:
        return value
    return read


def fields_of(schema: Json) -> dict[str, object]:
    return dict(mapping(schema.get("properties")))


def mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
