"""A chaos run: people at work, processes killed under them, and the account afterwards."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.console.serving import token_for
from tests.fake_model import FakeModelServer
from tests.nightly.chaos.figures import table
from tests.nightly.chaos.homes import (
    Place,
    new_database,
    place_on_postgres,
    place_on_sqlite,
    postgres_url,
)
from tests.nightly.chaos.kills import Kills, kill_at_random
from tests.nightly.chaos.model import answer
from tests.nightly.chaos.people import People
from tests.nightly.chaos.verify import Findings, verify

REST = 180  # seconds within which everything has to come to rest after the last kill


@dataclass
class Account:
    kills: Kills
    found: Findings
    table: str


@contextmanager
def on_sqlite(folder: Path) -> Iterator[Place]:
    with FakeModelServer(answer) as model:
        place = place_on_sqlite(folder / "sqlite", model.url)
        try:
            yield place
        finally:
            place.end()


@contextmanager
def on_postgres(folder: Path) -> Iterator[Place]:
    with new_database(postgres_url()) as database, FakeModelServer(answer) as model:
        place = place_on_postgres(folder / "postgres", model.url, database)
        try:
            yield place
        finally:
            place.end()


def chaos(place: Place, kills: int, seed: int, at_once: int = 4) -> Account:
    return asyncio.run(story(place, kills, seed, at_once))


async def story(place: Place, wanted: int, seed: int, at_once: int) -> Account:
    began = time.monotonic()
    for process in place.processes:
        process.start()
        await process.until_ready()
    token = token_for(place.home, **place.server.environment)
    people = People(place, token, at_once)
    working = asyncio.create_task(people.work())
    await people.undoes.wait()  # from here on there is an undo to be hit
    kills = await kill_at_random(place, wanted, random.Random(seed))
    people.enough.set()
    try:
        async with asyncio.timeout(REST):
            await working
            await all_turns_ended(place)
    except TimeoutError:
        people.witness.complaints.append(f"no rest within {REST} s after the last kill")
    found = verify(place, people.plans, people.witness)
    found.add("ends", iter(kills.bad_ends))
    found.figures["seconds in all"] = round(time.monotonic() - began)
    return Account(kills, found, table(place, kills, found, people.odd_answers))


OPEN = (
    "SELECT 1 FROM agents_turn WHERE state IN ('queued', 'running', 'waiting') LIMIT 1",
    "SELECT 1 FROM agents_recording WHERE ended_at IS NULL LIMIT 1",
    "SELECT 1 FROM agents_undo WHERE finished_at IS NULL LIMIT 1",
)


async def all_turns_ended(place: Place) -> None:
    """A plan is done before the call that ended it is recorded and its turn is over."""
    while any(map(place.query, OPEN)):
        await asyncio.sleep(0.05)
