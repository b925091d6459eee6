"""Where models and further tools come from."""

from __future__ import annotations

from django.db import models


class ToolSource(models.Model):
    """A registered service whose operations are tools: an OpenAPI document or an MCP server.

    `tools` is what it offered when it was last asked, `error` why it could not be asked.
    `headers` are secrets; `inject` are arguments the model never sees. For a command, `headers`
    are its environment variables. `timeout_s` is how long one call may take.
    """

    class Kind(models.TextChoices):
        OPENAPI = "openapi"
        MCP = "mcp"

    name = models.SlugField(max_length=64, unique=True)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    url = models.CharField(max_length=2000, blank=True)
    command = models.TextField(blank=True)
    spec = models.JSONField(null=True, blank=True)
    headers = models.JSONField(default=dict)
    inject = models.JSONField(default=dict)
    tools = models.JSONField(default=list)
    error = models.TextField(blank=True)
    timeout_s = models.PositiveSmallIntegerField(default=60)
    updated_at = models.DateTimeField(auto_now=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Provider(models.Model):
    """An OpenAI-compatible server the admin has added. The key is written, never shown."""

    name = models.SlugField(max_length=64, unique=True)
    base_url = models.CharField(max_length=2000)
    key = models.CharField(max_length=500, blank=True)
    headers = models.JSONField(default=dict)
    prices = models.JSONField(default=dict)
    flags = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.name
