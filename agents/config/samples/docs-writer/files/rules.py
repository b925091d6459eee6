"""The rules of Tidybox: what they are and how they are read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

KEYS = {"match", "to", "older_than_days"}


class RulesError(Exception):
    """The rules file cannot be used; the text says why."""


@dataclass(frozen=True)
class Rule:
    match: str
    to: str
    older_than_days: float = 0

    def fits(self, name: str) -> bool:
        """Whether the name fits the pattern. Capital and small letters are the same."""
        return fnmatch(name.lower(), self.match.lower())


def load_rules(path: Path) -> list[Rule]:
    """Read a rules file; the first rule that fits a file will decide about it."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RulesError(f"{path} cannot be read: {error}") from None
    if not isinstance(entries, list):
        raise RulesError(f"{path} must hold a list of rules.")
    return [read_rule(entry) for entry in entries]


def read_rule(entry: object) -> Rule:
    if not isinstance(entry, dict) or not {"match", "to"} <= entry.keys():
        raise RulesError("A rule needs the keys match and to.")
    if unknown := entry.keys() - KEYS:
        raise RulesError(f"Unknown key in a rule: {', '.join(sorted(unknown))}.")
    return Rule(str(entry["match"]), str(entry["to"]), float(entry.get("older_than_days", 0)))
