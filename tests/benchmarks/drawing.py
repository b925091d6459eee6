"""`make bench-drawing`: what hostile texts cost, whole and streamed, and whom they keep waiting.

Each text is drawn in this process as a finished reply and as one that grows in 50 pieces. Then a
live server is sent all of them as replies in a conversation that is watched, while the plan of
another conversation changes: how long until that change is on its page. Nothing is asserted.
"""

import asyncio
import os
import sys
import time
from contextlib import ExitStack, asynccontextmanager, suppress
from statistics import median, quantiles

from tests.fake_model import FakeModelServer, rule, say
from tests.hostile_texts import CODE_UNITS, MARKDOWN, fenced

SIZES = (20_000, 200_000)
PIECES = 50
SLOWEST = 10


def texts():
    from console.markdown import LANGUAGES

    code = {
        f"{language}: {name}": fenced(language, unit)
        for language in sorted(set(LANGUAGES.values()) | {"apacheconf", "make", "csharp"})
        for name, unit in CODE_UNITS.items()
    }
    return MARKDOWN | code


def whole(text):
    """Milliseconds for a finished reply, remembered by nobody."""
    from console.markdown import rendered

    began = time.perf_counter()
    "".join(rendered(text, live=False))
    return (time.perf_counter() - began) * 1000


def streamed(text):
    """Milliseconds for the slowest frame and for all frames, with a save after every tenth."""
    from agents.engine.streaming import split_blocks
    from console.fragments import streamed as draw

    times, saved, blocks_saved = [], 0, 0
    for number in range(1, PIECES + 1):
        grown = text[: len(text) * number // PIECES]
        began = time.perf_counter()
        blocks = split_blocks(grown[saved:])
        draw(1, list(enumerate(blocks, blocks_saved)))
        times.append((time.perf_counter() - began) * 1000)
        if number % 10 == 0:
            *closed, _ = blocks or [""]
            saved, blocks_saved = saved + sum(map(len, closed)), blocks_saved + len(closed)
    return max(times), sum(times)


def drawn():
    """(ms, name, size, how) of every text."""
    for size in SIZES:
        for name, make in texts().items():
            text = make(size)
            yield whole(text), name, size, "whole"
            slowest, total = streamed(text)
            yield slowest, name, size, f"slowest of {PIECES} frames"
            yield total, name, size, f"all {PIECES} frames"


async def elsewhere(console, size):
    """ms from a plan's change to its page: at rest, and while the texts arrive next door."""
    from tests.benchmarks.changes import plan

    there, made = await plan(console)
    async with changing(console, there, made) as change:
        yield "at rest", [await change() for _ in range(60)]
    times = []
    for name in MARKDOWN:
        async with changing(console, there, made) as change:
            times += await while_told(console, f"{name}, {size}", change)
    yield f"while texts of {size:,} are drawn", times


@asynccontextmanager
async def changing(console, conversation, plan):
    """A change of the plan, and ms until it is shown. The socket answers no pings, so it is short."""
    from tests.benchmarks.changes import shows

    page = await console.socket(conversation)
    await page.frame()

    async def change():
        name = f"Named {time.monotonic_ns()} anew"
        waiting = asyncio.create_task(shows(page, name.encode()))
        began = time.monotonic()
        await console.ask("PATCH", f"/plans/{plan['id']}/subtasks/s2", {"name": name})
        return (await waiting - began) * 1000

    yield change
    page.close()


async def while_told(console, text, change):
    """The reply is watched, and its page is opened anew when it has ended."""
    here = await console.conversation()
    watching = await console.socket(here)
    reading = asyncio.create_task(read_all(watching))
    await console.ask("POST", f"/conversations/{here}/messages", {"text": text})
    times = []
    while not await has_ended(console, here):
        times.append(await change())
    opened = asyncio.create_task(page_of(console, here))
    while not opened.done():
        times.append(await change())
    await opened
    reading.cancel()
    watching.close()
    return times


async def read_all(socket):
    with suppress(Exception):
        while True:
            await socket.frame()


async def has_ended(console, conversation):
    said = await console.ask("GET", f"/conversations/{conversation}/events?after=0")
    return any(event["type"] == "turn.ended" for event in said["items"])


async def page_of(console, conversation):
    from tests.benchmarks.wire import Http

    http = Http(console.server.address, {"Cookie": console.cookie})
    await http.send("GET", f"/c/{conversation}/")
    await http.read_head()
    http.close()


async def live():
    from tests.benchmarks.console import Console

    rules = [
        rule(say(make(size), delay=0.01, chunk=size // PIECES), user=f"^{name}, {size}$")
        for size in SIZES
        for name, make in MARKDOWN.items()
    ]
    with ExitStack() as stack:
        model = stack.enter_context(FakeModelServer({"rules": rules}))
        console = Console(stack, model)
        await console.agent()
        await console.sign_in()
        for size in SIZES:
            async for what, times in elsewhere(console, size):
                yield what, times


async def report_live():
    async for what, times in live():
        late = quantiles(times, n=20)[-1]
        figures = f"median {median(times):6.0f}, p95 {late:6.0f}, most {max(times):6.0f}"
        sys.stdout.write(f"another page's change, ms, {what:<38} {figures}  ({len(times)})\n")
        sys.stdout.flush()


def main():
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    for size in SIZES:
        rows = sorted((row for row in drawn() if row[2] == size), reverse=True)
        sys.stdout.write(f"\n{len(texts())} texts of {size:,} characters, the slowest, ms\n")
        for how in dict.fromkeys(row[3] for row in rows):
            for took, name, _, _ in [row for row in rows if row[3] == how][:SLOWEST]:
                sys.stdout.write(f"  {how:<24} {name:<32} {took:8.0f}\n")
    asyncio.run(report_live())


if __name__ == "__main__":
    main()
