"""`make bench`: the live server's speed and weight, then how pages grow and how long finding takes.

On SQLite, and on PostgreSQL and Redis where TEST_DATABASE_URL and TEST_REDIS_URL say where they
are (127.0.0.1 where those answer). Client, model and server share the machine. Nothing is
asserted. `python -m tests.benchmarks live` leaves out the growth, `growth` the live server;
`recordings` is what recording a folder takes, alone.
"""

import asyncio
import sys
from contextlib import ExitStack
from statistics import median, quantiles

from tests.benchmarks import changes, growth, real_turn, recordings, search, turns, weight
from tests.benchmarks.console import Console, Model, database_of_its_own, engines

SECONDS = 6  # of load at each step


def say(what, *figures):
    sys.stdout.write(f"{what:<44}" + "".join(f"{figure:>18}" for figure in figures) + "\n")
    sys.stdout.flush()


def spread(times):
    """Median and 95th percentile."""
    return f"{median(times):.1f} / {quantiles(times, n=20)[-1]:.1f}"


async def live(console, model):
    """One column of the table; yields (what, figure)."""
    yield "memory idle, MB", f"{console.memory():.0f}"
    asked, shown = await turns.latency(console, model)
    yield "message → model request, ms", spread(asked)
    yield "first token beyond the model's, ms", spread(shown)
    for at_once in (1, 10, 50):
        rate, cpu = await turns.rate(console, at_once, SECONDS)
        yield f"turns/s, {at_once} at once (CPU ms each)", f"{rate:.0f} ({cpu:.1f})"
        yield (
            "   the same sent straight to the model",
            f"{await turns.straight(model, at_once, 2):.0f}",
        )
    for listeners, runs in ((1, 40), (100, 20), (200, 20), (1000, 8)):
        first, last, written = await changes.delays(console, listeners, runs)
        if listeners == 1:
            yield "plan change → page, from the request, ms", spread(first)
            yield "   from when it was written down, ms", spread(written)
        else:
            yield f"   the last of {listeners} pages, ms", spread(last)


async def of_fresh(figures, environment, *model):
    """Figures of a server of its own, in a home and on a database of its own.

    `figures` is an async generator function of the console and the model.
    """
    with ExitStack() as stack:
        served = stack.enter_context(Model(*model))
        surroundings = environment | database_of_its_own(stack, environment)
        console = Console(stack, served, **surroundings)
        await console.agent()
        return [figure async for figure in figures(console, served)]


async def after_many(console, _):
    await turns.many_conversations(console, 250)
    yield "memory after 250 conversations, MB", f"{console.memory():.0f}"


async def weights(console, _):
    for name, (kilobytes, requests) in weight.of_pages(console.server).items():
        yield f"{name}: HTML, CSS and JS, kB (requests)", f"{kilobytes:.0f} ({requests})"
    console.end()
    took = weight.second_start(console.home, **console.environment)
    yield "second start, s", f"{took:.2f}"


async def streaming(console, _):
    rate = await turns.tokens(console, 10, 8)
    yield "tokens/s, 10 replies that are watched", f"{rate:,.0f}"


async def column(engine, environment):
    return [
        *await of_fresh(live, environment),
        *await real_turn.rows(environment),
        *await of_fresh(after_many, environment),
        *await of_fresh(weights, environment),
        *await of_fresh(streaming, environment, 0, 20_000),
    ]


def main():
    for what, figure in recordings.figures() if "live" not in sys.argv else ():
        say(what, figure)
    if "recordings" in sys.argv:
        return
    if "growth" not in sys.argv:
        table = {engine[0]: asyncio.run(column(*engine)) for engine in engines()}
        say("", *table)
        for rows in zip(*table.values(), strict=True):
            say(rows[0][0], *(figure for _, figure in rows))
    if "live" not in sys.argv:
        growth.run()
        search.run(engines())


if __name__ == "__main__":
    main()
