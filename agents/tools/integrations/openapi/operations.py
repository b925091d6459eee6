"""From a registered address to the operations of its document."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urljoin

import httpx

from agents.errors import Invalid
from agents.http_bodies import has_more_values
from agents.telemetry.redaction import redacted_url
from agents.tools.base import safe_name
from agents.tools.integrations.openapi.http import exchange, failure_reason
from agents.tools.integrations.openapi.requests import (
    Request,
    check_address,
    is_json,
    same_origin,
    split,
)
from agents.tools.integrations.openapi.schemas import (
    LONGEST_DESCRIPTION,
    Document,
    Inliner,
    Json,
    mapping,
    sequence,
    text,
)

LONGEST_DOCUMENT = 20 * 1024 * 1024
MOST_VALUES = 600_000  # JSON values of a document; those of GitHub and Stripe have about half
METHODS = ("get", "head", "options", "post", "put", "patch", "delete")
READS = ("get", "head", "options")
REPEATABLE = (*READS, "put", "delete")
PLACES = ("path", "query", "header", "cookie")
# The specification has these ignored as parameters: they belong to the request itself.
NOT_PARAMETERS = {"accept", "content-type", "authorization"}
BODY_TYPES = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")


async def read_operations(
    url: str, spec: object, headers: Mapping[str, str], longest: int
) -> list[Json]:
    """What the service offers. `spec` is the document, its URL, or nothing. Raises Invalid."""
    check_address(url)
    if isinstance(spec, dict):
        return await asyncio.to_thread(operations_of, spec, url, "", longest)
    address = spec if isinstance(spec, str) and spec else url.rstrip("/") + "/openapi.json"
    body = await fetch_document(address, url, headers)

    def parsed() -> list[Json]:
        root = document_in(body, f"What {redacted_url(address)} gives")
        return operations_of(root, url, address, longest)

    return await asyncio.to_thread(parsed)  # it takes seconds for a large document


async def fetch_document(address: str, url: str, headers: Mapping[str, str]) -> bytes:
    """The text of the document at this address; the headers go to the registered host alone."""
    check_address(address)
    own_headers = dict(headers) if same_origin(address, url) else {}
    place = redacted_url(address)
    try:
        answer = await exchange(Request("GET", address, own_headers), LONGEST_DOCUMENT)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Invalid(f"{place} could not be read: {failure_reason(error)}.") from None
    except TimeoutError:
        raise Invalid(f"{place} did not answer in time.") from None
    if answer.location:
        where = redacted_url(answer.location)[:200]
        raise Invalid(f"{place} redirects to {where}, which is not followed.")
    if answer.status != 200:
        raise Invalid(f"{place} answered {answer.status} {answer.reason}".rstrip() + ".")
    if not answer.is_whole:
        raise Invalid(f"The document at {place} is longer than 20 MB.")
    return answer.body


def document_in(body: bytes, subject: str) -> Json:
    """Raises Invalid where it is not a JSON object. YAML is not read."""
    if has_more_values(body, MOST_VALUES):
        raise Invalid(f"{subject} has more than {MOST_VALUES:,} JSON values.")
    try:
        root = json.loads(body)
    except (ValueError, RecursionError):
        raise Invalid(f"{subject} is not JSON; a document in YAML has to be converted.") from None
    if not isinstance(root, dict):
        raise Invalid(f"{subject} is not an OpenAPI document but another JSON value.")
    return root


def operations_of(root: Json, url: str, read_from: str, longest: int) -> list[Json]:
    """One plain object per operation, as it is stored. Raises Invalid naming what is wrong.

    `read_from` is where the document came from, if anywhere; `longest` is how long a name may be.
    """
    if not text(root.get("openapi")).startswith("3."):
        if "swagger" in root:
            raise Invalid("The document is Swagger 2.0; OpenAPI 3.0 or 3.1 is needed.")
        raise Invalid(
            "The document is not an OpenAPI 3 document: `openapi` does not say 3.0 or 3.1."
        )
    document = Document(root)
    paths = mapping(root.get("paths"), "paths")
    names: set[str] = set()
    operations: list[Json] = []
    try:
        for path, method, item, operation in each_operation(document, paths):
            title = f"{method.upper()} {path}"
            wanted = text(operation.get("operationId")) or f"{method} {path.lstrip('/')}"
            keys = ("summary", "description")
            texts = [text(holder.get(key)) for holder in (operation, item) for key in keys]
            description = "\n".join(dict.fromkeys(filter(None, texts))) or title
            base = base_of([operation, item, root], url, read_from, list(paths))
            operations.append(
                {
                    "name": safe_name(wanted, names, longest),
                    "description": description[:LONGEST_DESCRIPTION],
                    "read_only": method in READS,
                    "idempotent": method in REPEATABLE,
                    "method": method.upper(),
                    "url": base + path,
                    **parameters_of(document, operation, item, title),
                }
            )
    except RecursionError:
        raise Invalid("The document is nested too deeply.") from None
    if not operations:
        raise Invalid("The document names no operations.")
    return operations


def each_operation(document: Document, paths: Json) -> Iterator[tuple[str, str, Json, Json]]:
    """Path, method, the path's item and the operation in it."""
    for path, value in paths.items():
        if not path.startswith("/"):
            continue  # extensions
        item = document.resolved(value, f"paths[{path}]")
        for method in METHODS:
            if method in item:
                yield path, method, item, mapping(item[method], f"{method.upper()} {path}")


