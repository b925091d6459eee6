"""Who has a live tail open in this process, and whether they still may.

A socket or an event stream is let in once and may stay open for days. Whoever signs out, gets a
new password, is switched off or has a token revoked is let go within SWEEP seconds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.http import HttpRequest
from django.utils import timezone

from agents.db import in_db
from console.auth.tokens import digest_of, live_tokens

log = logging.getLogger(__name__)

SWEEP = 15.0  # seconds


@dataclass(frozen=True)
class Credential:
    """By what a person came in: a session, or the digest of a token; their password then."""

    user_id: int
    password: str = field(default="", repr=False)
    session: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


def credential_of(request: HttpRequest, user: User) -> Credential:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return Credential(user.pk, token=digest_of(secret.strip()))
    return Credential(user.pk, user.password, request.session.session_key or "")


def still_good(credentials: Iterable[Credential]) -> set[Credential]:
    """Those that would be let in now; three queries, however many they are."""
    asked = set(credentials)
    users = User.objects.filter(pk__in={each.user_id for each in asked}, is_active=True)
    passwords = dict(users.values_list("pk", "password"))
    alive = Session.objects.filter(expire_date__gt=timezone.now())
    alive = alive.filter(pk__in={each.session for each in asked if each.session})
    sessions = set(alive.values_list("pk", flat=True))
    named = live_tokens().filter(digest__in={each.token for each in asked if each.token})
    tokens = set(named.values_list("digest", flat=True))
    return {
        each
        for each in asked
        if each.user_id in passwords
        and (each.token in tokens if each.token else passwords[each.user_id] == each.password)
        and (not each.session or each.session in sessions)
    }


@dataclass(eq=False)
class LiveSession:
    """One open socket; `turn_away` closes it."""

    credential: Credential
    turn_away: Callable[[], Awaitable[None]]


class LiveSessions:
    """The open sockets of one event loop, looked through as long as there are any."""

    def __init__(self) -> None:
        self.here: set[LiveSession] = set()
        self.sweeping: asyncio.Task[None] | None = None

    def enter(self, visit: LiveSession) -> None:
        self.here.add(visit)
        if self.sweeping is None or self.sweeping.done():
            self.sweeping = asyncio.create_task(self.sweep())

    def leave(self, visit: LiveSession) -> None:
        self.here.discard(visit)
        if not self.here and self.sweeping:
            self.sweeping.cancel()

    def count(self, user_id: int) -> int:
        return sum(visit.credential.user_id == user_id for visit in self.here)

    async def sweep(self) -> None:
        while self.here:
            await asyncio.sleep(SWEEP)
            try:
                good = await in_db(still_good, [visit.credential for visit in self.here])
            except DatabaseError:
                log.warning("who is still signed in could not be looked up; again in %d s", SWEEP)
                continue
            for visit in [each for each in self.here if each.credential not in good]:
                self.here.discard(visit)
                await visit.turn_away()


_visitors: MutableMapping[asyncio.AbstractEventLoop, LiveSessions] = WeakKeyDictionary()


def live_sessions() -> LiveSessions:
    """Those of the running loop."""
    return _visitors.setdefault(asyncio.get_running_loop(), LiveSessions())
