"""Why something was refused, and why a running turn leaves its loop.

Refused
├── Invalid      422  what was sent cannot be used
│   └── TooLarge 422  … because it is too big
├── Conflict     409  the state refuses; `current_version` names the version that stands
│   └── NoModel  409  … because the model that is to answer does not exist
├── Stale        412  it was read before somebody else changed it
├── NotFound     404  there is no such thing, or not for this person
├── Forbidden    403  this person may not
├── RateLimited  429  … so often; Retry-After says when again
└── DiskFull     507  there is no room on the server's disk

Interruption          a turn leaves its loop before it is through
├── TurnLost          somebody else has it
├── TurnStopped       a person has stopped it
├── TurnWaits         for a person or a child
├── NothingToDo       there is nothing left to work on
└── TurnFailed        the work itself failed
    └── TaskFailed    … at one task of a chain
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.models import Turn


class Refused(Exception):
    """One sentence for a person in `str(error)`, and the HTTP status that says the same.

    `field` is what was entered and cannot be used, by its name in forms, if it is one field.
    """

    status = 400
    headers: Mapping[str, str] = {}

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


@contextmanager
def about(field: str) -> Iterator[None]:
    """What is refused within is refused for this field, unless it names another."""
    try:
        yield
    except Refused as refusal:
        refusal.field = refusal.field or field
        raise


class Invalid(Refused):
    status = 422


class TooLarge(Invalid):
    pass


class Conflict(Refused):
    status = 409

    def __init__(
        self, sentence: str, current_version: int | None = None, *, field: str = ""
    ) -> None:
        super().__init__(sentence, field)
        self.current_version = current_version


class NoModel(Conflict):
    pass


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


class DiskFull(Refused):
    status = 507


class Interruption(Exception):
    is_no_failure = True


class TurnLost(Interruption):
    """Somebody else owns the turn now, or it is over. Nothing more may be written."""


class TurnStopped(Interruption):
    """A person has stopped it."""


class TurnWaits(Interruption):
    """It waits, without a worker, for a person or a child; `because` may say more."""

    def __init__(self, waiting_for: Turn.WaitingFor, because: str = "") -> None:
        super().__init__(waiting_for)
        self.waiting_for = waiting_for
        self.because = because


class NothingToDo(Interruption):
    """It turned out that there is nothing to work on any more."""


class TurnFailed(Interruption):
    """The work itself failed: `error_class` as in Attempt.FailureClass, one sentence as text.

    `remedy` is where it can be mended: "models", "agent", by another "model", or nowhere; `words`
    are a server's own, where the sentence does not hold them.
    """

    is_no_failure = False

    def __init__(
        self,
        error_class: str,
        sentence: str,
        title: str = "",
        advice: str = "",
        remedy: str = "",
        words: str = "",
    ) -> None:
        super().__init__(sentence)
        self.words = words
        self.remedy = remedy
        self.error_class = error_class
        self.title = title
        self.advice = advice


class TaskFailed(TurnFailed):
    """A task of a chain failed; `output` is what is known of it for the task that goes on."""

    def __init__(self, sentence: str, output: dict[str, object]) -> None:
        super().__init__("logic", sentence)
        self.output = output
