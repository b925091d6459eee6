"""What only admins may change, by pages and by the API."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext

from agents.errors import Forbidden
from console.htmx import posted

View = Callable[..., HttpResponse]


def demand_admin(user: object, what: str = "") -> str:
    """The name of the person. Raises Forbidden unless it is an admin; the API says for `what`."""
    if not isinstance(user, User) or not user.is_superuser:
        if what:
            raise Forbidden(f"Only admins may change {what}.")
        raise Forbidden(gettext("Only admins may change this."))
    return user.username


def for_admins(alert: str) -> Callable[[View], View]:
    """For a view `verb(request, by, …)` that only admins may use.

    A refusal is shown in the element named by `alert`.
    """

    def decorate(do: View) -> View:
        @posted(alert)
        @wraps(do)
        def view(request: HttpRequest, **where: object) -> HttpResponse:
            return do(request, demand_admin(request.user), **where)

        return view

    return decorate
