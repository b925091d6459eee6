"""Who calls: a browser with a session, or a script with a bearer token."""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja.errors import AuthenticationError
from ninja.security import HttpBearer
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from agents.errors import Forbidden
from console.auth.tokens import bearer_of
from console.throttling import count_call


class Token(HttpBearer):
    """A header with a wrong token is refused, whatever cookie comes with it."""

    def authenticate(self, request: HttpRequest, token: str) -> User:
        if user := bearer_of(token.strip()):
            count_call(f"token of {user.pk}")
            return user
        raise AuthenticationError(message="This token is unknown or was revoked.")


class Session(AuthBase):
    """The pages' cookie. What changes something needs the CSRF token as well."""

    openapi_type = "apiKey"
    openapi_in = "cookie"
    openapi_name = settings.SESSION_COOKIE_NAME

    def __call__(self, request: HttpRequest) -> User | None:
        if not isinstance(request.user, User):
            return None
        if check_csrf(request):
            raise Forbidden("The CSRF token is missing or wrong: send it as X-CSRFToken.")
        count_call(f"session of {request.user.pk}")
        return request.user


def person(request: HttpRequest) -> User:
    """The caller of an operation."""
    return cast(User, getattr(request, "auth"))  # noqa: B009  # set by django-ninja
