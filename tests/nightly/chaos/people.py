"""People at work during a chaos run: over the API they ask for plans, say yes, and watch."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx

from tests.nightly.chaos.homes import Place
from tests.nightly.chaos.model import UNDONE, goal

LOOK = 0.12  # seconds between two looks at a plan
AGENTS = {"free": "allow", "asking": "ask", "undone": "allow"}  # what shell is granted
STOCK = 1000  # files that are there already, so that recording them takes a while

LAST_UNDO = """
    SELECT u.id, u.reverses_id, u.finished_at FROM agents_undo u ORDER BY u.id DESC LIMIT 1
"""


class Gone(Exception):
    """The server did not answer; it may or may not have done what it was asked."""


@dataclass
class Witness:
    """What the API has shown, and what of that cannot be."""

    seen: dict[int, dict[str, Any]] = field(default_factory=dict)
    done: dict[tuple[int, str], str] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)
    snapshots: int = 0

    def note(self, plan: dict[str, Any]) -> None:
        self.snapshots += 1
        states = [subtask["state"] for subtask in plan["subtasks"]]
        before = self.seen.get(plan["id"])
        if before and plan["seq"] < before["seq"]:
            self.say(plan, f"seq went back from {before['seq']} to {plan['seq']}")
        if states.count("in_progress") > 1:
            self.say(plan, f"two subtasks in progress: {states}")
        if states != sorted(states, key=["done", "in_progress", "todo"].index):
            self.say(plan, f"out of order: {states}")
        for subtask in plan["subtasks"]:
            self.note_outcome(plan, subtask)
        self.seen[plan["id"]] = plan

    def note_outcome(self, plan: dict[str, Any], subtask: dict[str, Any]) -> None:
        place = (plan["id"], subtask["key"])
        if subtask["state"] == "done":
            outcome = self.done.setdefault(place, subtask["outcome"])
            if outcome != subtask["outcome"]:
                self.say(plan, f"{place[1]}: outcome changed from {outcome!r}")
        elif place in self.done:
            self.say(plan, f"{place[1]} was done and is {subtask['state']} now")

    def say(self, plan: dict[str, Any], what: str) -> None:
        self.complaints.append(f"plan {plan['id']} at seq {plan['seq']}: {what}")


class People:
    """So many conversations at once, one after the other until told that it is enough."""

    def __init__(self, place: Place, token: str, at_once: int) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self.http = httpx.AsyncClient(base_url=f"{place.address}/api", headers=headers, timeout=10)
        self.place, self.at_once = place, at_once
        self.numbers = count(1)
        self.enough, self.undoes = asyncio.Event(), asyncio.Event()
        self.witness = Witness()
        self.plans: dict[int, str] = {}  # id → the token of what was asked
        self.odd_answers: dict[str, int] = {}

    async def work(self) -> None:
        for name, grant in AGENTS.items():
            await self.make_agent(name, grant)
        async with asyncio.TaskGroup() as people:
            for _ in range(self.at_once):
                people.create_task(self.one_after_the_other())
            people.create_task(self.undo_again_and_again())
        await self.http.aclose()

    async def one_after_the_other(self) -> None:
        while not self.enough.is_set():
            number = next(self.numbers)
            await self.one_plan(number, "asking" if number % 3 == 0 else "free")

    async def undo_again_and_again(self) -> None:
        """One plan in a folder of its own; in the end all that it did is there."""
        plan = await self.one_plan(UNDONE, "undone")
        self.undoes.set()
        while True:
            last = next(iter(self.place.query(LAST_UNDO)), None)
            is_there = last is None or bool(last["finished_at"] and last["reverses_id"])
            if last and is_there and self.enough.is_set():
                return
            if last is None or last["finished_at"]:
                about = f"/plans/{plan}" if is_there or not last else f"/undos/{last['id']}"
                await self.attempt("POST", f"{about}/undo", {"force": True}, accept={409})
            await asyncio.sleep(LOOK)

    async def make_agent(self, name: str, grant: str) -> None:
        tools = {"write_file": "allow", "read_file": "allow", "shell": grant}
        body = {"id": name, "tools": tools, "plan": {"enabled": True}}
        await self.insist("POST", "/agents", body, accept={409})
        stock = self.place.files / name / "files" / "stock"
        stock.mkdir(parents=True, exist_ok=True)
        for number in range(STOCK):
            (stock / f"{number}.dat").write_text(f"{number}\n")

    async def one_plan(self, number: int, agent: str) -> int:
        c = (await self.insist("POST", "/conversations", {"agent": agent}))["id"]
        while not (await self.insist("GET", f"/conversations/{c}/messages"))["items"]:
            await self.attempt("POST", f"/conversations/{c}/messages", {"text": goal(number)})
        while True:
            plan = await self.attempt("GET", f"/conversations/{c}/plan")
            if plan:
                self.plans[plan["id"]] = f"c{number:03}"
                self.witness.note(plan)
                if plan["state"] == "done" and plan["run"] == "idle":
                    return int(plan["id"])
                await self.see_to(plan)
            await asyncio.sleep(LOOK)

    async def see_to(self, plan: dict[str, Any]) -> None:
        if plan["approved_version"] != plan["version"]:
            await self.attempt("POST", f"/plans/{plan['id']}/approve", {"version": plan["version"]})
        for asked in plan["approvals"]:
            decision = {"decision": "allow_once"}
            await self.attempt("POST", f"/tool-calls/{asked['id']}/decide", decision)

    async def insist(
        self, method: str, path: str, body: Any = None, accept: set[int] = frozenset()
    ) -> Any:
        """Until it has been answered. Once more than needed does no harm where this is used."""
        while True:
            if (answer := await self.attempt(method, path, body, accept)) is not None:
                return answer
            await asyncio.sleep(LOOK)

    async def attempt(
        self, method: str, path: str, body: Any = None, accept: set[int] = frozenset()
    ) -> Any:
        """Once; None if nobody answered, and what is neither success nor allowed is counted."""
        try:
            answer = await self.http.request(method, path, json=body)
        except httpx.TransportError:
            return None
        if not answer.is_success and answer.status_code not in accept:
            odd = f"{method} {path.split('/')[1]} {answer.status_code}: {answer.text[:120]}"
            self.odd_answers[odd] = self.odd_answers.get(odd, 0) + 1
            return None
        return answer.json()
