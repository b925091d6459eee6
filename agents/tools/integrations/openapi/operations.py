"""The operations of a document, each with all it takes to offer and to call it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.config.tool_names import safe_name
from agents.errors import Invalid
from agents.tools.integrations.openapi.schemas import (
    Document,
    Inliner,
    Json,
    mapping,
    sequence,
    text,
)
from agents.tools.integrations.openapi.urls import base_of

METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
READS = ("get", "head", "options")
REPEATABLE = (*READS, "put", "delete")
PLACES = ("path", "query", "header", "cookie")
# The specification has these ignored as parameters: they belong to the request itself.
NOT_PARAMETERS = {"accept", "content-type", "authorization"}
BODY_TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
LONGEST_DESCRIPTION = 1000


def operations_of(root: Json, url: str, read_from: str, longest: int) -> list[Json]:
    """One plain object per operation, as it is stored. Raises Invalid naming what is wrong."""
    check_version(root)
    document = Document(root)
    paths = mapping(root.get("paths"), "paths")
    names: set[str] = set()
    found: list[Json] = []
    for path, method, item, operation in each_operation(document, paths):
        base = base_of([operation, item, root], url, read_from, list(paths))
        wanted = text(operation.get("operationId")) or f"{method} {path.lstrip('/')}"
        shape = parameters_of(document, operation, item, f"{method.upper()} {path}")
        found.append(
            {
                "name": safe_name(wanted, names, longest),
                "description": description_of(operation, item, method, path),
                "read_only": method in READS,
                "idempotent": method in REPEATABLE,
                "method": method.upper(),
                "url": base + path,
                **shape,
            }
        )
    return found


def check_version(root: Json) -> None:
    version = text(root.get("openapi"))
    if version.startswith("3."):
        return
    if "swagger" in root:
        raise Invalid("The document is Swagger 2.0; OpenAPI 3.0 or 3.1 is needed.")
    raise Invalid("The document is not an OpenAPI 3 document: `openapi` does not say 3.0 or 3.1.")


def each_operation(document: Document, paths: Json) -> Iterator[tuple[str, str, Json, Json]]:
    for path, value in paths.items():
        if not path.startswith("/"):
            continue  # extensions
        item = document.resolved(value, f"paths[{path}]")
        for method in METHODS:
            if method in item:
                yield path, method, item, mapping(item[method], f"{method.upper()} {path}")


def description_of(operation: Json, item: Json, method: str, path: str) -> str:
    texts = [
        text(each.get(key)) for each in (operation, item) for key in ("summary", "description")
    ]
    told = "\n".join(dict.fromkeys(filter(None, texts)))
    return (told or f"{method.upper()} {path}")[:LONGEST_DESCRIPTION]


def parameters_of(document: Document, operation: Json, item: Json, place: str) -> Json:
    """`parameters` is what the model fills in, `arguments` where each of them goes."""
    inliner = Inliner(document)
    properties: Json = {}
    required: list[str] = []
    arguments: Json = {}
    names: set[str] = set()
    for parameter in all_parameters(document, operation, item, place):
        name = safe_argument(text(parameter.get("name")), names)
        schema, content = schema_of(inliner, parameter, f"{place}: {name}")
        properties[name] = schema
        arguments[name] = route_of(parameter, content)
        if parameter.get("required") is True or parameter["in"] == "path":
            required.append(name)
    shape: Json = {"arguments": arguments}
    if body := body_of(document, inliner, operation, place):
        name = safe_argument("body", names)
        properties[name] = body["schema"]
        shape |= {"body": name, "body_type": body["type"]}
        if body["required"]:
            required.append(name)
    schema = {"type": "object", "properties": properties}
    return shape | {"parameters": schema | ({"required": required} if required else {})}


def all_parameters(document: Document, operation: Json, item: Json, place: str) -> list[Json]:
    """The path's, then the operation's, which override them by name and place."""
    found: dict[tuple[str, str], Json] = {}
    for holder in (item, operation):
        for value in sequence(holder.get("parameters"), f"{place}: parameters"):
            parameter = document.resolved(value, f"{place}: a parameter")
            name, where = text(parameter.get("name")), text(parameter.get("in"))
            if not name or where not in PLACES:
                raise Invalid(f"{place} has a parameter without a name or a known place (`in`).")
            if where != "header" or name.lower() not in NOT_PARAMETERS:
                found[name, where] = parameter
    return list(found.values())


def schema_of(inliner: Inliner, parameter: Json, place: str) -> tuple[Json, bool]:
    """The parameter's schema, and whether it is sent as JSON (given as `content`)."""
    content = mapping(parameter.get("content") or {}, f"{place}: content")
    media = mapping(next(iter(content.values()), {}), f"{place}: content")
    holder = media if content else parameter
    schema = inliner.schema(holder.get("schema", True), place)
    if described := text(parameter.get("description")):
        schema["description"] = described[:LONGEST_DESCRIPTION]
    return schema, bool(content)


def route_of(parameter: Json, is_json: bool) -> Json:
    where = str(parameter["in"])
    style = text(parameter.get("style")) or ("form" if where in ("query", "cookie") else "simple")
    explode = parameter.get("explode")
    return {
        "in": where,
        "name": text(parameter["name"]),
        "style": "json" if is_json else style,
        "explode": explode if isinstance(explode, bool) else style == "form",
    }


def body_of(document: Document, inliner: Inliner, operation: Json, place: str) -> Json | None:
    if operation.get("requestBody") is None:
        return None
    body = document.resolved(operation["requestBody"], f"{place}: requestBody")
    content = mapping(body.get("content") or {}, f"{place}: requestBody.content")
    if not content:
        return None
    kind = preferred(list(content))
    media = mapping(content[kind], f"{place}: {kind}")
    schema = inliner.schema(media.get("schema", True), f"{place}: body")
    if described := text(body.get("description")):
        schema.setdefault("description", described[:LONGEST_DESCRIPTION])
    return {"schema": schema, "type": bare(kind), "required": body.get("required") is True}


def preferred(kinds: list[str]) -> str:
    """JSON before forms before anything else."""
    for wanted in BODY_TYPES:
        for kind in kinds:
            if bare(kind) == wanted or (wanted == BODY_TYPES[0] and is_json(bare(kind))):
                return kind
    return kinds[0]


def bare(kind: str) -> str:
    return kind.partition(";")[0].strip().lower()


def is_json(kind: str) -> bool:
    return kind in ("application/json", "*/*", "application/*") or kind.endswith("+json")


def safe_argument(name: str, taken: set[str]) -> str:
    """Like a tool's name; a dot may stay."""
    plain = re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name)
    if plain and name not in taken:
        taken.add(name)
        return name
    return safe_name(name, taken)
