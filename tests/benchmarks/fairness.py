"""What one person's load costs another: turns and pages beside it, and alone.

One person has far more going than there are slots: endless replies, searches in large files, long
API calls. Meanwhile another says "hello", which is a turn that writes a file, and opens a page.
Printed: median and worst milliseconds, and the ratio of the medians to those without any load.

    python -m tests.benchmarks.fairness [--rounds N] [--only SQLite]

Nothing is asserted.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.checkouts import Server, chosen_by, python_of, say, say_load
from tests.benchmarks.console import database_of_its_own
from tests.benchmarks.wire import Http
from tests.console.serving import DEADLINE
from tests.fake_model import FakeModelServer, call, rule
from tests.fake_model import say as says

FILES, LINE, LINES = 200, "a" * 60 + "!", 8_000
RULES = [
    rule(says("word " * 100_000, chunk=5, delay=0.5), user="endless"),
    rule(call("search_files", pattern="(a+)+$"), user="search"),
    rule(call("write_file", path="hello.txt", content="Hello."), user="hello", results=0),
    rule(says("Done."), user="hello"),
]


def body(field: str, value: str, count: int) -> bytes:
    return f'{{"goal": "g", "{field}": [{",".join([value] * count)}]}}'.encode()


# Of found-2's A2: each was parsed for seconds, or stored, where nobody counted its values.
BODIES = [
    body("subtasks", '"a"', 400_000),
    body("subtasks", "1", 900_000),
    body("subtasks", "{}", 600_000),
    body("unknown", "[]", 600_000),
    body("metadata", "[]", 600_000),
    body("subtasks", "[" * 20_000 + "]" * 20_000, 1),
]
PASSWORD = "correct horse battery"


class Shared(Server):
    """Two people use it: its owner, who is measured, and one who is busy."""

    refusals: list[float]

    def prepare(self, workers: int) -> None:
        self.refusals = []
        add = [python_of(self.folder), "manage.py", "user", "add", "busy"]
        subprocess.run(
            add, cwd=self.folder, env=self.environment, input=PASSWORD, text=True, check=True
        )
        token = self.run("token", "create", "busy", "--user", "busy")
        self.busy = {"Authorization": f"Bearer {token}"}
        self.workers = [self.manage("worker") for _ in range(workers)]

    def end(self) -> None:
        for worker in getattr(self, "workers", []):
            worker.terminate()
            worker.communicate(timeout=DEADLINE)
        super().end()

    async def ask_as(self, headers: dict[str, str], method: str, path: str, body: Any) -> Any:
        http = Http(self.address, headers)
        try:
            status, said = await http.ask(method, f"/api{path}", body)
        finally:
            http.close()
        assert status < 300, (path, status, said)
        return said

    async def agent(self, headers: dict[str, str], id: str) -> None:
        tools = {"write_file": "allow", "search_files": "allow"}
        await self.ask_as(headers, "POST", "/agents", {"id": id, "name": id, "tools": tools})

    async def turn(self, headers: dict[str, str], agent: str, text: str) -> int:
        made = await self.ask_as(headers, "POST", "/conversations", {"agent": agent})
        path = f"/conversations/{made['id']}"
        await self.ask_as(headers, "POST", f"{path}/messages", {"text": text})
        return int(made["id"])

    async def answered(self) -> float:
        """Milliseconds from a new conversation until its turn, which writes a file, has ended."""
        began = time.monotonic()
        id = await self.turn(self.headers, "mine", "hello")
        tail = Http(self.address, self.headers)
        async for line in tail.lines(f"/api/conversations/{id}/events?after=0"):
            if line == "event: turn.ended":
                break
        tail.close()
        return (time.monotonic() - began) * 1000

    async def page(self) -> float:
        began = time.monotonic()
        await self.ask("GET", "/conversations")
        return (time.monotonic() - began) * 1000

    # Loads

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        yield

    @asynccontextmanager
    async def replies(self) -> AsyncIterator[None]:
        async with self.many(150, "endless"):
            yield

    @asynccontextmanager
    async def searches(self) -> AsyncIterator[None]:
        async with self.many(14, "search"):
            yield

    @asynccontextmanager
    async def many(self, count: int, text: str) -> AsyncIterator[None]:
        made = [await self.turn(self.busy, "theirs", text) for _ in range(count)]
        await asyncio.sleep(2)
        yield
        for id in made:
            await self.ask_as(self.busy, "DELETE", f"/conversations/{id}", None)
        await asyncio.sleep(2)

    @asynccontextmanager
    async def calls(self) -> AsyncIterator[None]:
        body = {"input": "endless", "agent": "theirs"}
        path = "/chains/default-chain/run"
        tasks = [
            asyncio.ensure_future(self.ask_as(self.busy, "POST", path, body)) for _ in range(8)
        ]
        await asyncio.sleep(2)
        yield
        for task in tasks:
            assert not task.done(), "it is long"
            task.cancel()
        await asyncio.wait(tasks)

    @asynccontextmanager
    async def bodies(self) -> AsyncIterator[None]:
        tasks = [asyncio.ensure_future(self.refused(data)) for data in BODIES]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    async def refused(self, data: bytes) -> None:
        """Again and again, with a hundredth of a second between two."""
        while True:
            http = Http(self.address, self.busy)
            began = time.monotonic()
            await http.open()
            kind = f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
            head = f"POST /api/plans HTTP/1.1\r\nHost: {http.host}:{http.port}\r\n{http.head}{kind}"
            http.writer.write(head.encode() + data)
            status, _ = await http.read_head()
            http.close()
            assert status == 422, status
            self.refusals.append((time.monotonic() - began) * 1000)
            await asyncio.sleep(0.01)


LOADS: dict[str, Callable[[Shared], Any]] = {
    "alone": Shared.alone,
    "150 endless replies": Shared.replies,
    "14 searches without end": Shared.searches,
    "8 long API calls": Shared.calls,
    "6 huge bodies, again and again": Shared.bodies,
}


async def measure(server: Shared, rounds: int) -> dict[str, tuple[list[float], list[float]]]:
    await server.agent(server.headers, "mine")
    await server.agent(server.busy, "theirs")
    files = Path(server.home) / "workspaces" / "theirs" / "files"
    files.mkdir(exist_ok=True)
    for number in range(FILES):
        (files / f"{number}.txt").write_text(f"{LINE}\n" * LINES)
    for _ in range(5):
        await server.answered()
    found = {}
    for name, load in LOADS.items():
        async with load(server):
            turns = [await server.answered() for _ in range(rounds)]
            found[name] = turns, [await server.page() for _ in range(rounds)]
    return found


def table(title: str, found: dict[str, tuple[list[float], list[float]]]) -> str:
    lines = [f"{title:<34}{'turn: ms, worst, ratio':>28}{'page: ms, worst, ratio':>28}"]
    for name, figures in found.items():
        cells = ""
        for ms, alone in zip(figures, found["alone"], strict=True):
            middle = median(ms)
            cells += f"{middle:>13.1f}{max(ms):>9.1f}{middle / median(alone):>6.2f}"
        lines.append(f"{name:<34}{cells}")
    return "\n".join(lines)


def main() -> None:
    folders, rounds, some = chosen_by(__doc__ or "")
    for title, environment in some:
        for workers in [0] if title == "SQLite" else [0, 2]:
            with ExitStack() as stack, FakeModelServer({"rules": RULES}) as model:
                own = environment | database_of_its_own(stack, environment)
                if workers:
                    own["PLANSIDE_WORKERS"] = "external"
                server = Shared(stack, folders["new"], model, **own)
                server.prepare(workers)
                words = f"{title}, {workers} workers" if workers else title
                say(table(words, asyncio.run(measure(server, rounds))))
                refusals = f"{median(server.refusals):.0f}, worst {max(server.refusals):.0f}"
                say(f"ms until such a body is refused: {refusals}\n")
    say_load()


if __name__ == "__main__":
    main()
