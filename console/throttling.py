"""How often somebody may try to sign in, send messages, attach files, have servers tested and call
the API.

Sign-ins, messages, files and tests are counted in the database, so every process counts the same.
Calls of the API cost no write: each web process counts those it answers, and n processes allow n
times as many.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil
from time import monotonic

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.sql import UpdateQuery
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, ngettext

from agents.errors import RateLimited
from agents.models import Tally
from agents.statements import prepared, updating

MINUTE = timedelta(minutes=1)
# After the free tries: half a minute, and twice as long after each further one.
FIRST_WAIT, LONGEST_WAIT = 30, 15 * 60  # seconds
FORGOTTEN_AFTER = timedelta(hours=1)
KEPT_FOR = timedelta(days=1)
MOST_CALLERS = 10_000  # of the API whose calls are remembered

GUESSING = gettext_lazy("Too many wrong passwords: wait {wait}, then try again.")
TALKING = gettext_lazy("You have sent {most} messages within a minute: wait {wait}, then go on.")
TESTING = gettext_lazy(
    "You have had {most} servers asked within a minute: wait {wait}, then go on."
)
UPLOADING = gettext_lazy("You have attached {most} files within a minute: wait {wait}, then go on.")
CALLING = gettext_lazy("You have called the API too often: wait {wait}, then go on.")


# Sign-ins: counted before the password is looked at, so guesses made at once count too.


def count_signin(name: str, address: str) -> None:
    """One try for this name from this address. Raises RateLimited."""
    now, free = timezone.now(), settings.SIGNIN_FAILURES
    with transaction.atomic():
        rows = []
        for key in keys_of(name, address):
            if not Tally.objects.filter(key=key).exists():
                Tally.objects.filter(since__lt=now - KEPT_FOR).delete()
                Tally.objects.get_or_create(key=key, defaults={"since": now})
            rows.append(Tally.objects.select_for_update().get(key=key))
        by_name, by_address = rows
        wait = max(wait_of(by_name, 2 * free, now), wait_of(by_address, free, now))
        if wait > 0:
            raise RateLimited(GUESSING.format(wait=in_words(wait)), wait)
        for row in rows:
            row.count = 1 if row.since < now - FORGOTTEN_AFTER else row.count + 1
            row.since = now
            row.save()


def forget_failures(name: str, address: str) -> None:
    """The password was right: this try was none of those that count."""
    by_name, by_address = keys_of(name, address)
    Tally.objects.filter(key=by_name).delete()
    Tally.objects.filter(key=by_address, count__gt=0).update(count=F("count") - 1)


def keys_of(name: str, address: str) -> list[str]:
    """Of the name and of the address, as hashes: a password typed into the wrong field is in no
    table. Whoever has one IPv6 address has 2**64 of them, so its whole network is one.
    """
    with suppress(ValueError):
        found = ip_address(address)
        if isinstance(found, IPv6Address):
            address = str(found.ipv4_mapped or ip_network((found, 64), strict=False))
    return [
        f"{kind}:{hashlib.sha256(text.encode(errors='replace')).hexdigest()}"
        for kind, text in (("name", name.casefold()), ("address", address))
    ]


def wait_of(row: Tally, free: int, now: datetime) -> int:
    """Seconds from now on; 0 while there are free tries, or after a long time.

    A try that lies ahead was made before the clock was set back: nobody waits for hours.
    """
    if row.count < free or not now - FORGOTTEN_AFTER <= row.since <= now + MINUTE:
        return 0
    wait = min(LONGEST_WAIT, FIRST_WAIT << min(row.count - free, 10))
    return max(0, ceil(wait - (now - row.since).total_seconds()))


# Messages, files and tests: one more write beside those that a message makes anyway.


def count_message(user_id: int) -> None:
    """One message, command or goal of a person's. Raises RateLimited."""
    count_one(f"messages:{user_id}", settings.MESSAGES_PER_MINUTE, TALKING)


def count_upload(user_id: int) -> None:
    """One file that a person attaches. Raises RateLimited."""
    count_one(f"uploads:{user_id}", settings.UPLOADS_PER_MINUTE, UPLOADING)


def count_test(user_id: int) -> None:
    """Once that a model's server is asked for its models for a person. Raises RateLimited."""
    count_one(f"tests:{user_id}", settings.TESTS_PER_MINUTE, TESTING)


def count_one(key: str, most: int, refusal: Promise) -> None:
    now = timezone.now()
    # Further ahead than a minute: before the clock was set back.
    minute = {"after": now - MINUTE, "before": now + MINUTE}
    if one_more_below.update(key=key, most=most, **minute):
        return
    is_this_minute = Q(since__gt=minute["after"], since__lt=minute["before"])
    rows = Tally.objects.filter(key=key)
    Tally.objects.get_or_create(key=key, defaults={"since": now})
    rows.exclude(is_this_minute).update(count=0, since=now)
    # Meanwhile another one may have begun the minute; that is no reason to refuse this one.
    if not one_more_below.update(key=key, most=most, **minute):
        since = rows.filter(is_this_minute).values_list("since", flat=True).get()
        wait = ceil((since + MINUTE - now).total_seconds())
        raise RateLimited(str(refusal).format(most=most, wait=in_words(wait)), wait)


@prepared
def one_more_below(key: str, most: int, after: datetime, before: datetime) -> UpdateQuery:
    rows = Tally.objects.filter(key=key, since__gt=after, since__lt=before, count__lt=most)
    return updating(rows, count=F("count") + 1)


# Calls of the API: a bucket per caller, which fills again by the minute.

_buckets: dict[str, tuple[float, float]] = {}  # calls left, and when that was counted


def count_call(caller: str) -> None:
    """One call by a token or a session's person. Raises RateLimited."""
    now, most = monotonic(), settings.API_CALLS_PER_MINUTE
    left, counted_at = _buckets.get(caller, (float(most), now))
    left = min(float(most), left + (now - counted_at) * most / 60)
    if left < 1:
        wait = ceil((1 - left) * 60 / most)
        raise RateLimited(CALLING.format(wait=in_words(wait)), wait)
    if len(_buckets) >= MOST_CALLERS:
        _buckets.clear()
    _buckets[caller] = (left - 1, now)


def in_words(seconds: int) -> str:
    if seconds >= 120:
        minutes = ceil(seconds / 60)
        return ngettext("{n} minute", "{n} minutes", minutes).format(n=minutes)
    if seconds > 1:
        return ngettext("{n} second", "{n} seconds", seconds).format(n=seconds)
    return gettext("a second")
