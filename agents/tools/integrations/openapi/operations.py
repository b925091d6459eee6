"""The operations of a document as they are stored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from agents.errors import Invalid
from agents.tools.base import safe_name
from agents.tools.integrations.openapi import swagger
from agents.tools.integrations.openapi.addresses import joined, same_origin, split
from agents.tools.integrations.openapi.bodies import body_of
from agents.tools.integrations.openapi.schemas import (
    LONGEST_DESCRIPTION,
    Document,
    Inliner,
    Json,
    mapping,
    sequence,
    text,
)

GAP = re.compile(r"\{[^}/]*\}")  # of a path
# No description in use has them; written as `simple` they would ask for something else.
UNSUPPORTED_STYLES = ("label", "matrix")
METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
READS = ("get", "head", "options")
REPEATABLE = (*READS, "put", "delete")
PLACES = ("path", "query", "header", "cookie")
# The specification has these ignored as parameters: they belong to the request itself.
NOT_PARAMETERS = {"accept", "content-type", "authorization"}


class Found(NamedTuple):
    """One plain object per operation, and what had to be left out: `operation` and `why`."""

    operations: list[Json]
    skipped: list[dict[str, str]]


def operations_of(
    root: Json, url: str, read_from: str, longest: int, is_document: bool = False
) -> Found:
    """Raises Invalid where the document itself is wrong, or each of its operations.

    `read_from` is where the document came from, if anywhere; with `is_document` that was all that
    was registered. `longest` is how long a name may be.
    """
    old = text(root.get("swagger")) == "2.0"
    if not old and not text(root.get("openapi")).startswith("3."):
        raise Invalid("The document is neither OpenAPI 3 nor Swagger 2.0: it does not say so.")
    document = Document(root)
    paths = mapping(root.get("paths", {}), "paths")  # since 3.1 there need be none
    if old:
        root = {**root, "servers": [swagger.server_of(root, url)]}
    names: set[str] = set()
    found = Found([], [])
    for path, method, item, value in each_operation(document, paths):
        title = f"{method.upper()} {path}".strip()
        try:
            item = document.resolved(item, f"paths[{path}]")
            operation = mapping(value, title)
            if old:
                operation, item = swagger.modern(document, operation, item, title), {}
            base = base_of([operation, item, root], url, read_from, list(paths), is_document)
            shape = parameters_of(document, operation, item, title)
            check_path(base + path, shape, title)
        except (Invalid, RecursionError) as error:
            why = str(error) if isinstance(error, Invalid) else "It is nested too deeply."
            found.skipped.append({"operation": title[:300], "why": why[:500]})
            continue
        wanted = text(operation.get("operationId")) or f"{method} {path.lstrip('/')}"
        name, description = safe_name(wanted, names, longest), described([operation, item]) or title
        stored = stored_operation(name, description, method, base + path)
        found.operations.append(stored | shape)
    if not found.operations:
        raise Invalid(found.skipped[0]["why"] if found.skipped else nothing_to_call(root))
    return found


def nothing_to_call(root: Json) -> str:
    alone = "it describes webhooks alone, which the service calls itself"
    why = alone if root.get("webhooks") else "nothing stands below its paths"
    return f"The document has no operations to call: {why}."


def described(holders: list[Json]) -> str:
    """Summary and description of the operation, then of its path; nothing twice."""
    texts = [text(each.get(key)) for each in holders for key in ("summary", "description")]
    return "\n".join(dict.fromkeys(filter(None, texts)))


def stored_operation(name: str, description: str, method: str, url: str) -> Json:
    return {
        "name": name,
        "description": description[:LONGEST_DESCRIPTION],
        "read_only": method in READS,
        "idempotent": method in REPEATABLE,
        "method": method.upper(),
        "url": url,
    }


def each_operation(document: Document, paths: Json) -> Iterator[tuple[str, str, object, object]]:
    """Path, method, the path's item and the operation in it, as they stand there.

    An item that cannot be followed counts as one operation without a method.
    """
    for path, value in paths.items():
        if not path.startswith("/"):
            continue  # extensions
        try:
            item = document.resolved(value, f"paths[{path}]")
        except Invalid:
            yield path, "", value, None
            continue
        for method in METHODS:
            if method in item:
                yield path, method, item, item[method]


def base_of(
    holders: list[Json], url: str, read_from: str, paths: list[str], is_document: bool
) -> str:
    """The first server named by the operation, its path or the document, without a last slash.

    One on another host is left aside for the registered URL: the headers are secrets of the host
    that was registered. Where that was the document's own URL, the path of that server counts.
    """
    near = read_from if read_from and same_origin(read_from, url) else url.rstrip("/") + "/"
    for holder in holders:
        if servers := sequence(holder.get("servers"), "servers"):
            server = mapping(servers[0], "servers[0]")
            named = text(server.get("url"))
            for name, variable in mapping(server.get("variables") or {}, "variables").items():
                default = mapping(variable, f"variables.{name}").get("default", "")
                named = named.replace("{" + name + "}", str(default))
            named = joined(near, named)
            other = joined(url, split(named).path) if is_document else url
            return (named if same_origin(named, url) else other).rstrip("/")
    # No server is named: the paths either start with the URL's own path or go on from it.
    own = split(url).path.rstrip("/")
    if own and paths and all(path.startswith(own + "/") for path in paths):
        return joined(url, "/").rstrip("/")
    return url.split("?")[0].split("#")[0].rstrip("/")


def parameters_of(document: Document, operation: Json, item: Json, place: str) -> Json:
    """`parameters` is what the model fills in, `arguments` where each of them goes."""
    inliner = Inliner(document)
    properties: Json = {}
    required: list[str] = []
    arguments: Json = {}
    names: set[str] = set()
    for parameter in all_parameters(document, operation, item, place):
        name = safe_argument(text(parameter.get("name")), names)
        properties[name], arguments[name] = argument_of(inliner, parameter, f"{place}: {name}")
        if parameter.get("required") is True or parameter["in"] == "path":
            required.append(name)
    shape: Json = {"arguments": arguments}
    if body := body_of(document, inliner, operation, place):
        name = safe_argument("body", names)
        properties[name] = body["schema"]
        shape |= {"body": name, "body_type": body["type"], "files": body["files"]}
        if body["required"]:
            required.append(name)
    schema = {"type": "object", "properties": properties}
    return shape | {"parameters": schema | ({"required": required} if required else {})}


def check_path(url: str, shape: Json, place: str) -> None:
    """Every gap in it can be filled, or no call would ever be sent. Raises Invalid."""
    routes = [mapping(each, place) for each in mapping(shape["arguments"], place).values()]
    styles = {text(each["name"]): text(each["style"]) for each in routes if each["in"] == "path"}
    for gap in GAP.findall(url.partition("?")[0]):
        name = gap[1:-1]
        if name not in styles:
            raise Invalid(f"{place} does not say what {gap} in its path is.")
        if styles[name] in UNSUPPORTED_STYLES:
            raise Invalid(f"{place} has {gap} in the style {styles[name]}, which is not known.")


def all_parameters(document: Document, operation: Json, item: Json, place: str) -> list[Json]:
    """The path's, then the operation's, which override them by name and place."""
    parameters: dict[tuple[str, str], Json] = {}
    for holder in (item, operation):
        for value in sequence(holder.get("parameters"), f"{place}: parameters"):
            parameter = document.resolved(value, f"{place}: a parameter")
            name, where = text(parameter.get("name")), text(parameter.get("in"))
            if not name or where not in PLACES:
                raise Invalid(f"{place} has a parameter without a name or a known place (`in`).")
            if where != "header" or name.lower() not in NOT_PARAMETERS:
                parameters[name, where] = parameter
    return list(parameters.values())


def argument_of(inliner: Inliner, parameter: Json, place: str) -> tuple[Json, Json]:
    """The parameter's schema, and how its value gets into the request."""
    content = mapping(parameter.get("content") or {}, f"{place}: content")
    media = mapping(next(iter(content.values()), {}), f"{place}: content")
    schema = inliner.schema((media if content else parameter).get("schema", True), place)
    if description := text(parameter.get("description")):
        schema["description"] = description[:LONGEST_DESCRIPTION]
    where, explode = str(parameter["in"]), parameter.get("explode")
    style = text(parameter.get("style")) or ("form" if where in ("query", "cookie") else "simple")
    return schema, {
        "in": where,
        "name": text(parameter["name"]),
        "style": "json" if content else style,
        "explode": explode if isinstance(explode, bool) else style == "form",
    }


def safe_argument(name: str, taken: set[str]) -> str:
    """Like a tool's name; a dot may stay."""
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) and name not in taken:
        taken.add(name)
        return name
    return safe_name(name, taken)
