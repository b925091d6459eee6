"""What happened to checks, as the timeline says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from agents.sentences import detailed

SIGNS = {"check.passed": "done", "check.failed": "check_failed", "check.not_run": "waiting"}


def check_words(type: str, data: Mapping[str, Any]) -> str:
    """One result, with what the check looks at and why it said no."""
    words, said = str(data.get("words") or ""), str(data.get("said") or "")
    if not words:
        return gettext("looked at, and counts as checked")
    if type == "check.passed":
        return gettext("checked: {words}").format(words=words)
    if type == "check.failed":
        return detailed(gettext("check failed: {words}").format(words=words), said)
    return detailed(gettext("check could not be run: {words}").format(words=words), said)


def verdict_words(verified: object) -> str:
    """What the results of a subtask have come to."""
    if verified is False:
        return gettext("no longer true")
    return gettext("checked") if verified else gettext("done by the agent’s word")
