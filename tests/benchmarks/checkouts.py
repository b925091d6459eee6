"""Servers of two checkouts, measured in turns in one run.

Each is started by the interpreter of its own `.venv` (`make old` makes the older one), in a home and
on a database of its own, and is known by HTTP and the command line only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeVar

from tests.benchmarks.console import Model, database_of_its_own, engines
from tests.benchmarks.wire import Http
from tests.console.serving import DEADLINE, READY, ROOT, surroundings

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
Compared = dict[str, list[T]]  # by the checkout: old and new; a measurement of each round

ROUNDS = 10


class Server:
    """`manage.py serve` of one checkout."""

    def __init__(self, stack: ExitStack, folder: Path, model: Model, **environment: str) -> None:
        self.folder, self.model = folder, model
        self.home = stack.enter_context(tempfile.TemporaryDirectory(prefix="planside-bench-"))
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
        self.link = ready[1] + ready[3]
        token = self.run("token", "create", "bench")
        self.headers = {"Authorization": f"Bearer {token}"}

    def manage(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [python_of(self.folder), "manage.py", *words],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> str:
        """What a command of the checkout says about this server's home."""
        process = self.manage(*words)
        out, err = process.communicate(timeout=10 * DEADLINE)
        assert process.returncode == 0, err
        return out.strip()

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=DEADLINE)

    def cpu(self) -> float:
        """Seconds of processor time that the server and what it started have used."""
        pids = [self.process.pid, *descendants(self.process.pid)]
        return sum(map(ticks_of, pids)) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Megabytes that the server process holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    async def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """On a connection of its own."""
        http = Http(self.address, self.headers)
        status, said = await http.ask(method, f"/api{path}", body)
        http.close()
        assert status < 300, (path, status, said)
        return said


def python_of(folder: Path) -> str:
    own = folder / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def ticks_of(pid: int) -> int:
    """Of the process and of those of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return sum(map(int, fields[11:15]))


def descendants(pid: int) -> Iterator[int]:
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, listed.read_text().split()):
            yield child
            yield from descendants(child)


def started(
    stack: ExitStack,
    environment: dict[str, str],
    folders: dict[str, Path],
    *model: float,
    kind: type[Any] = Server,
) -> dict[str, Any]:
    """A server of each checkout, each with a model and a database of its own."""
    return {
        name: kind(
            stack,
            folder,
            stack.enter_context(Model(*model)),
            **environment | database_of_its_own(stack, environment),
        )
        for name, folder in folders.items()
    }


async def in_turns(
    servers: dict[str, Any],
    rounds: int,
    wanted: list[Key],
    measure: Callable[[Any, Key], Awaitable[T]],
) -> dict[Key, Compared[T]]:
    """Each measurement of one is followed by the other's; who begins changes with the round."""
    found: dict[Key, Compared[T]] = {key: {name: [] for name in servers} for key in wanted}
    for number in range(rounds):
        for key, by_name in found.items():
            for name in sorted(servers, reverse=bool(number % 2)):
                by_name[name].append(await measure(servers[name], key))
    return found


def ratio(new: list[float], old: list[float], unit: str = "ms") -> str:
    """The median round's new to old, each round's, and between which two their middle half lies."""
    rounds = [after / before if before else 1.0 for after, before in zip(new, old, strict=True)]
    low, _, high = quantiles(rounds, n=4) if len(rounds) > 1 else rounds * 3
    each = " ".join(f"{value:.2f}" for value in rounds)
    more = median(new) - median(old)
    return f"{median(rounds):.2f}, {more:+.1f} {unit} (middle half {low:.2f} to {high:.2f}: {each})"


def chosen_by(document: str) -> tuple[dict[str, Path], int, list[tuple[str, dict[str, str]]]]:
    """What the command line names: the checkouts, how many rounds, the engines."""
    parser = argparse.ArgumentParser(description=document.splitlines()[0])
    parser.add_argument("--old", type=Path, help="a checkout of another commit")
    parser.add_argument("--new", type=Path, default=ROOT)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", choices=[name for name, _ in engines()])
    chosen = parser.parse_args()
    folders = {"old": chosen.old, "new": chosen.new}
    folders = {name: folder.resolve() for name, folder in folders.items() if folder}
    some = [engine for engine in engines() if chosen.only in (None, engine[0])]
    return folders, chosen.rounds, some


def say_load() -> None:
    busy, cores = os.getloadavg()[1], os.cpu_count() or 1
    if busy > 2 * cores:
        sys.stdout.write(f"Others worked too (load {busy:.1f} on {cores} cores): rough figures.\n")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
