"""Plans: the goal as it was said, the checklist, its versions, and every attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypedDict

from django.db import models
from django.db.models import F, Q

from agents.models import Message, Turn, TurnState, fields


class State(models.TextChoices):
    """The four states of a plan and of a subtask."""

    TODO = "todo"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    ABANDONED = "abandoned"


OPEN = (State.TODO, State.IN_PROGRESS)
SETTLED = (State.DONE, State.ABANDONED)


class Run(models.TextChoices):
    IDLE = "idle"
    QUEUED = "queued"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"


# The text of a plan and of a subtask: what versions keep and an approval is about. Labels are what
# models read beside it.
PLAN_TEXT = ("title", "content", "expected_outcome")
SUBTASK_LABELS = {
    "name": "Name",
    "description": "Description",
    "expected_outcome": "Expected outcome",
}
SUBTASK_TEXT = tuple(SUBTASK_LABELS)
# All that an approval of a subtask is about: its texts, and how it is known to be done.
SUBTASK_FIELDS = (*SUBTASK_TEXT, "checks")


class PlanText(TypedDict):
    """What a version keeps; a subtask is its key and SUBTASK_FIELDS."""

    title: str
    content: str
    expected_outcome: str
    subtasks: Sequence[Mapping[str, Any]]


LIVE = (Run.QUEUED, Run.RUNNING, Run.PAUSING, Run.STOPPING)


class Plan(models.Model):
    """A plan of one conversation. It runs only while `approved_version == version`."""

    class PauseReason(models.TextChoices):
        USER = "user"
        ASIDE = "aside"  # another plan was asked for, or made in its place
        CONFIRM = "confirm"
        QUESTION = "question"
        APPROVAL = "approval"
        BUDGET = "budget"
        CHECK = "check"  # one could not be run

    conversation = models.ForeignKey("agents.Conversation", models.CASCADE, related_name="plans")
    goal = fields.TextField(blank=True)
    title = fields.CharField(max_length=200)
    content = fields.TextField(blank=True)
    expected_outcome = fields.TextField(blank=True)
    state = fields.CharField(max_length=11, choices=State.choices, default=State.TODO)
    reason = fields.CharField(max_length=200, blank=True)
    outcome = fields.StoredTextField(blank=True)
    version = models.PositiveIntegerField(default=1)
    approved_version = models.PositiveIntegerField(null=True, blank=True)
    approved_by = fields.CharField(max_length=150, blank=True)
    approved_kind = fields.CharField(
        max_length=8, default="person", db_default="person"
    )  # or system
    # The last version that a person said yes to: `approved_version` moves on without one as well.
    read_version = models.PositiveIntegerField(null=True, blank=True)
    approved_at = models.DateTimeField(null=True, blank=True)
    run = fields.CharField(max_length=8, choices=Run.choices, default=Run.IDLE)
    pause_reason = fields.CharField(max_length=8, choices=PauseReason.choices, blank=True)
    # The person who wanted it to rest, where it rests for them: `user` and `aside`.
    paused_by = fields.CharField(max_length=150, blank=True, default="", db_default="")
    run_options = fields.JSONField(default=dict)
    budget = fields.JSONField(default=dict)
    metadata = fields.JSONField(default=dict)
    card = models.ForeignKey(
        "agents.Message", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    replaces = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # Between two attempts nothing but the plan itself rests: see plans.attempts.times_of_plan.
    rests_since = models.DateTimeField(null=True, blank=True)
    waited = models.DurationField(default=timedelta)
    paused = models.DurationField(default=timedelta)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(approved_version__isnull=True) | Q(approved_version__lte=F("version")),
                name="approved_version_exists",
            )
        ]
        indexes = [
            models.Index(fields=["conversation", "-id"], name="plans_by_conversation"),
            models.Index(
                fields=["conversation"],
                condition=Q(state__in=["todo", "in_progress"]),  # OPEN
                name="open_plans",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def is_confirmed(self) -> bool:
        """The gate: a person said yes to exactly this version."""
        return self.approved_version == self.version

    @property
    def is_live(self) -> bool:
        return self.run in LIVE

    @property
    def question(self) -> str:
        """What its run asks the person, read from the turn that waits for the answer."""
        asked = Message.objects.filter(
            kind=Message.Kind.QUESTION,
            turn__state=TurnState.WAITING,
            turn__waiting_for=Turn.WaitingFor.QUESTION,
            turn__attempt__subtask__plan=self.pk,
        )
        message = asked.order_by("seq").last()
        return message.text if message else ""


class ActivePlan(models.Model):
    """The only pointer to a conversation's active plan, and the plan being asked for."""

    conversation = models.OneToOneField(
        "agents.Conversation", models.CASCADE, primary_key=True, related_name="active_plan"
    )
    plan = models.ForeignKey(Plan, models.SET_NULL, null=True, blank=True, related_name="+")
    asked_goal = fields.TextField(blank=True)
    asked_message = models.ForeignKey(
        "agents.Message", models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        indexes = [
            models.Index(
                fields=["asked_message"],
                condition=Q(asked_message__isnull=False),
                name="plans_asked_for",
            )
        ]

    def __str__(self) -> str:
        return f"active plan of conversation {self.pk}"

    @property
    def asked(self) -> str:
        """The goal a plan is being made for; it goes with the message that asked for it."""
        return self.asked_goal if self.asked_message_id else ""


class PlanVersion(models.Model):
    """The text at one version; `snapshot` is a PlanText.

    It stays as it was written: those of older versions of Planside lack newer fields.
    """

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField()
    snapshot = fields.JSONField()
    explanation = fields.StoredTextField(blank=True)
    author = fields.CharField(max_length=150)
    author_kind = fields.CharField(
        max_length=8, default="person", db_default="person"
    )  # or agent, or system
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["plan", "version"], name="one_snapshot_per_version")
        ]
        ordering = ["version"]

    def __str__(self) -> str:
        return f"v{self.version}"

    @property
    def text(self) -> PlanText:
        """The snapshot, with the fields that subtasks did not have then, or that are empty."""
        stored: PlanText = self.snapshot
        empty: dict[str, Any] = {**dict.fromkeys(SUBTASK_TEXT, ""), "checks": []}
        return {**stored, "subtasks": [{**empty, **each} for each in stored["subtasks"]]}


