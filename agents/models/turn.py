"""The unit of work, which is also the queue, and the calls it makes."""

from __future__ import annotations

from datetime import timedelta
from typing import NotRequired, TypedDict

from django.db import models
from django.db.models import Q
from django.utils.translation import get_language

from agents.models import fields

# What a turn that is taken up again has to know: the JSON in `Turn.checkpoint`, key by key.
#
# This is the only place that names the keys; the type checker refuses any other. They are stored:
# a key that is renamed needs a migration, one that is dropped may stand in old rows.

TaskOutput = dict[str, object]  # {"text", "message"?, "error"?, "facts"?, "data"?}

# `try` is a keyword, which a class body cannot annotate: which call of the model this is, from 1.
Retrying = TypedDict("Retrying", {"try": int}, total=False)


class Checkpoint(Retrying, total=False):
    # Where the chain stands
    task: str  # the task that comes next; "end" behind the last one
    previous: str  # the task before it
    source: str | None  # the task whose output it reads, where that is not the previous one
    variables: dict[str, TaskOutput]  # what each task gave out
    edges: dict[str, int]  # "from->to": how often the chain went that way
    steps: int  # tasks carried out so far
    failures: int  # of the task that is tried again
    prompt: TaskOutput | None  # of the conversation with the model so far, filled in once

    # Within one task
    writing: bool  # a reply has begun
    replied: int | None  # of older turns: a reply that has ended, its calls not carried out yet
    own_call: int | None  # the ToolCall that the chain makes itself
    own_result: TaskOutput | None  # what it gave back

    recorded: bool  # its folder has been, before it wrote anything
    commands_in: str  # the `stored_folder` of a turn that runs commands there, unrecorded
    commands: list[list[int]]  # of checks: from and until, in nanoseconds; 0 while one runs
    lost: list[list[int]]  # the same of calls that ended when their process died, nobody saw when

    # What it may call
    unlocked: list[str]  # operations that search_tools has found, in this order

    # How the turn ends
    by_output: bool  # by what its chain gives out, since no task of it runs tool calls
    ended: bool  # a tool has ended it
    nudge: str  # what was said to a model that ended without a result, once
    final: bool  # trying the same again would not help
    because: str  # why it waits

    # Plans
    subtask: str | None  # the key of the subtask that it was queued for
    about: int | None  # the plan that the person's words were about
    asked: int  # the message that asked for a plan
    made: int  # the plan that this turn has made
    versions: dict[str, list[int]]  # by plan: the versions that this turn has made
    gated: bool  # it has begun to make a plan: the tools that act stay closed to it
    threw_away: int  # the plan of its own that it has abandoned, for another one
    replan: str | None  # the key of the first subtask that is to be planned anew
    replans: int  # the plan that has it
    comments: bool  # the message brings comments on subtasks
    checks: bool  # the subtask has checks, which decide whether it is done
    checks_of: list[str]  # the done subtasks whose checks are run again
    check: str  # the key of the one check of these that is
    deterministic: bool  # without reviews
    asked_for_checks: bool  # a plan without a check for each subtask was refused, once


class TurnState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


class Lane(models.TextChoices):
    """A person is answered in `chat` while a plan works in `run`, and what is done is looked at
    again in `check`."""

    CHAT = "chat"
    RUN = "run"
    CHECK = "check"


