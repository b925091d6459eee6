"""For whoever watches the server: /healthz, is the process alive; /readyz, can it work."""

from __future__ import annotations

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.urls import path

from agents.models import Conversation


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    if problem := database_problem() or channel_problem():
        return JsonResponse({"detail": problem}, status=503)
    return JsonResponse({"status": "ready"})


def database_problem() -> str:
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        return f"The database does not answer: {first_line(error)}."
    try:
        Conversation.objects.exists()
    except DatabaseError:
        return "The database has no tables yet: run manage.py migrate."
    return ""


def channel_problem() -> str:
    """Redis, where it carries the live updates: a message nobody listens to has to go through."""
    layer = get_channel_layer()
    assert layer is not None  # the settings always name one
    sends = "say" if hasattr(type(layer), "say") else "group_send"  # ours hides that it failed
    try:
        async_to_sync(getattr(layer, sends))("health", {"type": "health.check"})
    except Exception as error:  # each version of the client has its own tree of errors
        return f"The channel layer (REDIS_URL) does not answer: {first_line(error)}."
    return ""


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


urlpatterns = [path("healthz", healthz), path("readyz", readyz)]
