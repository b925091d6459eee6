"""OpenAPI services: a document becomes operations, an operation becomes a request."""
