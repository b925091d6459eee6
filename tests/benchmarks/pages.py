"""Pages as they are asked for, and a plan's change until open pages show it: old beside new.

Pages of conversations of 10 and 10,000 messages, and the list of 1,000 plans: processor milliseconds
of the server for each, and milliseconds until the answer is whole. A change of a plan with 1, 3 and
20 pages open: the same, until the last page has its frame. Then what recording 1,000 files takes.

    make bench-pages OLD=../planside-a8f3ff6 [ROUNDS=4]
    python -m tests.benchmarks.pages [--old FOLDER] [--new FOLDER] [--rounds N] [--only SQLite]
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import time
from asyncio import to_thread
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks import changes, recordings
from tests.benchmarks.checkouts import (
    Compared,
    Server,
    chosen_by,
    in_turns,
    python_of,
    ratio,
    say,
    say_load,
    started,
)
from tests.benchmarks.wire import Http, Socket

ASKED = 20  # times in each round
CHANGES = 15  # of a plan, in each round
PAGES = (1, 3, 20)
# By the checkout's own models; prints the addresses. As a string, because the checkout may be old.
SEED = """
import json
from django.contrib.auth.models import User
from agents.models import Conversation, Event, Message, Turn
from plans import actions
from plans.schemas import PlanDraft

TEXT = "Read `docs/guide.md`:\\n\\n- two links are broken\\n- one section is **empty**\\n\\nNext."
owner = User.objects.get()

def conversation(count):
    c = Conversation.objects.create(owner=owner, agent_id="docs-writer", seq=count, title=f"{count}")
    turns = Turn.objects.bulk_create(
        Turn(conversation=c, state="done", kind="chat") for _ in range(count // 2)
    )
    Message.objects.bulk_create(
        Message(
            conversation=c,
            turn=turns[(seq - 1) // 2],
            seq=seq,
            changed_seq=seq,
            role="user" if seq % 2 else "assistant",
            kind=Message.Kind.TEXT,
            text=TEXT,
        )
        for seq in range(1, count + 1)
    )
    Event.objects.bulk_create(
        Event(conversation=c, seq=seq, type="message.added") for seq in range(1, count + 1)
    )
    return c.pk

found = {f"page of {count:,} messages": f"/c/{conversation(count)}/" for count in (10, 10_000)}
for number in range(1_000):
    c = Conversation.objects.create(owner=owner, agent_id="docs-writer", title=f"Plan {number}")
    draft = PlanDraft(title=f"Plan {number}", subtasks=["Read", "Write", "Check"])
    plan = actions.create_plan(c, draft, owner.username)
    if number % 2:
        actions.approve_plan(plan, 1, owner.username, run="no")
found["list of 1,000 plans"] = "/plans/"
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Measured:
    cpu: float  # milliseconds each
    took: float  # milliseconds, median


class Read(Server):
    """One whose owner reads pages."""

    cookie = ""
    addresses: dict[str, str]

    async def sign_in(self) -> None:
        self.addresses = json.loads(self.run("shell", "-v", "0", "-c", SEED).splitlines()[-1])
        await self.ask("POST", "/agents", {"id": "bench", "name": "Bench", "tools": {}})
        http = Http(self.address, {})
        await http.send("GET", self.link.removeprefix(self.address))
        _, fields = await http.read_head()
        http.close()
        found = re.match(r"[^;]+", fields["set-cookie"])
        assert found
        self.cookie = found[0]

    async def conversation(self) -> int:
        return int((await self.ask("POST", "/conversations", {"agent": "bench"}))["id"])

    async def socket(self, conversation: int) -> Socket:
        path = f"/ws/conversations/{conversation}/"
        return await Socket(self.address, path, self.cookie).open()

    async def measure(self, what: str | int) -> Measured:
        if isinstance(what, int):
            began = self.cpu()
            _, lasts, _ = await changes.delays(self, what, CHANGES)
            return Measured((self.cpu() - began) / (CHANGES + 3) * 1000, median(lasts))
        http = Http(self.address, {"Cookie": self.cookie, "Accept-Encoding": "gzip"})
        for _ in range(2):
            await http.ask("GET", self.addresses[what])
        began, times = self.cpu(), []
        for _ in range(ASKED):
            at = time.monotonic()
            status, _ = await http.ask("GET", self.addresses[what])
            assert status == 200, (what, status)
            times.append((time.monotonic() - at) * 1000)
        http.close()
        return Measured((self.cpu() - began) / ASKED * 1000, median(times))


async def on_engine(
    environment: dict[str, str], folders: dict[str, Path], rounds: int
) -> dict[str | int, Compared[Measured]]:
    with ExitStack() as stack:
        servers = started(stack, environment, folders, kind=Read)
        for server in servers.values():
            await server.sign_in()
        wanted = [*next(iter(servers.values())).addresses, *PAGES]
        return await in_turns(servers, rounds, wanted, Read.measure)


def compare(title: str, found: dict[str | int, Compared[Measured]]) -> str:
    lines = [title]
    for what, by_name in found.items():
        words = what if isinstance(what, str) else f"plan change, {what} open"
        for unit in ("cpu", "took"):
            by = {name: [getattr(one, unit) for one in of] for name, of in by_name.items()}
            cells = "".join(f"  {name} {median(of):.1f}" for name, of in by.items())
            cells += f"  new/old {ratio(by['new'], by['old'])}" if len(by) > 1 else ""
            lines.append(f"{words:<26}{'CPU ms' if unit == 'cpu' else 'ms':<8}{cells}")
    return "\n".join(lines)


def recorded(folder: Path) -> list[str]:
    """The figures of recordings.py, by this checkout's code."""
    run = subprocess.run(
        [python_of(folder), "-c", Path(recordings.__file__).read_text()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()


def main() -> None:
    folders, rounds, some = chosen_by(__doc__)
    for title, environment in some:
        say(compare(title, asyncio.run(on_engine(environment, folders, rounds))) + "\n")
    files = asyncio.run(in_turns(folders, rounds, [""], lambda at, _: to_thread(recorded, at)))
    by_name = files[""]
    for number, line in enumerate(next(iter(by_name.values()))[0]):
        what = line.rpartition("  ")[0].strip()
        by = {
            name: [float(lines[number].rpartition(" ")[2].replace(",", "")) for lines in of]
            for name, of in by_name.items()
        }
        cells = "".join(f"  {name} {median(of):.1f}" for name, of in by.items())
        say(f"{what:<44}{cells}" + (f"  {ratio(by['new'], by['old'])}" if len(by) > 1 else ""))
    say_load()


if __name__ == "__main__":
    main()
