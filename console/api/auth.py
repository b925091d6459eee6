"""Who calls (a browser with a session, or a script with a bearer token), and what is theirs.

A row of somebody else's is answered like one that does not exist: 404.
"""

from __future__ import annotations

from typing import cast

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest
from ninja.errors import AuthenticationError
from ninja.security import HttpBearer
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from agents.errors import Forbidden, NotFound
from agents.models import Conversation, ToolCall
from agents.statements import prepared
from console.auth.tokens import bearer_of
from console.throttling import count_call
from plans.models import Plan, Subtask


@prepared
def own_conversation(conversation: int, owner: int) -> QuerySet[Conversation]:
    return Conversation.objects.filter(pk=conversation, owner=owner, deleted_at=None)


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


def conversation_of(request: HttpRequest, id: int) -> Conversation:
    rows = own_conversation.models(conversation=id, owner=person(request).pk)
    if not rows:
        raise NotFound(f"There is no conversation {id}.")
    return rows[0]


def plan_of(request: HttpRequest, id: int) -> Plan:
    own = Plan.objects.filter(conversation__owner=person(request), conversation__deleted_at=None)
    if plan := own.filter(pk=id).first():
        return plan
    raise NotFound(f"There is no plan {id}.")


def subtask_of(plan: Plan, key: str) -> Subtask:
    """A subtask of the checklist; removed ones live in versions and timeline only."""
    if subtask := plan.subtasks.filter(key=key, position__isnull=False).first():
        return subtask
    raise NotFound(f"The plan has no subtask {key[:20]!r}.")


def call_of(request: HttpRequest, id: int) -> ToolCall:
    calls = ToolCall.objects.select_related("turn__conversation")
    row = calls.filter(
        pk=id, turn__conversation__owner=person(request), turn__conversation__deleted_at=None
    ).first()
    if row is None:
        raise NotFound(f"There is no tool call {id}.")
    return row
