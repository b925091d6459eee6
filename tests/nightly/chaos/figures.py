"""The table of a chaos run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from statistics import quantiles
from typing import Any

from tests.nightly.chaos.homes import Place
from tests.nightly.chaos.kills import Kills
from tests.nightly.chaos.verify import Findings

MOVES = """
    SELECT subject, type, created_at FROM agents_event
    WHERE type IN ('turn.queued', 'turn.started', 'turn.waiting', 'turn.ended') ORDER BY id
"""
KINDS = (
    *("lost", "half-written", "invented", "repeated", "gaps"),
    *("order", "attempts", "unsettled", "shown"),
)


def table(place: Place, kills: Kills, found: Findings, odd: dict[str, int]) -> str:
    return "\n".join(f"  {name:<36}{value}" for name, value in rows(place, kills, found, odd))


def rows(place: Place, kills: Kills, found: Findings, odd: dict[str, int]) -> Iterator[Any]:
    yield place.title, ""
    yield "kills -9", kills.count("KILL")
    yield "SIGTERM (of them too late or not 0)", f"{kills.count('TERM')} ({len(kills.bad_ends)})"
    yield "freezes past the lease", kills.count("FREEZE")
    for moment, times in kills.moments().most_common():
        yield f"  turns hit {moment}", times
    yield from found.figures.items()
    for kind in KINDS:
        yield kind, len(found.faults[kind])
    middle, late = percentiles(seconds_until_going_on(place, kills))
    yield "going on after a kill, s (p50, p95)", f"{middle:.1f}, {late:.1f}"
    yield "tracebacks in the logs", tracebacks(place)
    for answer, times in odd.items():
        yield f"answered {times} times", answer


def seconds_until_going_on(place: Place, kills: Kills) -> list[float]:
    """From the kill until a turn that it hit is claimed again."""
    moves: dict[str, list[Any]] = {}
    for row in place.query(MOVES):
        moves.setdefault(row["subject"], []).append((moment(row["created_at"]), row["type"]))
    waits = []
    for kill in (kill for kill in kills.made if kill.how == "KILL"):
        for turn in kill.hit:
            later = [move for move in moves.get(f"turn:{turn}", []) if move[0] > kill.at]
            if later and later[0][1] == "turn.ended":
                continue  # another process had it
            started = [at for at, type in later if type == "turn.started"]
            waits += [(started[0] - kill.at).total_seconds()] if started else []
    return waits


def moment(value: Any) -> datetime:
    """SQLite keeps times as text, in UTC."""
    if isinstance(value, str):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    assert isinstance(value, datetime)
    return value


def percentiles(seconds: list[float]) -> tuple[float, float]:
    if len(seconds) < 2:
        return (0, 0)
    cuts = quantiles(seconds, n=20)
    return cuts[9], cuts[18]


def tracebacks(place: Place) -> int:
    return sum(process.log.read_text().count("Traceback") for process in place.processes)
