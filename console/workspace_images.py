"""Pictures of the agent's workspace in what a model wrote: `![A chart](charts/sales.png)`.

They are fetched from this server alone, by its own address, so that reading a reply asks nobody
else for anything.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from django.urls import reverse

LONGEST_PATH = 1_000
SCHEME_SIGNS = ":?#\\"


def files_base(conversation: int) -> str:
    """Where the pictures of this conversation's agent are."""
    return reverse("workspace-picture", args=[conversation, "x"])[:-1]


def picture_address(source: str, base: str) -> str:
    """The address of a picture by its path in the workspace; nothing where it is no such path."""
    path = unquote(source)
    parts = path.split("/")
    if parts[0] == ".":
        parts = parts[1:]
    is_odd = any(part in ("", ".", "..") for part in parts)
    if not base or is_odd or not path.isprintable() or any(sign in path for sign in SCHEME_SIGNS):
        return ""
    return base + quote("/".join(parts)) if len(path) <= LONGEST_PATH else ""
