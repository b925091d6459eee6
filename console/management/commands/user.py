"""`manage.py user add NAME [--admin] | list`, and what may be done to a person: see VERBS."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from getpass import getpass

from django.contrib.auth.models import User

from agents.errors import Invalid
from agents.timestamps import timestamp
from console.auth import people
from console.management.base import PlainCommand

DOES = {
    "activate": people.activate,
    "make-admin": people.make_admin,
    "take-back-admin": people.take_back_admin,
}
VERBS = {
    "add": "a new person; the password is asked for, or read from a pipe",
    "list": "who may sign in, and who is an admin",
    "password": "another password; it ends the person's sessions",
    "activate": "let a person in again",
    "make-admin": "let a person change settings, providers, services and people",
    "take-back-admin": "let them do so no more; somebody else has to be an admin",
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
            people.add_person(name, is_admin=admin, password=typed_password())
        elif verb == "password":
            people.set_password(people.person_named(name), typed_password())
        elif verb == "deactivate":
            if stopped := people.deactivate(people.person_named(name)):
                self.stdout.write(f"Stopped what was under way: {stopped}.")
        else:
            DOES[verb](people.person_named(name))

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


def typed_password() -> str:
    """Asked twice at a prompt, once through a pipe; no argument, which every process could see."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass("Password: ")
    if password != getpass("Once more: "):
        raise Invalid("The two passwords are not the same.")
    return password
