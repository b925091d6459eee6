"""Where models and further tools come from."""

from __future__ import annotations

from django.db import models

from agents.models import fields


class ToolSource(models.Model):
    """A registered service whose operations are tools: an OpenAPI document or an MCP server.

    `tools` is what it offered when it was last asked, `skipped` which operations of its document
    could not be understood and why, `error` why it could not be asked.
    `headers` are secrets; `inject` are arguments the model never sees. For a command, `headers`
    are its environment variables. `timeout_s` is how long one call may take. `allowed` are the
    names of the operations that are tools here, with * for any characters; None means all of them.
    `client_id` and `client_secret` are what somebody registered for us where a server has people
    sign in, if it registers nobody by itself.
    """

    class Kind(models.TextChoices):
        OPENAPI = "openapi"
        MCP = "mcp"

    class SignIn(models.TextChoices):
        """Whether a server that wants somebody to sign in has its token."""

        WANTED = "wanted"
        CONNECTED = "connected"
        ENDED = "ended"

    name = models.SlugField(max_length=64, unique=True)
    kind = fields.CharField(max_length=8, choices=Kind.choices)
    url = fields.CharField(max_length=2000, blank=True)
    command = fields.TextField(blank=True)
    spec = fields.JSONField(null=True, blank=True)
    headers = fields.JSONField(default=dict)
    inject = fields.JSONField(default=dict)
    tools = fields.JSONField(default=list)
    skipped = fields.JSONField(default=list, db_default=[])
    error = fields.TextField(blank=True)
    timeout_s = models.PositiveSmallIntegerField(default=60)
    # Whether an admin believes it when it says which of its tools only read or may be repeated.
    trusts_hints = models.BooleanField(default=False, db_default=False)
    sign_in = fields.CharField(
        max_length=9, choices=SignIn.choices, blank=True, default="", db_default=""
    )
    allowed: models.Field[list[str] | None, list[str] | None] = fields.JSONField(
        null=True, blank=True
    )
    client_id = fields.CharField(max_length=500, blank=True, default="", db_default="")
    client_secret = fields.CharField(max_length=500, blank=True, default="", db_default="")
    updated_at = models.DateTimeField(auto_now=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class OAuthLogin(models.Model):
    """How this installation is signed in to an MCP server. Nothing of it is ever shown.

    `client` is what we were registered as there, `endpoints` the server's own description. A
    sign-in that is under way has the hash of its `state`, and gets the `answer` that the browser
    brings back. Of several processes, one that is to renew the tokens sets `renewing_until`.
    """

    source = models.OneToOneField(ToolSource, models.CASCADE, related_name="login")
    client = fields.JSONField(default=dict)
    endpoints = fields.JSONField(default=dict)
    tokens = fields.JSONField(default=dict)
    expires_at = models.DateTimeField(null=True, blank=True)
    renewing_until = models.DateTimeField(null=True, blank=True)
    state_hash = fields.CharField(max_length=64, blank=True)
    started_by = models.PositiveBigIntegerField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    answer = fields.JSONField(default=dict)
    failure = fields.TextField(blank=True)

    def __str__(self) -> str:
        return f"sign-in to {self.source_id}"


class Provider(models.Model):
    """A server that an admin has added. The key is written, never shown.

    `api` is the protocol it speaks; an empty one is that of its name or address.
    """

    name = models.SlugField(max_length=64, unique=True)
    base_url = fields.CharField(max_length=2000)
    key = fields.CharField(max_length=500, blank=True)
    headers = fields.JSONField(default=dict)
    prices = fields.JSONField(default=dict)
    flags = fields.JSONField(default=dict)
    api = fields.CharField(max_length=32, blank=True, default="", db_default="")

    def __str__(self) -> str:
        return self.name


class ProviderListing(models.Model):
    """What a provider said when it was last asked for its models.

    `kind` is empty when it answered, else the kind of ModelError; `words` are the server's own.
    Of another address than the provider's present one it says nothing. When it cannot be asked,
    the models it listed before stay.
    """

    provider = fields.CharField(max_length=64, unique=True)
    address = fields.CharField(max_length=2000)
    kind = fields.CharField(max_length=16, blank=True)
    status = models.PositiveSmallIntegerField(null=True)
    words = fields.TextField(blank=True)
    problem = fields.TextField(blank=True)
    advice = fields.TextField(blank=True)
    seconds = models.FloatField()
    asked_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.provider


class ListedModel(models.Model):
    """One model of a listing; the columns are those of agents.llm.model_info.ModelInfo."""

    listing = models.ForeignKey(ProviderListing, models.CASCADE, related_name="models")
    name = fields.CharField(max_length=200)
    context_window = models.PositiveBigIntegerField(null=True)
    loaded_window = models.PositiveBigIntegerField(null=True)
    sees_images = models.BooleanField(null=True)
    calls_tools = models.BooleanField(null=True)
    is_chat = models.BooleanField()
    size = models.PositiveBigIntegerField(null=True)
    price_in = models.FloatField(null=True)
    price_out = models.FloatField(null=True)
    price_cached = models.FloatField(null=True)
    price_stored = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["listing", "name"], name="one_row_a_listed_model")
        ]

    def __str__(self) -> str:
        return self.name


class ModelLesson(models.Model):
    """One thing that a server has refused of requests to a model: see agents.llm.lessons.

    Of another address than the provider's present one it says nothing. `words` are the server's.
    """

    provider = fields.CharField(max_length=64)
    address = fields.CharField(max_length=2000)
    model = fields.CharField(max_length=200)
    kind = fields.CharField(max_length=32)
    value = fields.CharField(max_length=200, blank=True)
    words = fields.TextField(blank=True)
    learnt_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "address", "model", "kind", "value"], name="one_row_a_lesson"
            )
        ]

    def __str__(self) -> str:
        return f"{self.model}: {self.kind} {self.value}".strip()
