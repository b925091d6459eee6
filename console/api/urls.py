"""The API and its OpenAPI document at /api/openapi.json."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any

from django.urls import path
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from console.api import (
    agents,
    attachments,
    chains,
    changes,
    conversations,
    errors,
    events,
    files,
    messages,
    needs,
    plan_checks,
    plan_comments,
    plans,
    providers,
    search,
    tools,
    versions,
)
from console.api.auth import Session, Token


class Api(NinjaAPI):
    """Makes its document once: it takes a second, and nobody need sign in for it."""

    @cached_property
    def document(self) -> OpenAPISchema:
        document = super().get_openapi_schema()
        # Clients know the parts of a snapshot as shapes.
        document.update(
            json.loads(re.sub(r"([a-z])Snapshot(?![a-z])", r"\1Shape", json.dumps(document)))
        )
        return document

    def get_openapi_schema(self, **place: Any) -> OpenAPISchema:
        """One for all, as the API lies at one place."""
        return self.document


api = Api(
    title="Planside",
    version="1",
    description="Conversations with agents, and the plans a person approves. "
    'Every error is {"detail": "one sentence"}. No text holds a null character.',
    docs_url=None,
    auth=[Token(), Session()],
    parser=errors.Json(),
    urls_namespace="api",
)
errors.install(api)
# Patterns are tried in this order: what is asked most stands first.
api.add_router("/conversations", conversations.router)
api.add_router("/conversations", events.router)
api.add_router("/conversations", attachments.conversations)
api.add_router("/attachments", attachments.router)
api.add_router("/messages", messages.router)
api.add_router("/needs", needs.router)
api.add_router("/agents", agents.router)
api.add_router("/agents", files.router)
api.add_router("/tool-calls", conversations.tool_calls)
api.add_router("/tools", tools.router)
api.add_router("/providers", providers.router)
api.add_router("/chains", chains.router)
api.add_router("/plans", plans.router)
api.add_router("/plans", versions.router)
api.add_router("/plans", plan_comments.router)
api.add_router("/plans", changes.router)
api.add_router("/turns", changes.turns)
api.add_router("/undos", changes.undos)
api.add_router("/plans", plan_checks.router)
api.add_router("/search", search.router)

urlpatterns = [path("api/", api.urls)]
