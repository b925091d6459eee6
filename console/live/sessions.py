"""Who has a live tail open in this process, and whether they still may.

A socket or an event stream is let in once and may stay open for days. Whoever signs out, gets a
new password, is switched off, has a token revoked or whose conversation is deleted is let go
within SWEEP seconds. Most of that is done by another process, which no message would reach here.
The same look at the rows tells a page the number of the last event: an announcement can be lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.http import HttpRequest
from django.utils import timezone

from agents.db import in_db
from agents.models import Conversation
from console.auth.tokens import digest_of, live_tokens

log = logging.getLogger(__name__)

SWEEP = 1.0  # seconds


@dataclass(frozen=True)
class Credential:
    """How a person was authenticated: by a session, or a token's digest; their password then."""

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
    """One open socket or event stream. `close` ends it; it is told whether its person is still
    signed in, and may only not read this conversation any more. A page has to `hear` the number
    of the last event; a stream looks by itself."""

    credential: Credential
    conversation: int
    close: Callable[[bool], Awaitable[None]]
    hear: Callable[[int], None] | None = None


def standing(sessions: Iterable[LiveSession]) -> tuple[set[Credential], dict[tuple[int, int], int]]:
    """Which credentials are still good, and the last event's number by conversation and owner."""
    credentials = {each.credential for each in sessions}
    asked = Conversation.objects.filter(pk__in={each.conversation for each in sessions})
    rows = asked.values_list("pk", "owner_id", "seq")
    return still_good(credentials), {(pk, owner): seq for pk, owner, seq in rows}


class LiveSessions:
    """What is open in one event loop, checked every SWEEP seconds as long as there is anything."""

    def __init__(self) -> None:
        self.open: set[LiveSession] = set()
        self.streams: Counter[int] = Counter()  # by person; pages are not among them
        self.sweeping: asyncio.Task[None] | None = None

    def add(self, session: LiveSession) -> None:
        self.open.add(session)
        self.streams[session.credential.user_id] += not session.hear
        if self.sweeping is None or self.sweeping.done():
            self.sweeping = asyncio.create_task(self.sweep())

    def remove(self, session: LiveSession) -> None:
        self.drop(session)
        if not self.open and self.sweeping:
            self.sweeping.cancel()

    def drop(self, session: LiveSession) -> None:
        if session not in self.open:
            return
        self.open.remove(session)
        user = session.credential.user_id
        self.streams[user] -= not session.hear
        if not self.streams[user]:
            del self.streams[user]

    def pages_of(self, user_id: int) -> int:
        return sum(each.credential.user_id == user_id for each in self.open if each.hear)

    async def sweep(self) -> None:
        while self.open:
            await asyncio.sleep(SWEEP)
            asked = list(self.open)
            try:
                good, latest = await in_db(standing, asked)
            except DatabaseError:
                log.warning("who may still listen could not be looked up; again in %d s", SWEEP)
                continue
            for each in asked:
                is_signed_in = each.credential in good
                seq = latest.get((each.conversation, each.credential.user_id))
                if is_signed_in and seq is not None:
                    if each.hear:
                        each.hear(seq)
                    continue
                self.drop(each)
                await each.close(is_signed_in)


_by_loop: MutableMapping[asyncio.AbstractEventLoop, LiveSessions] = WeakKeyDictionary()


def streams_of(user_id: int) -> int:
    """How many event streams a person has open in this process; any thread may ask."""
    return sum(each.streams[user_id] for each in list(_by_loop.values()))


def live_sessions() -> LiveSessions:
    """Those of the running loop."""
    return _by_loop.setdefault(asyncio.get_running_loop(), LiveSessions())
