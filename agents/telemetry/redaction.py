"""Secrets kept out of logs, and out of what a service answers: it may echo what it is sent."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, quote

from agents.normalization import split_url

HIDDEN = "[hidden]"
SHORTEST = 4  # anything shorter is found in every text
SHORTEST_SETTING = 6  # environment variables and injected values also say `true` or `8080`
HARMLESS = {"accept", "accept-language", "content-type", "user-agent"}

# What looks like a secret without being registered: what follows an authorization scheme or a
# name like token=, a password in a URL, tokens of ours and keys of providers.
LOOKS_SECRET = re.compile(
    r"""(?xi)
    ( \b(?:bearer|basic)\s+ | \b(?:token|key|password|secret)= ) [^\s"'&@\\]{4,}
    | ( ://[^/\s:@]*: ) [^\s/@]+ (?=@)
    | \b(?:planside_|sk-)[\w-]{12,}
    """
)

_registered: set[str] = set()
# Tokens that are replaced again and again: the last ones that this process has got.
_passing: deque[str] = deque(maxlen=40)


def register_secrets(secrets: Iterable[str]) -> None:
    """From now on `redact_log` hides these; short values are found in every text and are not."""
    _registered.update(secret for secret in secrets if len(secret) >= SHORTEST_SETTING)


def register_passing_secrets(secrets: Iterable[str]) -> None:
    """The same for secrets that will be others soon."""
    _passing.extend(secret for secret in secrets if secret and secret not in _passing)


def passing_secrets() -> set[str]:
    return set(_passing)


def redact_log(text: str) -> str:
    """A log line without the registered secrets and without what looks like one."""
    text = redact(text, _registered | passing_secrets())
    return LOOKS_SECRET.sub(lambda match: (match[1] or match[2] or "") + HIDDEN, text)


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
        parts = split_url(url)
        known = {parts.username or "", parts.password or ""}
    except ValueError:
        return set()
    known |= {value for _, value in parse_qsl(parts.query)}
    return {secret for secret in known if len(secret) >= SHORTEST}


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, in whichever way they are written there."""
    forms: set[str] = set()
    for secret in secrets:
        forms |= {secret, quote(secret), quote(secret, safe="")}
        forms |= {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    for form in sorted(forms, key=len, reverse=True):  # none is left half
        text = text.replace(form, HIDDEN)
    return text


def redact_json(value: object, secrets: Iterable[str]) -> object:
    """A JSON value without the secrets, in whatever depth and also where they are numbers."""
    if isinstance(value, dict):
        return {redact(k, secrets): redact_json(v, secrets) for k, v in value.items()}
    if isinstance(value, list):
        return [redact_json(each, secrets) for each in value]
    if value is None or isinstance(value, bool):
        return value
    text = str(value)
    redacted = redact(text, secrets)
    return value if redacted == text else redacted


def redacted_url(url: str) -> str:
    """A URL as it may be shown: without a user, password, query or fragment."""
    return re.sub(r"[?#].*", "", re.sub(r"//[^/@]*@", "//", url))
