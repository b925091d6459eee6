"""The pages and event streams that are open in this process, and whether they may stay open.

A socket or an event stream is let in once and may stay open for days. Whoever signs out, gets a
new password, is switched off, has a token revoked or whose conversation is deleted is let go
within a second. Most of that is done by another process, which no message would reach here.
The same look at the rows tells a page the number of the last event: an announcement can be lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.http import HttpRequest
from django.utils import timezone

from agents.db import in_db
from agents.models import Conversation
from console.auth.tokens import digest_of, live_tokens

log = logging.getLogger(__name__)

CHECK_EVERY = 1.0  # seconds


@dataclass(frozen=True)
class Credential:
    """How a person was let in: a session's key and their password then, or a token's digest."""

    user_id: int
    password: str | None = field(default=None, repr=False)
    key: str = field(default="", repr=False)


def credential_of(request: HttpRequest, user: User) -> Credential:
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return Credential(user.pk, key=digest_of(secret.strip()))
    return Credential(user.pk, user.password, request.session.session_key or "")


@dataclass(eq=False)
class LiveSession:
    """One open page or event stream. `close` ends it, and is told whether its person is still
    signed in. A page is told the number of the last event; a stream looks for it by itself, and
    has no `on_event_number`."""

    credential: Credential
    conversation: int
    close: Callable[[bool], Awaitable[None]]
    on_event_number: Callable[[int], None] | None = None


class LiveSessions:
    """Those of this process; one task checks them, as long as there are any."""

    def __init__(self) -> None:
        self.open: set[LiveSession] = set()
        self.checks: asyncio.Task[None] | None = None

    def add(self, session: LiveSession) -> None:
        if self.checks and self.checks.get_loop() is not asyncio.get_running_loop():
            # A server has one event loop. Each test has its own, and nothing of the last one's.
            self.open, self.checks = set(), None
        self.open.add(session)
        if self.checks is None or self.checks.done():
            # It outlives whoever came first, and the thread that is lent to their request.
            self.checks = asyncio.create_task(check_each_second(self.open), context=Context())

    def remove(self, session: LiveSession) -> None:
        self.open.discard(session)

    def pages_of(self, user_id: int) -> int:
        theirs = [each for each in self.open if each.credential.user_id == user_id]
        return sum(each.on_event_number is not None for each in theirs)

    def streams_of(self, user_id: int) -> int:
        """How many event streams a person has open in this process; any thread may ask."""
        theirs = [each for each in self.open.copy() if each.credential.user_id == user_id]
        return sum(each.on_event_number is None for each in theirs)


live_sessions = LiveSessions()


async def check_each_second(sessions: set[LiveSession]) -> None:
    """Close what may not stay open, and tell each other page the number of the last event."""
    while True:
        await asyncio.sleep(CHECK_EVERY)
        if not sessions:
            return
        checked = list(sessions)
        try:
            good, numbers = await in_db(check_sessions, checked)
        except DatabaseError:
            log.warning("who may still listen could not be looked up; again in %d s", CHECK_EVERY)
            continue
        except Exception:
            log.exception("who may still listen could not be looked up")
            continue
        for session in checked:
            is_signed_in = session.credential in good
            number = numbers.get((session.conversation, session.credential.user_id))
            if not is_signed_in or number is None:
                sessions.discard(session)
                await session.close(is_signed_in)
            elif session.on_event_number:
                session.on_event_number(number)


def check_sessions(
    sessions: list[LiveSession],
) -> tuple[set[Credential], dict[tuple[int, int], int]]:
    """Which credentials are still good, and the last event's number by conversation and owner."""
    asked = {each.credential for each in sessions}
    users = User.objects.filter(pk__in={each.user_id for each in asked}, is_active=True)
    passwords = dict(users.values_list("pk", "password"))
    keys = {each.key for each in asked}
    logged_in = Session.objects.filter(pk__in=keys, expire_date__gt=timezone.now())
    tokens = live_tokens().filter(digest__in=keys)
    valid = {"", *logged_in.values_list("pk", flat=True).union(tokens.values_list("digest"))}
    shown = {each.conversation for each in sessions}
    events = Conversation.objects.filter(pk__in=shown, deleted_at=None)
    good = {
        each
        for each in asked
        if each.user_id in passwords
        and each.password in (None, passwords[each.user_id])
        and each.key in valid
    }
    return good, {(pk, owner): seq for pk, owner, seq in events.values_list("pk", "owner", "seq")}
