"""/api/chains: read, write (admins) and run them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from django.http import HttpRequest
from ninja import Router, Schema
from ninja.responses import Status

from agents import run_once
from agents.chains.schema import Chain
from agents.chains.store import delete_chain, list_chains, load_chain, save_chain
from agents.config.ownership import agent_of, agents_of
from agents.db import in_db
from agents.errors import Conflict, NotFound, RateLimited
from agents.models import Turn
from console.api.auth import person
from console.api.fields import NotBlank
from console.api.shapes import Body, Page, answers
from console.auth.admins import demand_admin
from console.throttling import count_message

router = Router(tags=["chains"])

LONGEST_RUN = 600  # seconds that an answer is waited for
MOST_RUNS = 50  # of one person that this process waits for, each on a thread


class ChainName(Schema):
    """`error` says why a chain cannot be used."""

    id: str
    description: str
    error: str


class FaultShape(Schema):
    path: str
    sentence: str
    level: str


class Saved(Schema):
    id: str
    warnings: list[FaultShape]


class NewRun(Body):
    """`agent` may be left out where the person has only one."""

    input: NotBlank
    agent: str | None = None


class OutcomeShape(Schema):
    turn: int
    conversation: int
    state: str
    output: str
    error: str


@router.get("", response=answers(Page[ChainName]))
def chains(request: HttpRequest) -> dict[str, object]:
    items = list_chains()
    return {"items": items, "count": len(items)}


@router.get("/{id}", response=answers(Chain, 404))
def chain(request: HttpRequest, id: str) -> Chain:
    return load_chain(id)


@router.put("/{id}", response=answers(Saved, 403, 404))
def put_chain(request: HttpRequest, id: str, body: Chain) -> dict[str, object]:
    """Admins only: a chain decides what every agent that uses it may do."""
    demand_admin(person(request), "chains")
    faults = save_chain(id, body.model_dump_json(indent=2, exclude_defaults=True))
    return {"id": id, "warnings": faults}


@router.delete("/{id}", response=answers(None, 403, 404, 409, status=204))
def remove_chain(request: HttpRequest, id: str) -> Status[None]:
    """Admins only. A chain that an agent names stays; a shipped one is then as it was shipped."""
    demand_admin(person(request), "chains")
    delete_chain(id)
    return Status(204, None)


@router.post("/{id}/run", response=answers(OutcomeShape, 404, 409))
async def run_chain(request: HttpRequest, id: str, body: NewRun) -> run_once.Outcome:
    """Run the chain in a conversation of its own and answer when it has ended or waits."""
    with one_more_run(person(request).pk):
        turn = await in_db(queue_chain, request, id, body)
        try:
            return await run_once.wait_for(turn, LONGEST_RUN)
        except TimeoutError:
            sentence = f"It still runs after {LONGEST_RUN} seconds; look into its conversation."
            raise Conflict(sentence) from None


runs: Counter[int] = Counter()


@contextmanager
def one_more_run(by: int) -> Iterator[None]:
    """Raises RateLimited."""
    if runs[by] >= MOST_RUNS:
        raise RateLimited(f"{MOST_RUNS} of your runs are being waited for: let one end first.", 10)
    runs[by] += 1
    try:
        yield
    finally:
        runs[by] -= 1


def queue_chain(request: HttpRequest, id: str, body: NewRun) -> Turn:
    load_chain(id)
    by = person(request)
    count_message(by.pk)
    own = agents_of(by) if body.agent is None else [agent_of(by, body.agent)]
    if not own:
        raise NotFound("You have no agent to run it with.")
    return run_once.queue_chain(by, id, body.input, own[0].id)
