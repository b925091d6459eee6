"""Something Planside leans on is away for a while: said once, and once more when it is back."""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


class Outage:
    """`what` is the subject of the sentences: "the database"."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.is_on = False

    def began(self, error: BaseException) -> None:
        if not self.is_on:
            self.is_on = True
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            log.warning("%s does not answer (%s); trying again", self.what, reason)

    def over(self) -> None:
        if self.is_on:
            self.is_on = False
            log.warning("%s answers again", self.what)
