"""What only admins may change, by pages and by the API."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from agents.errors import Forbidden, Refused
from console.htmx import refusal_response

View = Callable[..., HttpResponse]


def demand_admin(user: object, what: str = "this") -> str:
    """The name of the person. Raises Forbidden unless it is an admin."""
    if not isinstance(user, User) or not user.is_superuser:
        raise Forbidden(f"Only admins may change {what}.")
    return user.username


def for_admins(alert: str) -> Callable[[View], View]:
    """For a view `verb(request, by, …)` that only admins may use.

    A refusal is shown in the element named by `alert`.
    """

    def decorate(do: View) -> View:
        @require_POST
        @wraps(do)
        def view(request: HttpRequest, **where: str) -> HttpResponse:
            try:
                return do(request, demand_admin(request.user), **where)
            except Refused as refusal:
                return refusal_response(alert.format(**where), refusal)

        return view

    return decorate
