"""The secrets of a source, blotted out of what leaves it: a service may echo what it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote, urlsplit

HIDDEN = "[hidden]"
SHORTEST = 4  # anything shorter is found in every text
SHORTEST_SETTING = 6  # environment variables and injected values also say `true` or `8080`
HARMLESS = {"accept", "accept-language", "content-type", "user-agent"}


def secrets_of_headers(headers: Mapping[str, str]) -> set[str]:
    """Each value, and what follows its scheme: `Bearer abc` hides `abc` too."""
    values = {value for name, value in headers.items() if name.lower() not in HARMLESS}
    tokens = {value.partition(" ")[2].strip() for value in values}
    return {secret for secret in values | tokens if len(secret) >= SHORTEST}


def secrets_of_settings(values: Iterable[object]) -> set[str]:
    return {value for value in values if isinstance(value, str) and len(value) >= SHORTEST_SETTING}


def secrets_of_url(url: str) -> set[str]:
    """A user, a password and the values of a query."""
    try:
        parts = urlsplit(url)
        known = {parts.username or "", parts.password or ""}
    except ValueError:
        return set()
    known |= {value for _, value in parse_qsl(parts.query)}
    return {secret for secret in known if len(secret) >= SHORTEST}


def blot_out(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, in whichever way they are written there."""
    forms = {form for secret in secrets for form in forms_of(secret)}
    for form in sorted(forms, key=len, reverse=True):  # none is left half
        text = text.replace(form, HIDDEN)
    return text


def forms_of(secret: str) -> set[str]:
    in_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return {secret, *in_json, quote(secret), quote(secret, safe="")}


def shown_url(url: str) -> str:
    """A URL as it may be shown: without a user, password, query or fragment."""
    return re.sub(r"[?#].*", "", re.sub(r"//[^/@]*@", "//", url))
