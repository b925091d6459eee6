"""Every address of Planside, out of the URL table, the OpenAPI document and the socket's routes."""

from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

from tests.inner import api

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Page:
    """A route such as c/<int:pk>/say, and its parameters in order."""

    route: str
    names: tuple[str, ...]

    def at(self, values):
        path = self.route
        for name in self.names:
            start = path.index("<")
            path = path[:start] + str(values[name]) + path[path.index(">") + 1 :]
        return f"/{path}"

    def __str__(self):
        return self.route or "home"


@dataclass(frozen=True)
class Operation:
    """One call of the API: its method, its path and the schema of its body, if it takes one."""

    method: str
    path: str
    body: object

    def __str__(self):
        return f"{self.method} {self.path}"


def pages():
    return [page for page in walk(get_resolver().url_patterns) if not page.route.startswith("api/")]


def walk(patterns, before=""):
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from walk(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield Page(route, tuple(pattern.pattern.converters))


def document():
    return api.get_openapi_schema()


def operations():
    return [
        Operation(method.upper(), path, body_of(operation))
        for path, each in document()["paths"].items()
        for method, operation in each.items()
    ]


def body_of(operation):
    content = operation.get("requestBody", {}).get("content", {})
    return content.get("application/json", {}).get("schema")


# Which fields a check of each kind has, its schema leaves to the refusal.
A_CHECK = {"kind": "file", "path": "a.txt", "exists": True}


def least(schema):
    """The smallest document that a schema takes."""
    if {"kind", "timeout_s"} <= set(schema.get("properties", {})):
        return A_CHECK
    if "$ref" in schema:
        return least(document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "const" in schema or "enum" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    if schema.get("type") == "object":
        wanted = schema.get("required", [])
        return {name: least(schema["properties"][name]) for name in wanted}
    if choices := schema.get("anyOf") or schema.get("allOf"):
        return least(choices[0])
    empty = {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": []}
    return empty[schema["type"]]
