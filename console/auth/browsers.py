"""Where a person is signed in: noted while they use the pages, listed and ended by them."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from time import monotonic

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from agents.errors import NotFound
from agents.models import BrowserSession, SigninToken

# How often it is written that a session was seen, by each process: not at every request.
NOTED_EVERY = 60  # seconds
MOST_NOTED = 10_000
MOST_LISTED = 100
NOW = timedelta(minutes=2)  # seen so lately is in use now

# The first that fits: many browsers name others too.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Vivaldi", "Vivaldi"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "Mac"),
    ("Linux", "Linux"),
)

_noted: dict[str, float] = {}  # by session, when this process wrote it last


def note(request: HttpRequest) -> None:
    """This session is in use. What cannot be written keeps nobody from the page."""
    key, now = request.session.session_key or "", monotonic()
    if not key or _noted.get(key, float("-inf")) > now - NOTED_EVERY:
        return
    if len(_noted) >= MOST_NOTED:
        _noted.clear()
    _noted[key] = now
    with suppress(DatabaseError):
        write(key, request)


def write(key: str, request: HttpRequest) -> None:
    user_agent = request.headers.get("User-Agent", "")[:300]
    seen = {"user_agent": user_agent, "seen_at": timezone.now()}
    if not BrowserSession.objects.filter(session_id=key).update(**seen):
        seen |= {"user_id": request.user.pk}
        BrowserSession.objects.get_or_create(session_id=key, defaults=seen)


def browsers_of(user: User) -> list[BrowserSession]:
    """Those that are signed in, the last seen first."""
    return list(live(user).order_by("-seen_at")[:MOST_LISTED])


def live(user: User) -> QuerySet[BrowserSession]:
    return BrowserSession.objects.filter(user=user, session__expire_date__gt=timezone.now())


def end_session(user: User, pk: int) -> None:
    if not Session.objects.filter(browser__pk=pk, browser__user=user).delete()[0]:
        raise NotFound(gettext("That browser is signed out already."))


def end_sessions(user: User, keep: str = "") -> None:
    """All of theirs but the one to keep, and the links that would begin another."""
    SigninToken.objects.filter(user=user).delete()
    others = Session.objects.exclude(pk=keep)
    others.filter(browser__user=user).delete()
    # From before sessions were noted, or of somebody who has not opened a page since the sign-in.
    unknown = others.filter(browser=None, expire_date__gt=timezone.now()).iterator()
    own = [each.pk for each in unknown if each.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=own).delete()


def device_of(user_agent: str) -> str:
    """Firefox on Linux; only known words of what a browser says about itself."""
    browser = next((name for word, name in BROWSERS if word in user_agent), "")
    system = next((name for word, name in SYSTEMS if word in user_agent), "")
    if browser and system:
        return gettext("{browser} on {system}").format(browser=browser, system=system)
    return browser or system or gettext("Unknown browser")
