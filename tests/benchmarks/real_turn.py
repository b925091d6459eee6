"""A real turn: what a first message costs the server, everything fresh.

Each turn is a conversation of its own: it is made, its event stream is opened, a message is posted,
20 tokens come at 10 ms each from a model on loopback, the end of the turn is read from the stream;
each request on a connection of its own. Measured at 1, 10 and 50 such people at once: processor
milliseconds of the server's processes a turn (PostgreSQL's own are not in them), turns a second,
and milliseconds from the message to the model's having received the request.

    make bench-real OLD=../other-checkout [ROUNDS=10]
    python -m tests.benchmarks.real_turn [--old FOLDER] [--new FOLDER] [--rounds N] [--only SQLite]

Part of `make bench` as well. Nothing is asserted.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from itertools import count
from pathlib import Path
from statistics import median

from tests.benchmarks.checkouts import (
    ROUNDS,
    Compared,
    Server,
    chosen_by,
    in_turns,
    ratio,
    say,
    say_load,
    started,
)
from tests.benchmarks.wire import Http
from tests.console.serving import ROOT

PAUSE, TOKENS = 0.01, 20  # seconds before each of so many tokens
# People at once, and turns a measurement: few, as what disturbs the machine should hit old and new.
TURNS = {1: 4, 10: 30, 50: 100}
WARM = 20  # turns before the first one that counts
numbers = count(1)


@dataclass(frozen=True)
class Measured:
    cpu: float  # milliseconds a turn
    rate: float  # turns a second
    asked: float  # milliseconds, median
    asked_late: float  # the same, 95th percentile


class Talking(Server):
    """It has turns."""

    async def turn(self) -> tuple[str, float]:
        """The text of the message, and when it was sent."""
        text = f"Message {next(numbers)}"
        conversation = (await self.ask("POST", "/conversations", {"agent": "bench"}))["id"]
        tail = Http(self.address, self.headers)
        lines = tail.lines(f"/api/conversations/{conversation}/events")
        await anext(lines)
        sent = time.monotonic()
        await self.ask("POST", f"/conversations/{conversation}/messages", {"text": text})
        while await anext(lines) != "event: turn.ended":
            pass
        tail.close()
        return text, sent

    async def turns(self, at_once: int, wanted: int) -> dict[str, float]:
        """When each message was sent, by its text."""
        left = iter(range(wanted))
        sent: dict[str, float] = {}

        async def person() -> None:
            for _ in left:
                text, at = await self.turn()
                sent[text] = at

        await asyncio.gather(*(person() for _ in range(at_once)))
        return sent

    async def warm_up(self) -> None:
        await self.ask("POST", "/agents", {"id": "bench", "name": "Bench", "tools": {}})
        await self.turns(4, WARM)

    async def measure(self, at_once: int) -> Measured:
        await self.model.log()  # what was before is forgotten
        cpu, began = self.cpu(), time.monotonic()
        sent = await self.turns(at_once, TURNS[at_once])
        took, cpu = time.monotonic() - began, self.cpu() - cpu
        seen = await self.model.log()
        asked = sorted((seen[text][0] - at) * 1000 for text, at in sent.items())
        late = asked[int(len(asked) * 0.95)]
        return Measured(cpu / len(sent) * 1000, len(sent) / took, median(asked), late)


async def rows(environment: dict[str, str]) -> list[tuple[str, str]]:
    """For `make bench`: (what, figure), of one server on this engine."""
    with ExitStack() as stack:
        [server] = started(stack, environment, {"new": ROOT}, PAUSE, TOKENS, kind=Talking).values()
        await server.warm_up()
        table = []
        for at_once in TURNS:
            it = middle([await server.measure(at_once) for _ in range(ROUNDS // 2)])
            rate = f"{it.rate:.1f} ({it.cpu:.1f})"
            table.append((f"real turns/s, {at_once} at once (CPU ms each)", rate))
            asked = f"{it.asked:.1f} / {it.asked_late:.1f}"
            table.append(("   message → model request, ms", asked))
        return table


def compare(title: str, found: dict[int, Compared[Measured]]) -> str:
    names = list(next(iter(found.values())))
    lines = [f"{title:<18}" + "".join(f"{name:>36}" for name in names)]
    lines.append(
        "at once".ljust(18) + f"{'CPU ms':>10}{'turns/s':>10}{'asked ms':>16}" * len(names)
    )
    for at_once, by_name in found.items():
        cells = ""
        for it in map(middle, by_name.values()):
            asked = f"{it.asked:.1f} / {it.asked_late:.1f}"
            cells += f"{it.cpu:>10.1f}{it.rate:>10.1f}{asked:>16}"
        if len(by_name) > 1:
            new, old = ([each.cpu for each in by_name[name]] for name in ("new", "old"))
            cells += f"   CPU new/old {ratio(new, old)}"
        lines.append(f"{at_once:<18}{cells}")
    return "\n".join(lines)


def middle(measured: list[Measured]) -> Measured:
    """The median of each figure."""
    return Measured(*map(median, zip(*map(astuple, measured), strict=True)))


async def on_engine(
    environment: dict[str, str], folders: dict[str, Path], rounds: int
) -> dict[int, Compared[Measured]]:
    with ExitStack() as stack:
        servers = started(stack, environment, folders, PAUSE, TOKENS, kind=Talking)
        for server in servers.values():
            await server.warm_up()
        return await in_turns(servers, rounds, list(TURNS), Talking.measure)


def main() -> None:
    folders, rounds, some = chosen_by(__doc__)
    for title, environment in some:
        say(compare(title, asyncio.run(on_engine(environment, folders, rounds))) + "\n")
    say_load()


if __name__ == "__main__":
    main()
