"""Secrets this process knows, kept out of whatever it writes down for its operator."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agents.tools.secrets import HIDDEN, SHORTEST_SETTING, blot_out

_known: set[str] = set()

# What looks like a secret although nobody has told us: what follows an authorization scheme or a
# name like token=, a password in a URL, tokens of ours and keys of providers.
LOOKS = re.compile(
    r"""(?xi)
    ( \b(?:bearer|basic)\s+ | \b(?:token|key|password|secret)= ) [^\s"'&@\\]{4,}
    | ( ://[^/\s:@]*: ) [^\s/@]+ (?=@)
    | \b(?:planside_|sk-)[\w-]{12,}
    """
)


def remember(secrets: Iterable[str]) -> None:
    """From now on these are blotted out; short values are found in every text and are not."""
    _known.update(secret for secret in secrets if len(secret) >= SHORTEST_SETTING)


def hide(text: str) -> str:
    return LOOKS.sub(lambda found: (found[1] or found[2] or "") + HIDDEN, blot_out(text, _known))
