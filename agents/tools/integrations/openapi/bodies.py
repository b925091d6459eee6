"""The body of a request as a document describes it: its type, its schema, and the files in it."""

from __future__ import annotations

from agents.tools.integrations.openapi.schemas import (
    LONGEST_DESCRIPTION,
    Document,
    Inliner,
    Json,
    mapping,
    sequence,
    text,
)

FORM, PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
BODY_TYPES = ("application/json", FORM, PARTS)
BINARY = (
    "application/octet-stream", "application/zip", "application/gzip", "application/pdf",
    "image/", "audio/", "video/",
)  # fmt: skip
A_FILE = "The path of a file in the workspace, which is sent."


def body_of(document: Document, inliner: Inliner, operation: Json, place: str) -> Json | None:
    """`files` names the fields in whose place the model names files; "" is the body itself."""
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
    files: list[str] = []
    if types[key] == PARTS:
        encoding = mapping(media.get("encoding") or {}, f"{place}: encoding")
        schema, files = with_files(schema, encoding)
    elif types[key] != FORM and is_file(schema, {"contentType": types[key]}):
        schema, files = {"type": "string", "description": A_FILE}, [""]
    elif types[key] != FORM and not is_json(types[key]):  # XML, say: its fields are not JSON's
        schema = {"type": "string", "description": f"The whole of it, written as {types[key]}."}
    if description := text(body.get("description")):
        schema.setdefault("description", description[:LONGEST_DESCRIPTION])
    required = body.get("required") is True
    return {"schema": schema, "type": types[key], "required": required, "files": files}


def with_files(schema: Json, encoding: Json) -> tuple[Json, list[str]]:
    """The schema of a form in parts with paths in place of files, and the names of these fields."""
    fields = dict(mapping(schema.get("properties") or {}, "properties"))
    files = []
    for name, value in fields.items():
        field = mapping(value, name)
        sent_as = mapping(encoding.get(name) or {}, "encoding")
        described = " ".join(filter(None, [text(field.get("description")), A_FILE]))
        path: Json = {"type": "string", "description": described}
        lists = [each for each in choices(field) if each.get("type") == "array"]
        items = [mapping(each.get("items") or {}, name) for each in lists]
        if items and is_file(items[0], sent_as):
            fields[name] = {"type": "array", "items": path}
        elif not items and is_file(field, sent_as):
            fields[name] = path
        else:
            continue
        files.append(name)
    return ({**schema, "properties": fields} if files else schema), files


def is_file(schema: Json, encoding: Json) -> bool:
    """Bytes: 3.0 says so by `format`, 3.1 by `contentMediaType`, or the part's type tells."""
    if (each := choices(schema)) != [schema]:
        return any(is_file(one, encoding) for one in each)
    kinds = schema.get("type") or "string"
    if "string" not in (kinds if isinstance(kinds, list) else [kinds]):
        return False
    if schema.get("format") == "binary":
        return True
    media = text(schema.get("contentMediaType")) or text(encoding.get("contentType"))
    return media.lower().startswith(BINARY) and not schema.get("contentEncoding")


def choices(schema: Json) -> list[Json]:
    """What a value may be: an optional one is something or null."""
    several = [*sequence(schema.get("anyOf"), "anyOf"), *sequence(schema.get("oneOf"), "oneOf")]
    return [mapping(each, "anyOf") for each in several] or [schema]


def is_json(kind: str) -> bool:
    return kind in ("*/*", "application/*") or kind.endswith(("/json", "+json"))