class Subtask(models.Model):
    """One step. `key` is stable and never reused; `position` is null once it left the checklist."""

    plan = models.ForeignKey(Plan, models.CASCADE, related_name="subtasks")
    key = fields.CharField(max_length=12)
    position = models.PositiveIntegerField(null=True, blank=True)
    name = fields.CharField(max_length=500)
    description = fields.TextField(blank=True)
    expected_outcome = fields.TextField(blank=True)
    # As plans.check_text has them; `checks_made` is how many keys of checks were ever given out.
    checks: models.Field[list[dict[str, Any]], list[dict[str, Any]]] = fields.JSONField(
        default=list, db_default=[]
    )
    checks_made = models.PositiveIntegerField(default=0, db_default=0)
    state = fields.CharField(max_length=11, choices=State.choices, default=State.TODO)
    # Not read or written any more, see plans/verification.py: they go with the next squash.
    verified = models.BooleanField(null=True, blank=True)
    looked_by = fields.CharField(max_length=150, blank=True, default="", db_default="")
    looked_at = models.DateTimeField(null=True, blank=True)
    untrue_since = models.DateTimeField(null=True, blank=True)
    reason = fields.CharField(max_length=500, blank=True)
    progress = fields.TextField(blank=True)
    outcome = fields.TextField(blank=True)
    result = fields.JSONField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["plan", "key"], name="one_subtask_per_key"),
            models.UniqueConstraint(
                fields=["plan"], condition=Q(state="in_progress"), name="one_subtask_in_progress"
            ),
        ]
        ordering = ["position"]

    def __str__(self) -> str:
        return f"{self.key} {self.name}"

    @property
    def is_settled(self) -> bool:
        return self.state in SETTLED


class Attempt(models.Model):
    """One try at one subtask; it holds for the version that was approved when it began."""

    class FailureClass(models.TextChoices):
        TRANSIENT = "transient"
        CAPACITY = "capacity"
        LOGIC = "logic"
        TIMEOUT = "timeout"
        INTERRUPTED = "interrupted"
        CHECK = "check"

    subtask = models.ForeignKey(Subtask, models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    version = models.PositiveIntegerField()
    turn = models.OneToOneField("agents.Turn", models.CASCADE, related_name="attempt")
    failure_class = fields.CharField(max_length=11, choices=FailureClass.choices, blank=True)
    error = fields.StoredTextField(blank=True)
    # By path: the digest of what was there when it began, for checks that want it unchanged.
    before = fields.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["subtask", "number"], name="one_attempt_per_number")
        ]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"attempt {self.number}"


class CheckResult(models.Model):
    """What one check came to, once. `asked` is the check as it was then.

    `passed` is null where it could not be run. Of those with the same `call`, a finish that is
    being checked, or else the same `turn`, one holds for each check. `by` is the person who looked
    in its place; without a key they looked at the whole subtask, or, where `passed` is null, took
    back what they had said of it.
    """

    subtask = models.ForeignKey(Subtask, models.CASCADE, related_name="check_results")
    attempt = models.ForeignKey(
        Attempt, models.SET_NULL, null=True, blank=True, related_name="check_results"
    )
    turn = models.ForeignKey(
        "agents.Turn", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    call = models.ForeignKey(
        "agents.ToolCall", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    key = fields.CharField(max_length=12, blank=True)
    asked = fields.JSONField(default=dict)
    passed = models.BooleanField(null=True)
    said = fields.StoredTextField(blank=True)
    seconds = models.FloatField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    by = fields.CharField(max_length=150, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["call", "key"],
                condition=Q(passed__isnull=False, call__isnull=False),
                name="one_result_per_finish",
            )
        ]
        indexes = [
            models.Index(fields=["subtask"], condition=Q(passed=False), name="failed_results")
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.passed}"


class SubtaskComment(models.Model):
    """What a person wants changed about a subtask before their yes.

    It is kept until it goes to the planner with the others; taken back from there, with the
    message, it is kept again. `answered_in` is the last version that the reply made, and `answer`
    what the planner says it did.
    """

    subtask = models.ForeignKey(Subtask, models.CASCADE, related_name="comments")
    text = fields.TextField()
    author = fields.CharField(max_length=150)
    message = models.ForeignKey(
        "agents.Message", models.SET_NULL, null=True, blank=True, related_name="+"
    )
    answered_in = models.PositiveIntegerField(null=True, blank=True)
    answer = fields.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"comment on {self.subtask}"
