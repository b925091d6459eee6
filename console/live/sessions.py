"""Who has a live tail open in this process, and whether they still may.

A socket or an event stream is let in once and may stay open for days. Whoever signs out, gets a
new password, is switched off, has a token revoked or whose conversation is deleted is let go
within a second. Most of that is done by another process, which no message would reach here.
The same look at the rows tells a page the number of the last event: an announcement can be lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextvars import Context
from dataclasses import dataclass, field
from datetime import datetime
from weakref import WeakKeyDictionary

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from agents.db import in_db
from agents.models import ApiToken, Conversation
from agents.statements import one_of, prepared
from console.auth.tokens import digest_of, live_tokens

log = logging.getLogger(__name__)

CHECK_EVERY = 1.0  # seconds


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


@prepared
def passwords_of(users: list[int]) -> QuerySet[User, tuple[int, str]]:
    rows = User.objects.filter(one_of("id", users), is_active=True)
    return rows.values_list("pk", "password")


@prepared
def alive(sessions: list[str], now: datetime) -> QuerySet[Session, tuple[str]]:
    rows = Session.objects.filter(one_of("session_key", sessions), expire_date__gt=now)
    return rows.values_list("pk")


@prepared
def known(tokens: list[str]) -> QuerySet[ApiToken, tuple[str]]:
    return live_tokens().filter(one_of("digest", tokens)).values_list("digest")


def still_good(credentials: Iterable[Credential]) -> set[Credential]:
    """Those that would be let in now; three queries at most, however many they are."""
    asked = set(credentials)
    passwords = dict(passwords_of.rows(users=[each.user_id for each in asked]))
    keys = [each.session for each in asked if each.session]
    sessions = {key for (key,) in alive.rows(sessions=keys, now=timezone.now())} if keys else ()
    digests = [each.token for each in asked if each.token]
    tokens = {digest for (digest,) in known.rows(tokens=digests)} if digests else ()
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
    signed in, and may only not read this conversation any more. A page is told the number of the
    last event; a stream looks by itself."""

    credential: Credential
    conversation: int
    close: Callable[[bool], Awaitable[None]]
    on_event_number: Callable[[int], None] | None = None


def check_sessions(
    sessions: Iterable[LiveSession],
) -> tuple[set[Credential], dict[tuple[int, int], int]]:
    """Which credentials are still good, and the last event's number by conversation and owner."""
    credentials = {each.credential for each in sessions}
    rows = last_events.rows(conversations=list({each.conversation for each in sessions}))
    return still_good(credentials), {(pk, owner): seq for pk, owner, seq in rows}


@prepared
def last_events(conversations: list[int]) -> QuerySet[Conversation, tuple[int, int, int]]:
    rows = Conversation.objects.filter(one_of("id", conversations), deleted_at=None)
    return rows.values_list("pk", "owner_id", "seq")


class LiveSessions:
    """What is open in one event loop, checked each second as long as there is anything."""

    def __init__(self) -> None:
        self.open: set[LiveSession] = set()
        self.streams: Counter[int] = Counter()  # by person; pages are not among them
        self.checks: asyncio.Task[None] | None = None

    def add(self, session: LiveSession) -> None:
        self.open.add(session)
        self.streams[session.credential.user_id] += not session.on_event_number
        if self.checks is None or self.checks.done():
            # It outlives whoever came first, and the thread that is lent to their request.
            self.checks = asyncio.create_task(self.check_each_second(), context=Context())

    def remove(self, session: LiveSession) -> None:
        self.drop(session)
        if not self.open and self.checks:
            self.checks.cancel()

    def drop(self, session: LiveSession) -> None:
        if session not in self.open:
            return
        self.open.remove(session)
        user = session.credential.user_id
        self.streams[user] -= not session.on_event_number
        if not self.streams[user]:
            del self.streams[user]

    def pages_of(self, user_id: int) -> int:
        return sum(each.credential.user_id == user_id for each in self.open if each.on_event_number)

    async def check_each_second(self) -> None:
        while self.open:
            await asyncio.sleep(CHECK_EVERY)
            asked = list(self.open)
            try:
                good, latest = await in_db(check_sessions, asked)
            except DatabaseError:
                log.warning(
                    "who may still listen could not be looked up; again in %d s", CHECK_EVERY
                )
                continue
            except Exception:
                log.exception("who may still listen could not be looked up")
                continue
            for each in asked:
                is_signed_in = each.credential in good
                seq = latest.get((each.conversation, each.credential.user_id))
                if is_signed_in and seq is not None:
                    if each.on_event_number:
                        each.on_event_number(seq)
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