def base_of(holders: list[Json], url: str, read_from: str, paths: list[str]) -> str:
    """The first server named by the operation, its path or the document, without a last slash.

    One on another host is left aside for the registered URL: the headers are secrets of the host
    that was registered.
    """
    near = read_from if read_from and same_origin(read_from, url) else url.rstrip("/") + "/"
    for holder in holders:
        if servers := sequence(holder.get("servers"), "servers"):
            server = mapping(servers[0], "servers[0]")
            named = text(server.get("url"))
            for name, variable in mapping(server.get("variables") or {}, "variables").items():
                default = mapping(variable, f"variables.{name}").get("default", "")
                named = named.replace("{" + name + "}", str(default))
            named = urljoin(near, named)
            return (named if same_origin(named, url) else url).rstrip("/")
    # No server is named: the paths either start with the URL's own path or go on from it.
    own = split(url).path.rstrip("/")
    if own and paths and all(path.startswith(own + "/") for path in paths):
        return urljoin(url, "/").rstrip("/")
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
        shape |= {"body": name, "body_type": body["type"]}
        if body["required"]:
            required.append(name)
    schema = {"type": "object", "properties": properties}
    return shape | {"parameters": schema | ({"required": required} if required else {})}


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


def body_of(document: Document, inliner: Inliner, operation: Json, place: str) -> Json | None:
    if operation.get("requestBody") is None:
        return None
    body = document.resolved(operation["requestBody"], f"{place}: requestBody")
    content = mapping(body.get("content") or {}, f"{place}: requestBody.content")
    if not content:
        return None
    types = {key: key.partition(";")[0].strip().lower() for key in content}

    def preference(key: str) -> int:
        """JSON before forms before anything else."""
        kind = BODY_TYPES[0] if is_json(types[key]) else types[key]
        return BODY_TYPES.index(kind) if kind in BODY_TYPES else len(BODY_TYPES)

    key = min(content, key=preference)
    media = mapping(content[key], f"{place}: {key}")
    schema = inliner.schema(media.get("schema", True), f"{place}: body")
    if description := text(body.get("description")):
        schema.setdefault("description", description[:LONGEST_DESCRIPTION])
    return {"schema": schema, "type": types[key], "required": body.get("required") is True}


def safe_argument(name: str, taken: set[str]) -> str:
    """Like a tool's name; a dot may stay."""
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) and name not in taken:
        taken.add(name)
        return name
    return safe_name(name, taken)
