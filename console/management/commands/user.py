"""`manage.py user add NAME [--admin] | list | password NAME | activate NAME | deactivate NAME`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from getpass import getpass

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from agents.actions import stop_work_of
from agents.errors import Invalid, NotFound
from agents.timestamps import timestamp
from console.auth.users import known_username, new_username
from console.management.base import PlainCommand

VERBS = {
    "add": "a new person; the password is asked for, or read from a pipe",
    "list": "who may sign in, and who is an admin",
    "password": "another password; it ends the person's sessions",
    "activate": "let a person in again",
    "deactivate": "let a person in no more, by session or token; nothing of theirs is deleted",
}


class Command(PlainCommand):
    help = "People: who may sign in, and who is an admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb, explanation in VERBS.items():
            arguments = verbs.add_parser(verb, help=explanation)
            if verb == "list":
                arguments.add_argument("--json", action="store_true", help="print data as JSON")
            else:
                arguments.add_argument("name")
            if verb == "add":
                arguments.add_argument("--admin", action="store_true", help="may change settings")

    def handle(
        self, *, verb: str, name: str = "", admin: bool = False, json: bool = False, **_: object
    ) -> None:
        self.prepare()
        if verb == "list":
            self.list_people(json)
        elif verb == "add":
            user = User(username=new_username(name), is_staff=admin, is_superuser=admin)
            set_password(user)
        elif verb == "password":
            set_password(person(name))
        else:
            user, may = person(name), verb == "activate"
            User.objects.filter(pk=user.pk).update(is_active=may)
            if not may and (stopped := stop_work_of(user)):
                self.stdout.write(f"Stopped what was under way: {stopped}.")

    def list_people(self, as_json: bool) -> None:
        rows: list[dict[str, object]] = []
        for user in User.objects.order_by("username"):
            rows.append(
                {
                    "name": user.username,
                    "admin": user.is_superuser,
                    "active": user.is_active,
                    "last_sign_in": timestamp(user.last_login),
                }
            )
        if as_json:
            self.print_json(rows)
        for row in [] if as_json else rows:
            words = ["admin" if row["admin"] else "", "" if row["active"] else "deactivated"]
            notes = ", ".join(filter(None, words))
            self.stdout.write(f"{row['name']}  ({notes})" if notes else str(row["name"]))


def set_password(user: User) -> None:
    """Asked twice at a prompt, once through a pipe; no argument, which every process could see."""
    if sys.stdin.isatty():
        password = getpass("Password: ")
        if password != getpass("Once more: "):
            raise Invalid("The two passwords are not the same.")
    else:
        password = sys.stdin.readline().rstrip("\n")
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid(error.messages[0]) from None
    user.set_password(password)
    user.save()


def person(name: str) -> User:
    user = User.objects.filter(username=known_username(name)).first()
    if user is None:
        raise NotFound(f"There is no person named {name!r}.")
    return user
