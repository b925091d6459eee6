"""A document as strangers write them: odd in every corner that real ones are odd in."""


def petstore(**changes):
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "/{stage}/v2", "variables": {"stage": {"default": "live"}}}],
        "paths": {
            "x-note": "not a path",
            "/pets/{petId}": {
                "summary": "One pet",
                "parameters": [
                    {"$ref": "#/components/parameters/petId"},
                    {"name": "lang", "in": "query", "schema": {"type": "string"}},
                ],
                "get": {
                    "operationId": "get pet!",
                    "parameters": [
                        {
                            "name": "lang",
                            "in": "query",
                            "required": True,
                            "schema": {"enum": ["en", "de"]},
                        },
                        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                        {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                        {"name": "session", "in": "cookie", "schema": {"type": "string"}},
                    ],
                },
                "delete": {"operationId": "get_pet"},
                "put": {"requestBody": {"$ref": "#/components/requestBodies/Pet"}},
            },
            "/pets": {
                "get": {
                    "operationId": "findPets",
                    "parameters": [
                        {
                            "name": "tags",
                            "in": "query",
                            "schema": {"type": "array", "items": {"type": "string"}},
                        },
                        {
                            "name": "ids",
                            "in": "query",
                            "explode": False,
                            "schema": {"type": "array"},
                        },
                        {
                            "name": "filter[age]",
                            "in": "query",
                            "schema": {"type": ["integer", "null"]},
                        },
                        {
                            "name": "near",
                            "in": "query",
                            "style": "deepObject",
                            "schema": {"type": "object"},
                        },
                        {
                            "name": "where",
                            "in": "query",
                            "content": {"application/json": {"schema": {"type": "object"}}},
                        },
                    ],
                },
                "post": {
                    "operationId": "addPet",
                    "description": "Adds a pet.",
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/xml": {"schema": {"type": "string"}},
                            "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}},
                        },
                    },
                },
            },
            "/login": {
                "post": {
                    "requestBody": {
                        "content": {
                            "application/x-www-form-urlencoded": {
                                "schema": {
                                    "properties": {
                                        "user": {"type": "string"},
                                        "keep": {"type": "boolean"},
                                    }
                                }
                            }
                        }
                    }
                }
            },
        },
        "components": {
            "parameters": {
                "petId": {
                    "name": "petId",
                    "in": "path",
                    "required": True,
                    "schema": {"type": "integer"},
                }
            },
            "requestBodies": {
                "Pet": {
                    "content": {
                        "application/json; charset=utf-8": {
                            "schema": {"$ref": "#/components/schemas/Pet"}
                        }
                    }
                }
            },
            "schemas": {
                "Pet": {
                    "allOf": [
                        {"$ref": "#/components/schemas/Named"},
                        {
                            "type": "object",
                            "required": ["kind", "id"],
                            "properties": {
                                "id": {"type": "integer", "readOnly": True},
                                "kind": {"type": ["string", "null"]},
                                "parent": {
                                    "$ref": "#/components/schemas/Pet",
                                    "description": "who",
                                },
                                "$ref": {"type": "string"},
                                "any~thing/": True,
                            },
                        },
                    ]
                },
                "Named": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}},
                },
            },
        },
        **changes,
    }


def many(count):
    """A document with this many operations."""
    return petstore(
        paths={f"/things/{n}": {"get": {"operationId": f"thing{n}"}} for n in range(count)}
    )
