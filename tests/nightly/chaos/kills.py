"""The kills: which process, when, how, and what the rows say was hit."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.nightly.chaos.homes import LEASE, Place, Process, as_json

# Every such kill is followed, so often, by one that is no kill -9: counted apart.
TERMINATED = 0.1
FROZEN = 0.2
IN_START = 0.1  # how often the next kill comes before the start is through

OPEN_TURNS = """
    SELECT t.id, t.state, t.kind, t.checkpoint,
      (SELECT count(*) FROM agents_toolcall c WHERE c.turn_id = t.id AND c.state = 'running') busy,
      (SELECT count(*) FROM agents_toolcall c WHERE c.turn_id = t.id AND c.state = '') unrun,
      (SELECT count(*) FROM agents_toolcall c WHERE c.turn_id = t.id AND c.state = 'done') done,
      (SELECT count(*) FROM agents_toolcall c WHERE c.turn_id = t.id AND c.state = 'running'
         AND c.tool = 'finish_subtask') checking,
      (SELECT count(*) FROM agents_recording r WHERE r.turn_id = t.id) recorded,
      (SELECT count(*) FROM agents_message m WHERE m.turn_id = t.id
         AND m.role = 'assistant' AND m.streaming) streaming
    FROM agents_turn t WHERE t.state IN ('queued', 'running', 'waiting')
"""
ENDED_UNRECORDED = """
    SELECT t.id FROM agents_turn t JOIN agents_recording r ON r.turn_id = t.id
    WHERE r.ended_at IS NULL AND t.state = 'done'
"""
UNFINISHED_UNDOS = "SELECT id FROM agents_undo WHERE finished_at IS NULL"


@dataclass
class Kill:
    how: str
    process: str
    at: datetime
    hit: dict[int, str] = field(default_factory=dict)  # turn, or undo below zero → its moment


@dataclass
class Kills:
    """The record of a run."""

    made: list[Kill] = field(default_factory=list)
    bad_ends: list[str] = field(default_factory=list)

    def count(self, how: str) -> int:
        return sum(kill.how == how for kill in self.made)

    def moments(self) -> Counter[str]:
        """By the work that was hit: one kill hits every turn that is open."""
        return Counter(m for k in self.made if k.how == "KILL" for m in k.hit.values() or ["rest"])


async def kill_at_random(place: Place, wanted: int, dice: random.Random) -> Kills:
    """`wanted` kills -9, each after a random short time, and the start after it."""
    kills = Kills()
    several = len(place.processes) > 1
    while kills.count("KILL") < wanted:
        victim = dice.choice(place.processes)
        if dice.random() > IN_START:
            await victim.until_ready()
            await asyncio.sleep(dice.expovariate(2) if several else dice.uniform(0, 1.6))
        else:
            await asyncio.sleep(dice.uniform(0, 2))
        await strike(place, victim, kills, dice.random())
    for process in place.processes:
        await process.until_ready()
    return kills


async def strike(place: Place, victim: Process, kills: Kills, die: float) -> None:
    now = datetime.now(UTC)
    if die < TERMINATED and is_up(victim):
        await terminate(victim, kills, now)
    elif die < TERMINATED + FROZEN and not victim.is_server and is_up(victim):
        kills.made.append(Kill("FREEZE", victim.name, now))
        victim.freeze()
        await asyncio.sleep(LEASE * 1.6)
        victim.thaw()
        return
    else:
        victim.kill()
        kills.made.append(Kill("KILL", victim.name, now, hit(place)))
    victim.start()


def is_up(process: Process) -> bool:
    """A process that is still starting, which takes long on a busy machine, has no handler yet."""
    return process.has_said_ready and process.handles_sigterm


async def terminate(victim: Process, kills: Kills, now: datetime) -> None:
    seconds, code = await victim.terminate()
    kills.made.append(Kill("TERM", victim.name, now))
    if code != 0 or seconds > (2 if victim.is_server else 5):
        kills.bad_ends.append(f"{victim.name} ended with {code} after {seconds:.1f} s")


def hit(place: Place) -> dict[int, str]:
    """What each open turn was at, by the rows alone. A waiting one was at rest."""
    try:
        rows = place.query(OPEN_TURNS)
    except Exception as error:
        if "agents_turn" in str(error):  # killed before the tables were made
            return {}
        raise
    found = {row["id"]: moment(row) for row in rows if row["state"] != "waiting"}
    ended = dict.fromkeys((row["id"] for row in place.query(ENDED_UNRECORDED)), AFTERWARDS)
    undos = {-row["id"]: "while an undo writes" for row in place.query(UNFINISHED_UNDOS)}
    return {**found, **ended, **undos}


AFTERWARDS = "while what it changed is recorded"


def moment(row: dict[str, Any]) -> str:
    checkpoint = as_json(row["checkpoint"])
    if row["state"] == "queued":
        return "before the claim"
    if row["checking"] or row["kind"] == "checks":
        return "while checks run"
    if row["kind"] == "subtask" and not row["recorded"]:
        return "while its folder is recorded"
    if row["busy"]:
        return "in a tool call"
    if row["streaming"]:
        return "in mid-stream"
    if row["unrun"]:
        return "between reply and tool"
    if checkpoint.get("ended"):
        return "before settling"
    return "before the first word"
