"""Which plans a script asks for, as the query of GET /api/plans says it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from ninja import Schema

from plans.models import State
from plans.search import NEEDS_ME, Query

Sort = Literal[
    "created", "-created", "state", "-state", "duration", "-duration", "tokens", "-tokens"
]


class PlansWanted(Schema):
    """`q`: every word stands in the title, goal, content or a subtask's name. `since` and `until`
    are days in UTC, both included. `attention` is needs-me for all that waits for a person, or
    failed. `sort` goes down with a leading -."""

    state: State | None = None
    attention: Literal["needs-me", "failed"] | None = None
    agent: str = ""
    conversation: int | None = None
    q: str = ""
    since: date | None = None
    until: date | None = None
    sort: Sort = "-created"

    @property
    def standings(self) -> tuple[str, ...]:
        return {"needs-me": NEEDS_ME, "failed": ("failed",)}.get(self.attention or "", ())

    def as_wanted(self) -> Query:
        return Query(
            agent=self.agent,
            conversation=self.conversation,
            text=self.q,
            since=start_of(self.since) if self.since else None,
            until=start_of(self.until) + timedelta(days=1) if self.until else None,
        )


def start_of(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
