"""Pictures of the agent's workspace in what a model wrote: `![A chart](charts/sales.png)`, and what
a page among its files links to: `[API](../api.md#errors)`.

They are fetched from this server alone, by its own address, so that reading a reply asks nobody
else for anything.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlencode

from django.urls import reverse

LONGEST_PATH = 1_000
SCHEME_SIGNS = ":?#\\"


@dataclass(frozen=True)
class PagePlace:
    """Where a page lies: what it links to is seen from its `folder`, and had from `content`."""

    content: str
    folder: str


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


def linked_address(href: str, page: PagePlace | None) -> str:
    """The address of what a page of the workspace links to, with the place in it; nothing where
    that is not below the workspace."""
    if page is None or len(href) > LONGEST_PATH:
        return ""
    named, between, place = href.partition("#")
    if not named:
        return href
    path = posixpath.normpath(posixpath.join(page.folder, unquote(named)))
    is_outside = path in (".", "..") or path.startswith(("/", "../"))
    if is_outside or not path.isprintable() or any(sign in path for sign in SCHEME_SIGNS):
        return ""
    return f"{page.content}?{urlencode({'path': path})}{between}{place}"
