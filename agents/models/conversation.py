"""A conversation, what is said in it, and the numbered events that readers follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypedDict

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.models import fields


class GivenBack(TypedDict):
    """The messages that one stop gave back, and the number of the event that says so."""

    seq: int
    text: str


class Conversation(models.Model):
    """A thread of messages with one agent. `seq` counts its events, without gaps.

    `draft` is what the message box of a page held, `given_back` what stops have put into it that no
    page has saved yet; up to `draft_seq` the draft holds it. `attached` are the files that the next
    message brings along.
    `provider` and `model` answer here in place of the agent's own, if they are set.
    `looked_at` is when its owner last had it in view with news in it that a mark tells of.
    With `deleted_at` it does not exist for anybody; it can be taken back until it is purged.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    agent_id = fields.CharField(max_length=64)
    title = fields.CharField(max_length=200, blank=True)
    draft = fields.TextField(blank=True)
    draft_seq = models.PositiveBigIntegerField(default=0, db_default=0)
    given_back: models.Field[list[GivenBack], list[GivenBack]] = fields.JSONField(
        default=list, db_default=[]
    )
    seq = models.PositiveBigIntegerField(default=0)
    cleared_seq = models.PositiveBigIntegerField(default=0)
    # The event with which another alternative was last shown; 0 while there is none.
    branched_seq = models.PositiveBigIntegerField(default=0, db_default=0)
    provider = fields.CharField(max_length=64, blank=True, default="", db_default="")
    model = fields.CharField(max_length=200, blank=True, default="", db_default="")
    parent_call = models.ForeignKey(
        "agents.ToolCall", models.CASCADE, null=True, blank=True, related_name="children"
    )
    # Of a called agent: the conversation of a person that it works for, how many calls below that.
    root = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="called_in_it"
    )
    depth = models.PositiveSmallIntegerField(default=0, db_default=0)
    # What the page called the /new that began it, which may come again as `Message.sent_as` does.
    begun_as = fields.CharField(max_length=64, blank=True, default="", db_default="")
    pinned_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    looked_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "begun_as"],
                condition=~Q(begun_as=""),
                name="a_conversation_is_begun_once",
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-updated_at"], name="conversation_by_owner"),
            models.Index(
                fields=["deleted_at"],
                condition=Q(deleted_at__isnull=False),
                name="deleted_conversations",
            ),
        ]

    def __str__(self) -> str:
        return self.title or f"conversation {self.pk}"

    @property
    def top(self) -> int:
        """The conversation of a person that this one belongs to; it may be this one."""
        return self.root_id or self.pk

    @property
    def unsent(self) -> str:
        """What stands in the message box of a page that is opened now."""
        texts = [*(each["text"] for each in self.given_back), self.draft]
        return "\n\n".join(text for text in texts if text.strip())


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
    turn = models.ForeignKey("agents.Turn", models.CASCADE, null=True, related_name="messages")
    # Of a message without a turn: the chat turn it is shown with; without one it is always shown.
    after = models.ForeignKey(
        "agents.Turn", models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    hidden = models.BooleanField(default=False, db_default=False)  # see agents.engine.alternatives
    seq = models.PositiveBigIntegerField()
    changed_seq = models.PositiveBigIntegerField()
    role = fields.CharField(max_length=9, choices=Role.choices)
    kind = fields.CharField(max_length=9, choices=Kind.choices, default=Kind.TEXT)
    text = fields.StoredTextField(blank=True)
    streaming = models.BooleanField(default=False)
    meta = fields.StoredJSONField(default=dict)
    has_files = models.BooleanField(default=False, db_default=False)  # see Attachment.messages
    # What a page calls it, which sends it again when it cannot know whether it arrived.
    sent_as = fields.CharField(max_length=64, blank=True, default="", db_default="")
    # What came with a model's reply for that model to get back, and which one it was.
    wanted_back = fields.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "seq"], name="one_message_per_seq"),
            models.UniqueConstraint(
                fields=["conversation", "sent_as"],
                condition=~Q(sent_as=""),
                name="a_message_is_taken_in_once",
            ),
        ]
        indexes = [
            models.Index(fields=["conversation", "changed_seq"], name="messages_by_change"),
            models.Index(fields=["turn", "seq"], name="messages_by_turn"),
            models.Index(
                fields=["after"], condition=Q(after__isnull=False), name="messages_after_a_turn"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role}: {self.text[:40]}"

    @property
    def attachments(self) -> list[Attachment]:
        """The files that a person has sent with it, in their order."""
        return attachments_of([self.pk]).get(self.pk, []) if self.has_files else []


def attachments_of(messages: Iterable[int]) -> dict[int, list[Attachment]]:
    """The files of each message that has any; the data of pictures is not read."""
    sent = Attachment.messages.through.objects.filter(message__in=messages).order_by("pk")
    found: dict[int, list[Attachment]] = defaultdict(list)
    for each in sent.select_related("attachment").defer("attachment__data"):
        found[each.message_id].append(each.attachment)
    return found


class Attachment(models.Model):
    """A picture in a tool's result, or a file that a person has attached to a message.

    A person's file lies in the agent's workspace at `path`, and stands `in_box` until the messages
    that bring it along: several where one is sent again. `is_moving` is one that is on its way into
    the workspace or out of it. `data` are the bytes of a picture as models and pages are shown it,
    nothing for other files; only what a model can be shown has a width and a height.
    """

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="attachments")
    media_type = fields.CharField(max_length=100)
    data = models.BinaryField()
    name = fields.CharField(max_length=200, blank=True, default="", db_default="")
    path = fields.CharField(max_length=300, blank=True, default="", db_default="")
    # The workspace. Empty for older files.
    root = fields.FolderField(blank=True, default="", db_default="")
    # SHA-256 of what was attached: nothing else is removed with it. Empty for older files.
    digest = fields.CharField(max_length=64, blank=True, default="", db_default="")
    size = models.PositiveIntegerField(default=0, db_default=0)  # bytes
    width = models.PositiveIntegerField(null=True, blank=True)  # pixels
    height = models.PositiveIntegerField(null=True, blank=True)
    in_box = models.BooleanField(default=False, db_default=False)
    is_moving = models.BooleanField(default=False, db_default=False)
    messages = models.ManyToManyField(Message, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["conversation"], condition=Q(in_box=True), name="attachments_in_box"
            ),
            models.Index(fields=["id"], condition=Q(is_moving=True), name="moving_attachments"),
        ]

    def __str__(self) -> str:
        return f"{self.media_type} {self.pk}"

    @property
    def is_shown(self) -> bool:
        """Whether a model can be shown it, as a picture."""
        return self.width is not None


class Event(models.Model):
    """That something changed: which row, by whom. The row itself is the truth."""

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="events")
    seq = models.PositiveBigIntegerField()
    type = fields.CharField(max_length=32)
    subject = fields.CharField(max_length=64, blank=True)
    actor = fields.CharField(max_length=150, blank=True)
    actor_kind = fields.CharField(
        max_length=8, default="system", db_default="system"
    )  # or person, or agent
    data = fields.StoredJSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "seq"], name="one_event_per_seq")
        ]
        indexes = [models.Index(fields=["subject"], name="events_by_subject")]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"
