"""An operation of Swagger 2.0 as OpenAPI 3 would say it."""

from __future__ import annotations

from agents.errors import Invalid
from agents.normalization import split_url
from agents.tools.integrations.openapi.schemas import Document, Json, sequence, text

FORM, FILES = "application/x-www-form-urlencoded", "multipart/form-data"
# How lists are written; a query repeats the name where it says `multi`.
LISTS: dict[str, Json] = {
    "csv": {"explode": False},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
    "multi": {"explode": True},
}
OUTSIDE_OF_SCHEMA = ("name", "in", "required", "description", "collectionFormat")


def server_of(root: Json, url: str) -> Json:
    """The one server, by the scheme that was registered where the document knows it."""
    schemes = [text(each) for each in sequence(root.get("schemes"), "schemes")]
    own, host, path = split_url(url).scheme, text(root.get("host")), text(root.get("basePath"))
    scheme = own if own in schemes or not schemes else schemes[0]
    path = f"/{path.strip('/')}"
    return {"url": f"{scheme}://{host}{path}" if host else path}


def modern(document: Document, operation: Json, item: Json, place: str) -> Json:
    """The operation with parameters and a request body of version 3. Raises Invalid."""
    found: dict[tuple[str, str], Json] = {}
    for holder in (item, operation):
        for value in sequence(holder.get("parameters"), f"{place}: parameters"):
            parameter = document.resolved(value, f"{place}: a parameter")
            found[text(parameter.get("name")), text(parameter.get("in"))] = parameter
    holders = (operation, document.root)
    named = next((holder["consumes"] for holder in holders if holder.get("consumes")), None)
    types = [text(each) for each in sequence(named, f"{place}: consumes")]
    fields = {name: each for (name, where), each in found.items() if where == "formData"}
    bodies = [each for (_, where), each in found.items() if where == "body"]
    others = [each for (_, where), each in found.items() if where not in ("body", "formData")]
    whole = {key: each for key, each in operation.items() if key != "parameters"}
    whole["parameters"] = [modern_parameter(each, place) for each in others]
    if fields:
        whole["requestBody"] = form(fields, types)
    elif bodies:
        media = {kind: {"schema": bodies[0].get("schema", True)} for kind in types}
        content = media or {"application/json": {"schema": bodies[0].get("schema", True)}}
        whole["requestBody"] = {**bodies[0], "content": content}
    return whole


def modern_parameter(parameter: Json, place: str) -> Json:
    """What is left out of the schema stands beside it in version 3."""
    name, where = text(parameter.get("name")), text(parameter.get("in"))
    written = text(parameter.get("collectionFormat")) or "csv"
    if written not in LISTS or (where in ("path", "header") and written != "csv"):
        raise Invalid(f"{place} has {name}, a list that is written as {written[:20]}.")
    beside = {key: parameter[key] for key in OUTSIDE_OF_SCHEMA[:4] if key in parameter}
    style = LISTS[written] if parameter.get("type") == "array" else {}
    return {**beside, **style, "schema": schema_of(parameter)}


def form(fields: dict[str, Json], types: list[str]) -> Json:
    """A form is one object; it goes out in parts where the document says so or one is a file."""
    has_files = any(each.get("type") == "file" for each in fields.values())
    kind = FILES if has_files or (FILES in types and FORM not in types) else FORM
    properties: Json = {
        name: {**schema_of(each), "description": text(each.get("description"))}
        for name, each in fields.items()
    }
    required = [name for name, each in fields.items() if each.get("required") is True]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"required": bool(required), "content": {kind: {"schema": schema}}}


def schema_of(parameter: Json) -> Json:
    schema = {key: each for key, each in parameter.items() if key not in OUTSIDE_OF_SCHEMA}
    if schema.get("type") == "file":
        schema |= {"type": "string", "format": "binary"}
    return schema
