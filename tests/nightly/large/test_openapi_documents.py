"""A document of twelve megabytes."""

import asyncio
import json
import time
from itertools import pairwise

from tests.agents.petstore import petstore
from tests.agents.test_openapi_documents import URL
from tests.inner import Job, parsed


async def test_a_large_document_holds_nothing_else_up():
    example = [{"name": "x" * 200, "tags": ["a", "b"], "size": n} for n in range(42)]
    paths = {
        f"/things/{n}": {"get": {"operationId": f"thing{n}", "x-example": example}}
        for n in range(1300)
    }
    document = json.dumps(petstore(paths=paths))
    assert len(document) > 12_000_000
    began = time.perf_counter()
    json.loads(document)
    parsing = time.perf_counter() - began
    # Of three, as other programs hold it up too; parsed here it would be held up in each.
    longest = min([await longest_hold(document) for _ in range(3)])
    assert longest < parsing * 0.8, "here is where it would be parsed otherwise"


async def longest_hold(document):
    """The longest time, in seconds, in which nothing else was done while it was parsed."""
    ticks = [time.perf_counter()]

    async def tick():
        while True:
            await asyncio.sleep(0.001)
            ticks.append(time.perf_counter())

    ticking = asyncio.create_task(tick())
    found = await parsed(document.encode(), Job("It", URL, "", 50))
    ticking.cancel()
    assert len(found.operations) == 1300
    return max(later - sooner for sooner, later in pairwise(ticks))
