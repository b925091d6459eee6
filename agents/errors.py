"""Why something was refused, drawn as one tree.

Refused
├── Invalid      422  what was sent cannot be used
│   └── TooLarge 422  … because it is too big
├── Conflict     409  the state refuses; `current_version` names the version that stands
├── Stale        412  it was read before somebody else changed it
├── NotFound     404  there is no such thing, or not for this person
├── Forbidden    403  this person may not
└── RateLimited  429  … so often; Retry-After says when again
"""

from __future__ import annotations

from collections.abc import Mapping


class Refused(Exception):
    """One sentence for a person in `str(error)`, and the HTTP status that says the same."""

    status = 400
    headers: Mapping[str, str] = {}


class Invalid(Refused):
    status = 422


class TooLarge(Invalid):
    pass


class Conflict(Refused):
    status = 409

    def __init__(self, sentence: str, current_version: int | None = None) -> None:
        super().__init__(sentence)
        self.current_version = current_version


class Stale(Refused):
    status = 412


class NotFound(Refused):
    status = 404


class Forbidden(Refused):
    status = 403


class RateLimited(Refused):
    status = 429

    def __init__(self, sentence: str, wait: int) -> None:
        super().__init__(sentence)
        self.headers = {"Retry-After": str(wait)}
