"""`manage.py doctor`: what is configured, what answers, what to fix."""

from __future__ import annotations

from argparse import ArgumentParser

from agents.errors import Conflict
from console.management.base import PlainCommand
from console.ops.doctor import findings

MARKS = {"fine": "ok  ", "note": "note", "wrong": "FIX "}


class Command(PlainCommand):
    help = "Say what is configured, what answers, and what to fix."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print data as JSON")

    def handle(self, *, json: bool, **_: object) -> None:
        found = findings()
        if json:
            self.print_json([finding._asdict() for finding in found])
        for finding in [] if json else found:
            advice = f" {finding.advice}" if finding.advice else ""
            line = f"{MARKS[finding.grade]}  {finding.about}: {finding.sentence}{advice}"
            self.stdout.write(line)
        wrong = sum(finding.grade == "wrong" for finding in found)
        if wrong:
            raise Conflict(f"{wrong} of {len(found)} need fixing.")