class Turn(models.Model):
    """One unit of work, and its place in the queue.

    `epoch` grows at each claim; every write of a step names the epoch it was claimed with, so a
    worker that lost the turn writes nothing. `checkpoint` holds what a resumed turn needs.
    """

    OPEN_STATES = (TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING)

    class WaitingFor(models.TextChoices):
        APPROVAL = "approval"
        QUESTION = "question"
        CHILD = "child"
        PAUSE = "pause"

    FOR_A_PERSON = (WaitingFor.APPROVAL, WaitingFor.QUESTION)

    conversation = models.ForeignKey("agents.Conversation", models.CASCADE, related_name="turns")
    lane = fields.CharField(max_length=8, choices=Lane.choices, default=Lane.CHAT)
    kind = fields.CharField(max_length=16, default="chat")
    # Chat turns form a tree, of which one path is shown (see agents.engine.alternatives).
    # `shown_seq` is the event with which this one was last chosen among its alternatives.
    parent = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="following"
    )
    hidden = models.BooleanField(default=False, db_default=False)
    shown_seq = models.PositiveBigIntegerField(default=0, db_default=0)
    state = fields.CharField(max_length=8, choices=TurnState.choices, default=TurnState.QUEUED)
    waiting_for = fields.CharField(max_length=8, choices=WaitingFor.choices, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    chain = fields.CharField(max_length=200, blank=True)
    config = fields.JSONField(default=dict)
    # Of the texts that are written for a person meanwhile: what they read when they asked for it,
    # and of a turn that another one leads to, that one's.
    language = fields.CharField(max_length=16, default=get_language, db_default="en")
    # The plan that it works for, and the person's plan that it serves at any depth: the same but in
    # a called agent. No foreign keys, as plans lie above this package.
    plan = models.BigIntegerField(null=True, blank=True)
    serves = models.BigIntegerField(null=True, blank=True)
    checkpoint: models.Field[Checkpoint, Checkpoint] = fields.JSONField(default=dict)
    epoch = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    stop_requested = models.BooleanField(default=False)
    pause_requested = models.BooleanField(default=False)
    error_class = fields.CharField(max_length=16, blank=True)
    error = fields.StoredTextField(blank=True)
    model_calls = models.PositiveIntegerField(default=0)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    tokens_cached = models.PositiveIntegerField(default=0, db_default=0)  # of those in
    usage_estimated = models.BooleanField(default=False)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    queued_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # Kept by agents.engine.usage; `counted_at` is where the counted time ends.
    worked = models.DurationField(default=timedelta)
    waited = models.DurationField(default=timedelta)
    paused = models.DurationField(default=timedelta)
    counted_at = models.DateTimeField(null=True, blank=True)

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
                condition=Q(state__in=["queued", "running", "waiting"]),  # OPEN_STATES
                name="open_turns",
            )
        ]

    def __str__(self) -> str:
        return f"turn {self.pk} ({self.kind}, {self.state})"

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN_STATES

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


class StoredImage(TypedDict):
    """A picture as a call names it: the key of its Attachment, and what can be said of it."""

    attachment: int
    media_type: str
    size: int  # bytes
    width: NotRequired[int]  # pixels
    height: NotRequired[int]


class Progress(TypedDict):
    """What a tool said last of how far it is, and when, as ISO 8601."""

    words: str
    at: str


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

    message = models.ForeignKey("agents.Message", models.CASCADE, related_name="tool_calls")
    turn = models.ForeignKey(Turn, models.CASCADE, related_name="tool_calls")
    call_id = fields.TextField()
    position = models.PositiveSmallIntegerField(default=0)
    tool = fields.CharField(max_length=200)
    arguments = fields.JSONField(default=dict)
    state = fields.CharField(max_length=11, choices=State.choices, blank=True)
    decision = fields.CharField(max_length=10, blank=True)
    decided_by = fields.CharField(max_length=150, blank=True, default="", db_default="")
    reason = fields.TextField(blank=True)
    result = fields.TextField(blank=True)
    # What came with the result besides text.
    images: models.Field[list[StoredImage] | None, list[StoredImage] | None] = fields.JSONField(
        null=True, blank=True
    )
    # While it runs, and only if its tool says so. No event tells of it.
    progress: models.Field[Progress | None, Progress | None] = fields.JSONField(
        null=True, blank=True
    )
    # Which tool a person was asked about, as Tool.identity has it.
    asked_as = fields.CharField(max_length=64, blank=True, default="", db_default="")
    asked_at = models.DateTimeField(null=True, blank=True)
    # As Tool.writes has it; of one that an earlier version began, what its name says.
    writes = models.BooleanField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["message_id", "position"]

    def __str__(self) -> str:
        return f"{self.tool} ({self.state or 'not run yet'})"

    @property
    def change(self) -> FileChange | None:
        """What it did to a file, if it is known."""
        is_writing = self.tool in ("write_file", "edit_file") and self.state == self.State.DONE
        return getattr(self, "file_change", None) if is_writing else None

    @property
    def seconds(self) -> float | None:
        if not self.started_at or not self.finished_at:
            return None
        return (self.finished_at - self.started_at).total_seconds()


class FileChange(models.Model):
    """What a call that wrote a file put in place of what: from `line` on, `old` gave way to `new`.

    Written before the file is; it holds for calls that are done. Where the texts were not kept
    `left_out` says why. Sizes are bytes of the whole file. `path` is the file itself, as
    agents.tools.paths writes it, whatever links led there at that moment.
    """

    class LeftOut(models.TextChoices):
        BINARY = "binary"
        TOO_LONG = "too_long"
        UNREADABLE = "unreadable"

    call = models.OneToOneField(
        ToolCall, models.CASCADE, primary_key=True, related_name="file_change"
    )
    path = fields.TextField(blank=True, default="", db_default="")
    is_new = models.BooleanField()
    line = models.PositiveIntegerField()
    old = fields.TextField(blank=True)
    new = fields.TextField(blank=True)
    left_out = fields.CharField(max_length=10, choices=LeftOut.choices, blank=True)
    old_size = models.PositiveIntegerField()
    new_size = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"change of call {self.call_id}"
