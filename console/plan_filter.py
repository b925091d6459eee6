"""What a person looks for in the list of plans, as it stands in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.utils import timezone

from plans.search import NEEDS_ME, NEWEST, OPEN, ORDERS, Query

STATES = {
    "": "All",
    "open": "Open",
    "done": "Finished",
    "abandoned": "Abandoned",
    "failed": "Failed",
}
STANDINGS = {"open": OPEN, "done": ("done",), "abandoned": ("abandoned",), "failed": ("failed",)}
DAYS = {"": "Any time", "1": "Last day", "7": "Last 7 days", "30": "Last 30 days"}
# Columns that sort, and how at the first press.
COLUMNS = {"state": "", "duration": "-", "tokens": "-", "created": "-"}


@dataclass(frozen=True)
class Filter:
    state: str = ""
    attention: str = ""
    agent: str = ""
    days: str = ""
    q: str = ""
    sort: str = NEWEST
    page: int = 1

    def wanted(self) -> Query:
        since = timezone.now() - timedelta(days=int(self.days)) if self.days else None
        return Query(agent=self.agent, text=self.q, since=since, sort=self.sort)

    @property
    def standings(self) -> tuple[str, ...]:
        """Empty for all."""
        states = STANDINGS.get(self.state, ())
        if not self.attention:
            return tuple(states)
        return tuple(s for s in NEEDS_ME if s in states or not states) or ("none",)

    @property
    def is_plain(self) -> bool:
        return self == Filter(sort=self.sort, page=self.page)

    def query(self, **changes: object) -> str:
        """The address's query for this with changes; what is as usual is left out."""
        values = asdict(self) | {"page": 1} | changes
        usual = asdict(Filter())
        return urlencode({key: value for key, value in values.items() if value != usual[key]})

    def sorted_by(self, column: str) -> str:
        """The order after a press on the column's head: the other way when it is sorted so."""
        first = COLUMNS[column] + column
        if self.sort != first:
            return first
        return column if first.startswith("-") else f"-{column}"

    def direction(self, column: str) -> str:
        """As aria-sort has it; empty for a column that is not the order."""
        if self.sort.removeprefix("-") != column:
            return ""
        return "descending" if self.sort.startswith("-") else "ascending"

    def nothing(self, agent: str) -> str:
        """The sentence for an empty list."""
        if self.q.strip():
            return f"Nothing matches “{self.q.strip()}”."
        state = f"{STATES[self.state].lower()} " if self.state else ""
        need = " that need you" if self.attention else ""
        who = f" of {agent}" if self.agent else ""
        when = f" in the {DAYS[self.days].lower()}" if self.days else ""
        return f"No {state}plans{need}{who}{when}."


def read(query: Mapping[str, str]) -> Filter:
    """From the address; what it cannot mean is left out."""

    def one_of(name: str, known: Mapping[str, object]) -> str:
        return query.get(name, "") if query.get(name, "") in known else ""

    page = query.get("page", "")
    sort = query.get("sort", "")
    return Filter(
        state=one_of("state", STATES),
        attention=one_of("attention", {"needs-me": True}),
        agent=query.get("agent", "")[:64],
        days=one_of("days", DAYS),
        q=query.get("q", "")[:200],
        sort=sort if sort.removeprefix("-") in ORDERS else NEWEST,
        page=max(1, int(page)) if page.isascii() and page.isdecimal() and len(page) < 7 else 1,
    )
