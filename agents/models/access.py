"""Who may come in, and whose agent it is."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from agents.models import fields


class ApiToken(models.Model):
    """A bearer token; only its SHA-256 is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = fields.CharField(max_length=100)
    digest = fields.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class SigninToken(models.Model):
    """The one-time token of a sign-in link; only its SHA-256 is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    digest = fields.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"sign-in of {self.user}"


class BrowserSession(models.Model):
    """What a person recognises one of their sessions by; nothing of it lets anybody in."""

    session = models.OneToOneField("sessions.Session", models.CASCADE, related_name="browser")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    user_agent = fields.CharField(max_length=300, blank=True, default="")
    since = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user} since {self.since}"


class LocalOwner(models.Model):
    """Who is the person of this computer, whatever name they have taken."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )

    def __str__(self) -> str:
        return str(self.user)


class AgentOwner(models.Model):
    """Who made an agent. The agent itself is a folder with an agent.json."""

    agent_id = fields.CharField(max_length=64, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return self.agent_id


class Tally(models.Model):
    """How often something was tried since `since`: the one count that all processes share.

    `key` says what and by whom; what a stranger has typed is in it as a hash alone.
    """

    key = fields.CharField(max_length=100, unique=True)
    count = models.PositiveIntegerField(default=0)
    since = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.key}: {self.count}"


class Preferences(models.Model):
    """What a person wants of the pages; without a row, what stands here.

    `tells_*`: what a hidden page tells by the browser's notifications. `language`: a code of
    settings.LANGUAGES, or nothing for the browser's choice. `lists_keys`: whether ? opens the list
    of keys. `offers_models`: whether an agent that talks to the demo is offered others.
    """

    class Theme(models.TextChoices):
        SYSTEM = "system"
        LIGHT = "light"
        DARK = "dark"

    class TextSize(models.IntegerChoices):
        """In per cent."""

        NORMAL = 100
        LARGER = 115
        LARGEST = 130

    class Density(models.TextChoices):
        COMFORTABLE = "comfortable"
        COMPACT = "compact"

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    tells_needs = models.BooleanField(default=True, db_default=True)
    tells_failed = models.BooleanField(default=True, db_default=True)
    tells_finished = models.BooleanField(default=True, db_default=True)
    tells_replies = models.BooleanField(default=False, db_default=False)
    counts_in_title = models.BooleanField(default=True, db_default=True)
    sounds = models.BooleanField(default=False, db_default=False)
    language = fields.CharField(max_length=16, blank=True, default="", db_default="")
    theme = fields.CharField(
        max_length=8, choices=Theme.choices, default=Theme.SYSTEM, db_default=Theme.SYSTEM
    )
    text_size = models.PositiveSmallIntegerField(
        choices=TextSize.choices, default=TextSize.NORMAL, db_default=TextSize.NORMAL
    )
    density = fields.CharField(
        max_length=16,
        choices=Density.choices,
        default=Density.COMFORTABLE,
        db_default=Density.COMFORTABLE,
    )
    lists_keys = models.BooleanField(default=True, db_default=True)
    offers_models = models.BooleanField(default=True, db_default=True)
    # On the command line, where none is named. No foreign key, as plans lie above this package.
    current_plan = models.BigIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"preferences of {self.user}"

    @property
    def color_scheme(self) -> str:
        """As CSS writes it."""
        return "light dark" if self.theme == self.Theme.SYSTEM else self.theme
