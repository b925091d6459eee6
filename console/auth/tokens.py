"""Bearer tokens of the API: shown once, stored as a hash, revocable."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from agents.errors import Invalid, NotFound, about
from agents.models import ApiToken
from agents.statements import prepared

PREFIX = "planside_"
# How often a token's last use is written: not at every request.
NOTED_EVERY = timedelta(minutes=1)


def digest_of(secret: str) -> str:
    """Secrets are long and random, so one round of SHA-256 keeps them as well as a slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


@about("name")
def create_token(user: User, name: str) -> str:
    """A new token's secret, which nobody can read again."""
    name = name.strip()
    if not name or len(name) > 100:
        raise Invalid(gettext("A token needs a name of 1 to 100 characters."))
    if live_tokens().filter(user=user, name=name).exists():
        raise Invalid(
            gettext("{username} already has a token named {name!r}: revoke it first.").format(
                username=user.username, name=name
            )
        )
    secret = PREFIX + secrets.token_urlsafe(32)
    ApiToken.objects.create(user=user, name=name, digest=digest_of(secret))
    return secret


def live_tokens() -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(revoked_at=None).select_related("user")


def revoke_token(user: User, name: str) -> None:
    if not live_tokens().filter(user=user, name=name).update(revoked_at=timezone.now()):
        raise NotFound(
            gettext("{username} has no token named {name!r}.").format(
                username=user.username, name=name
            )
        )


@prepared
def token_by_digest(digest: str) -> QuerySet[ApiToken, tuple[int, int, datetime | None]]:
    rows = live_tokens().filter(digest=digest, user__is_active=True)
    return rows.values_list("pk", "user_id", "last_used_at")


@prepared
def person_by_key(user: int) -> QuerySet[User]:
    return User.objects.filter(pk=user)


def bearer_of(secret: str) -> User | None:
    """Whose token this is; None when it is unknown, revoked, or its person may not sign in."""
    found = token_by_digest.first(digest=digest_of(secret))
    if found is None:
        return None
    now, (token, user, used_at) = timezone.now(), found
    if not used_at or used_at <= now - NOTED_EVERY:
        long_ago = Q(last_used_at=None) | Q(last_used_at__lt=now - NOTED_EVERY)
        ApiToken.objects.filter(long_ago, pk=token).update(last_used_at=now)
    return next(iter(person_by_key.models(user=user)), None)
