"""Conversations, the turns that answer them, and what turns produce."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class Conversation(models.Model):
    """A thread of messages with one agent. `seq` counts its events, without gaps."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    agent_id = models.CharField(max_length=64)
    title = models.CharField(max_length=200, blank=True)
    draft = models.TextField(blank=True)
    seq = models.PositiveBigIntegerField(default=0)
    cleared_seq = models.PositiveBigIntegerField(default=0)
    parent_call = models.ForeignKey(
        "agents.ToolCall", models.CASCADE, null=True, blank=True, related_name="children"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [models.Index(fields=["owner", "-updated_at"], name="conversation_by_owner")]

    def __str__(self) -> str:
        return self.title or f"conversation {self.pk}"


class TurnState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


class Lane(models.TextChoices):
    """A person is answered in `chat` while a plan works in `run`."""

    CHAT = "chat"
    RUN = "run"


class Turn(models.Model):
    """One unit of work, and its place in the queue.

    `epoch` grows at each claim; every write of a step names the epoch it was claimed with, so a
    worker that lost the turn writes nothing. `checkpoint` holds what a resumed turn needs:
    {"task", "variables", "edges", "steps", …}.
    """

    class WaitingFor(models.TextChoices):
        APPROVAL = "approval"
        QUESTION = "question"
        CHILD = "child"
        PAUSE = "pause"

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="turns")
    lane = models.CharField(max_length=8, choices=Lane.choices, default=Lane.CHAT)
    kind = models.CharField(max_length=16, default="chat")
    state = models.CharField(max_length=8, choices=TurnState.choices, default=TurnState.QUEUED)
    waiting_for = models.CharField(max_length=8, choices=WaitingFor.choices, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    chain = models.CharField(max_length=200, blank=True)
    config = models.JSONField(default=dict)
    checkpoint = models.JSONField(default=dict)
    epoch = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    stop_requested = models.BooleanField(default=False)
    pause_requested = models.BooleanField(default=False)
    error_class = models.CharField(max_length=16, blank=True)
    error = models.TextField(blank=True)
    model_calls = models.PositiveIntegerField(default=0)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    usage_estimated = models.BooleanField(default=False)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    queued_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "lane"],
                condition=Q(state__in=["running", "waiting"]),
                name="one_live_turn_per_lane",
            ),
            models.CheckConstraint(
                condition=Q(state="waiting") | Q(waiting_for=""), name="only_waiting_turns_wait_for"
            ),
        ]
        indexes = [
            models.Index(
                fields=["state", "id"],
                condition=Q(state__in=["queued", "running", "waiting"]),
                name="open_turns",
            )
        ]

    def __str__(self) -> str:
        return f"turn {self.pk} ({self.kind}, {self.state})"

    @property
    def is_open(self) -> bool:
        return self.state in (TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING)

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


class Message(models.Model):
    """One thing said. `seq` is the event that added it, `changed_seq` the last that changed it."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"
        SYSTEM = "system"

    class Kind(models.TextChoices):
        TEXT = "text"
        PLAN = "plan"
        QUESTION = "question"
        APPROVAL = "approval"
        NOTICE = "notice"
        ERROR = "error"
        REASONING = "reasoning"

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="messages")
    turn = models.ForeignKey(Turn, models.CASCADE, null=True, related_name="messages")
    seq = models.PositiveBigIntegerField()
    changed_seq = models.PositiveBigIntegerField()
    role = models.CharField(max_length=9, choices=Role.choices)
    kind = models.CharField(max_length=9, choices=Kind.choices, default=Kind.TEXT)
    text = models.TextField(blank=True)
    streaming = models.BooleanField(default=False)
    meta = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "seq"], name="one_message_per_seq")
        ]
        indexes = [
            models.Index(fields=["conversation", "changed_seq"], name="messages_by_change"),
            models.Index(fields=["turn", "seq"], name="messages_by_turn"),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.text[:40]}"


class ToolCall(models.Model):
    """One call a model asked for, and what became of it."""

    class State(models.TextChoices):
        ASKED = "asked"
        RUNNING = "running"
        DONE = "done"
        REFUSED = "refused"
        DENIED = "denied"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    message = models.ForeignKey(Message, models.CASCADE, related_name="tool_calls")
    turn = models.ForeignKey(Turn, models.CASCADE, related_name="tool_calls")
    call_id = models.CharField(max_length=200)
    position = models.PositiveSmallIntegerField(default=0)
    tool = models.CharField(max_length=200)
    arguments = models.JSONField(default=dict)
    state = models.CharField(max_length=11, choices=State.choices, blank=True)
    decision = models.CharField(max_length=10, blank=True)
    reason = models.TextField(blank=True)
    result = models.TextField(blank=True)
    asked_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["message_id", "position"]

    def __str__(self) -> str:
        return f"{self.tool} ({self.state or 'not run yet'})"

    @property
    def seconds(self) -> float | None:
        if not self.started_at or not self.finished_at:
            return None
        return (self.finished_at - self.started_at).total_seconds()


class Event(models.Model):
    """That something changed: which row, by whom. The row itself is the truth."""

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="events")
    seq = models.PositiveBigIntegerField()
    type = models.CharField(max_length=32)
    subject = models.CharField(max_length=64, blank=True)
    actor = models.CharField(max_length=150, blank=True)
    data = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "seq"], name="one_event_per_seq")
        ]
        indexes = [models.Index(fields=["subject"], name="events_by_subject")]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"


class ToolSource(models.Model):
    """A registered service whose operations are tools: an OpenAPI document or an MCP server."""

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


class ApiToken(models.Model):
    """A bearer token; only its SHA-256 is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class SigninToken(models.Model):
    """The one-time token of a sign-in link; only its SHA-256 is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in of {self.user}"


class AgentOwner(models.Model):
    """Who made an agent. The agent itself is a folder with an agent.json."""

    agent_id = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return self.agent_id
