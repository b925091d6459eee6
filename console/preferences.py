"""What a person wants of the pages, read at most once in a request."""

from __future__ import annotations

from typing import cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from agents.models import Preferences

READ = "preferences_read"


def preferences_of(user_id: int | None) -> Preferences:
    """A person's; the defaults where they have set nothing, and for nobody."""
    known = Preferences.objects.filter(pk=user_id).first() if user_id else None
    return known or Preferences()


def preferences(request: HttpRequest) -> Preferences:
    """Those of the person whose request this is."""
    if READ not in request.__dict__:
        request.__dict__[READ] = preferences_of(request.user.pk)
    return cast(Preferences, request.__dict__[READ])


def set_preferences(user: User, **changes: object) -> Preferences:
    """Those that are named; the others stay."""
    row, _ = Preferences.objects.update_or_create(user=user, defaults=changes)
    return row


def in_templates(request: HttpRequest) -> dict[str, object]:
    """`preferences` in every template of a request; it is read if a template asks for it."""
    return {"preferences": SimpleLazyObject(lambda: preferences(request))}
