"""What waits for a person, on every page; which things these are says plans/needs.py alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext, ngettext

from agents.models import Preferences
from console.preferences import preferences
from plans.models import OPEN, Plan, Run
from plans.needs import Need, ended_of, needs_of
from plans.snapshot import PlanSnapshot
from plans.snapshot_reading import plan_snapshots

MOST_RUNNING = 10
LATELY = timedelta(minutes=10)


@dataclass(frozen=True)
class Waiting:
    """What waits for a person now, and what has ended lately: drawn on every page."""

    owner: int
    needs: list[Need]
    ended: list[str]
    preferences: Preferences

    @property
    def count(self) -> int:
        return len(self.needs)

    @property
    def keys(self) -> list[str]:
        return [*(need.key for need in self.needs), *self.ended]

    @property
    def tag(self) -> str:
        """Another one when something else waits."""
        chosen = self.preferences.counts_in_title, self.preferences.sounds
        return sha256(f"{self.keys} {chosen}".encode()).hexdigest()[:16]

    @property
    def oldest(self) -> str:
        """How long the oldest has waited; nothing for less than a minute."""
        since = min((need.since for need in self.needs), default=timezone.now())
        is_new = timezone.now() - since < timedelta(minutes=1)
        return "" if is_new else minutes_since(since)


def waiting_for(owner: int, preferences: Preferences) -> Waiting:
    since = timezone.now() - LATELY
    ended = ended_of(owner, since, replies=preferences.tells_replies)
    return Waiting(owner, needs_of(owner), ended, preferences)


def waiting_now(request: HttpRequest) -> Waiting:
    """For the person whose request this is."""
    return waiting_for(request.user.pk or 0, preferences(request))


def in_templates(request: HttpRequest) -> dict[str, object]:
    """`waiting` in every template of a request; it is read if a template asks for it."""
    return {"waiting": SimpleLazyObject(lambda: waiting_now(request))}


def running_plans(owner: int) -> list[PlanSnapshot]:
    """Plans that work without needing anybody, for the page on which nothing waits."""
    own = Plan.objects.filter(
        conversation__owner=owner, conversation__deleted_at=None, conversation__parent_call=None
    )
    rows = own.filter(state__in=OPEN, run__in=(Run.QUEUED, Run.RUNNING)).order_by("pk")
    return plan_snapshots(rows[:MOST_RUNNING])


def minutes_since(moment: datetime) -> str:
    """26 min, 3 h, 2 days."""
    minutes = max(0, int((timezone.now() - moment).total_seconds() // 60))
    if minutes < 60:
        return gettext("{n} min").format(n=minutes)
    if minutes < 48 * 60:
        return gettext("{n} h").format(n=minutes // 60)
    days = minutes // 1440
    return ngettext("{n} day", "{n} days", days).format(n=days)
