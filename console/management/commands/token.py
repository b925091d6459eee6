"""`manage.py token create NAME [--user U] | list | revoke NAME`."""

from __future__ import annotations

from argparse import ArgumentParser

from django.contrib.auth.models import User

from agents.errors import NotFound
from agents.timestamps import timestamp
from console.auth.tokens import create_token, live_tokens, revoke_token
from console.auth.users import OWNER, local_owner
from console.management.base import PlainCommand


class Command(PlainCommand):
    help = "Tokens for the API: shown once, stored as a hash."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb, explanation in VERBS.items():
            arguments = verbs.add_parser(verb, help=explanation)
            if verb != "list":
                arguments.add_argument("name")
            arguments.add_argument("--user", default="", help="whose (default: the local owner)")
            arguments.add_argument("--json", action="store_true", help="print data as JSON")

    def handle(self, *, verb: str, user: str, json: bool, name: str = "", **_: object) -> None:
        self.prepare()
        if verb == "list":
            self.list_tokens(user, json)
        elif verb == "create":
            secret = create_token(person(user), name)
            self.print_json({"name": name, "token": secret}) if json else self.stdout.write(secret)
        else:
            revoke_token(person(user), name)

    def list_tokens(self, user: str, as_json: bool) -> None:
        tokens = live_tokens().filter(user=person(user)) if user else live_tokens()
        rows = []
        for token in tokens.order_by("user__username", "name"):
            rows.append(
                {
                    "name": token.name,
                    "user": token.user.username,
                    "created_at": timestamp(token.created_at),
                    "last_used_at": timestamp(token.last_used_at),
                }
            )
        if as_json:
            self.print_json(rows)
        for row in [] if as_json else rows:
            used = f"last used {row['last_used_at']}" if row["last_used_at"] else "never used"
            self.stdout.write(f"{row['name']}  ({row['user']}, {used})")


VERBS = {
    "create": "make a token and print it, once",
    "list": "names of the tokens that work",
    "revoke": "end a token",
}


def person(username: str) -> User:
    """The named user; without a name, the local owner."""
    if username in ("", OWNER):
        return local_owner()
    user = User.objects.filter(username=username).first()
    if user is None:
        raise NotFound(f"There is no user named {username!r}.")
    return user
