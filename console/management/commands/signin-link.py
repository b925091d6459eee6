"""`manage.py signin-link [NAME]`: a link that signs a person in once."""

from __future__ import annotations

from argparse import ArgumentParser

from django.contrib.auth.models import User

from agents.errors import Conflict, NotFound
from console.auth.signin import signin_path
from console.auth.users import OWNER, local_owner
from console.home import public_address
from console.management.base import PlainCommand


class Command(PlainCommand):
    help = "Print a link that signs a person in once; the ones printed before stop working."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", default=OWNER, help="who (default: the local owner)")
        parser.add_argument("--json", action="store_true", help="print data as JSON")

    def handle(self, *, name: str, json: bool, **_: object) -> None:
        self.prepare()
        user = local_owner() if name == OWNER else User.objects.filter(username=name).first()
        if user is None:
            raise NotFound(f"There is no person named {name!r}.")
        if not user.is_active:
            raise Conflict(f"{name} is deactivated: manage.py user activate {name}")
        link = public_address() + signin_path(user)
        self.print_json({"user": name, "link": link}) if json else self.stdout.write(link)
