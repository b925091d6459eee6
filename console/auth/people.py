"""People: who may come in, who is an admin, and under which name and password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext, gettext_lazy

from agents.config.ownership import agents_of
from agents.config.store import change_agent
from agents.errors import Conflict, Invalid, NotFound
from agents.leaving import stop_work_of
from agents.models import LocalOwner
from agents.tools.permissions import grant_of
from console.auth.browsers import end_sessions
from console.auth.users import OWNER, is_local_owner, known_username, new_username

LAST_ADMIN = gettext_lazy("{name} is the last admin: make somebody else one first.")


def person_named(name: str) -> User:
    user = User.objects.filter(username=known_username(name)).first()
    if user is None:
        raise NotFound(gettext("There is no person named {name!r}.").format(name=name))
    return user


def add_person(name: str, *, is_admin: bool, password: str | None = None) -> User:
    """Without a password they come in by a link, and may set one then."""
    user = User(username=new_username(name), is_staff=is_admin, is_superuser=is_admin)
    if password is None:
        user.set_unusable_password()
    else:
        user.set_password(checked(password, user))
    save_name(user)
    return user


def rename(user: User, name: str) -> None:
    """Who they are stays the same: the local owner, and whose everything is."""
    if name == user.username:
        return
    if not (name == OWNER and is_local_owner(user)):
        name = new_username(name, of=user)
    if user.username == OWNER:
        LocalOwner.objects.get_or_create(user=user)
    user.username = name
    save_name(user)


def save_name(user: User) -> None:
    try:
        with transaction.atomic():
            user.save(update_fields=["username"] if user.pk else None)
    except IntegrityError:
        raise Conflict(
            gettext("There is already a person named {username!r}.").format(username=user.username),
            field="name",
        ) from None


def set_password(user: User, password: str, keep: str = "") -> None:
    """It ends the person's sessions, but the one to keep, and the links that would begin another;
    tokens go on."""
    user.set_password(checked(password, user))
    user.save(update_fields=["password"])
    end_sessions(user, keep)


def checked(password: str, user: User) -> str:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid(error.messages[0], field="password") from None
    return password


def make_admin(user: User) -> None:
    """Their agents get no shell by it: a `*` that did not cover it so far would."""
    for agent in agents_of(user):
        if grant_of(agent, "shell") != "off":
            change_agent(agent.id, {"tools": {"shell": "off"}})
    User.objects.filter(pk=user.pk).update(is_superuser=True, is_staff=True)


def take_back_admin(user: User) -> None:
    with while_others_are_admins(user):
        User.objects.filter(pk=user.pk).update(is_superuser=False, is_staff=False)


def activate(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=True)


def deactivate(user: User) -> int:
    """Nobody comes in as them by session, link, password or token, and what they had under way
    stops; nothing of theirs is deleted. Gives the number of turns."""
    with while_others_are_admins(user):
        User.objects.filter(pk=user.pk).update(is_active=False)
    end_sessions(user)
    return stop_work_of(user)


@contextmanager
def while_others_are_admins(user: User) -> Iterator[None]:
    """Of two admins who do this to each other at once, one is refused."""
    with transaction.atomic():
        admins = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
        if [each.pk for each in admins.select_for_update()] == [user.pk]:
            raise Conflict(LAST_ADMIN.format(name=user.username))
        yield
