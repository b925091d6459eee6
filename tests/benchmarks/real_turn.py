"""A real turn: what a first message costs the server, everything fresh.

Each turn is a conversation of its own: it is made, its event stream is opened, a message is posted,
20 tokens come at 10 ms each from a model on loopback, the end of the turn is read from the stream;
each request on a connection of its own. Measured at 1, 10 and 50 such people at once: processor
milliseconds of the server's processes a turn (PostgreSQL's own are not in them), turns a second,
and milliseconds from the message to the model's having received the request.

    make bench-real OLD=../other-checkout [ROUNDS=10]
    python -m tests.benchmarks.real_turn [--old FOLDER] [--new FOLDER] [--rounds N] [--only SQLite]

The driver knows nothing but HTTP and the command line, so servers of two checkouts are measured by
the same code, in turns, in one run. Part of `make bench` as well. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import astuple, dataclass
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tests.benchmarks.console import Model, database_of_its_own, engines
from tests.benchmarks.wire import Http
from tests.console.serving import DEADLINE, READY, ROOT, surroundings

PAUSE, TOKENS = 0.01, 20  # seconds before each of so many tokens
# People at once, and turns a measurement: few, as what disturbs the machine should hit old and new.
TURNS = {1: 4, 10: 30, 50: 100}
ROUNDS = 10
WARM = 20  # turns before the first one that counts
numbers = count(1)


@dataclass(frozen=True)
class Measured:
    cpu: float  # milliseconds a turn
    rate: float  # turns a second
    asked: float  # milliseconds, median
    asked_late: float  # the same, 95th percentile


Compared = dict[str, list[Measured]]  # by the checkout: old and new


class Server:
    """`manage.py serve` of one checkout, in a home and on a database of its own."""

    def __init__(self, stack: ExitStack, folder: Path, model: Model, **environment: str) -> None:
        self.folder, self.model = folder, model
        self.home = stack.enter_context(tempfile.TemporaryDirectory(prefix="planside-real-"))
        self.environment = (
            surroundings(self.home)
            | environment
            | {
                "OPENAI_BASE_URL": model.url,
                "OPENAI_API_KEY": "bench",
                "PLANSIDE_MODEL": "openai/bench",
                "PYTHONHASHSEED": "0",  # or each process is some per cent faster or slower for good
            }
        )
        self.process = self.manage("serve")
        stack.callback(self.end)
        line = self.process.stdout.readline().strip()
        ready = READY.match(line)
        assert ready, f"no ready line but {line!r}: {self.process.stderr.read()}"
        self.address = ready[1]
        token = self.manage("token", "create", "bench").communicate(timeout=DEADLINE)[0].strip()
        self.headers = {"Authorization": f"Bearer {token}"}

    def manage(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "manage.py", *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=DEADLINE)

    def cpu(self) -> float:
        """Seconds of processor time that the server and what it started have used."""
        pids = [self.process.pid, *descendants(self.process.pid)]
        return sum(map(ticks_of, pids)) / os.sysconf("SC_CLK_TCK")

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """On a connection of its own."""
        http = Http(self.address, self.headers)
        status, said = await http.ask("POST", f"/api{path}", body)
        http.close()
        assert status < 300, (path, status, said)
        return said

    async def turn(self) -> tuple[str, float]:
        """The text of the message, and when it was sent."""
        text = f"Message {next(numbers)}"
        conversation = (await self.post("/conversations", {"agent": "bench"}))["id"]
        tail = Http(self.address, self.headers)
        lines = tail.lines(f"/api/conversations/{conversation}/events")
        await anext(lines)
        sent = time.monotonic()
        await self.post(f"/conversations/{conversation}/messages", {"text": text})
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
        await self.post("/agents", {"id": "bench", "name": "Bench", "tools": {}})
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


def ticks_of(pid: int) -> int:
    """Of the process and of those of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return sum(map(int, fields[11:15]))


def descendants(pid: int) -> Iterator[int]:
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, listed.read_text().split()):
            yield child
            yield from descendants(child)


async def rows(environment: dict[str, str]) -> list[tuple[str, str]]:
    """For `make bench`: (what, figure), of one server on this engine."""
    with ExitStack() as stack:
        [server] = started(stack, environment, {"new": ROOT}).values()
        await server.warm_up()
        table = []
        for at_once in TURNS:
            it = middle([await server.measure(at_once) for _ in range(ROUNDS // 2)])
            rate = f"{it.rate:.1f} ({it.cpu:.1f})"
            table.append((f"real turns/s, {at_once} at once (CPU ms each)", rate))
            asked = f"{it.asked:.1f} / {it.asked_late:.1f}"
            table.append(("   message → model request, ms", asked))
        return table


def started(
    stack: ExitStack, environment: dict[str, str], folders: dict[str, Path]
) -> dict[str, Server]:
    """A server of each checkout, each with a model and a database of its own."""
    return {
        name: Server(
            stack,
            folder,
            stack.enter_context(Model(PAUSE, TOKENS)),
            **environment | database_of_its_own(stack, environment),
        )
        for name, folder in folders.items()
    }


async def in_turns(servers: dict[str, Server], rounds: int) -> dict[int, Compared]:
    """Each measurement of one is followed by the other's; who begins changes with the round."""
    for server in servers.values():
        await server.warm_up()
    found: dict[int, Compared] = {n: {name: [] for name in servers} for n in TURNS}
    for number in range(rounds):
        for at_once, by_name in found.items():
            for name in sorted(servers, reverse=bool(number % 2)):
                by_name[name].append(await servers[name].measure(at_once))
    return found


def compare(title: str, found: dict[int, Compared]) -> str:
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
        lines.append(f"{at_once:<18}{cells}{ratio(by_name)}")
    return "\n".join(lines)


def middle(measured: list[Measured]) -> Measured:
    """The median of each figure."""
    return Measured(*map(median, zip(*map(astuple, measured), strict=True)))


def ratio(by_name: Compared) -> str:
    """CPU of new to old, and how much more it is, over all rounds together; and between which two the rounds' middle half
    lies, which says how much to trust it."""
    if len(by_name) < 2:
        return ""
    new, old = ([each.cpu for each in by_name[name]] for name in ("new", "old"))
    rounds = [after / before for after, before in zip(new, old, strict=True)]
    low, _, high = quantiles(rounds, n=4) if len(rounds) > 1 else rounds * 3
    more = (sum(new) - sum(old)) / len(new)
    words = f"   CPU new/old {sum(new) / sum(old):.2f}, {more:+.1f} ms a turn"
    return f"{words} (rounds {low:.2f} to {high:.2f})"


async def on_engine(
    environment: dict[str, str], folders: dict[str, Path], rounds: int
) -> dict[int, Compared]:
    with ExitStack() as stack:
        return await in_turns(started(stack, environment, folders), rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", type=Path, help="a checkout of another commit")
    parser.add_argument("--new", type=Path, default=ROOT)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", choices=[name for name, _ in engines()])
    chosen = parser.parse_args()
    folders = {"old": chosen.old, "new": chosen.new}
    folders = {name: folder.resolve() for name, folder in folders.items() if folder}
    for title, environment in engines():
        if chosen.only in (None, title):
            found = asyncio.run(on_engine(environment, folders, chosen.rounds))
            sys.stdout.write(compare(title, found) + "\n\n")
            sys.stdout.flush()
    busy, cores = os.getloadavg()[1], os.cpu_count() or 1
    if busy > 2 * cores:
        sys.stdout.write(f"Others worked too (load {busy:.1f} on {cores} cores): rough figures.\n")


if __name__ == "__main__":
    main()
