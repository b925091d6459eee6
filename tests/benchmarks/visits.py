"""First, second and later visits in Chromium, old beside new, on this machine and 40 ms away.

A first visit is of a browser that has nothing yet, a later one of one that has seen other pages:
requests, kB and ms until the first picture and until the scripts are ready. Nothing is asserted.

    make bench-visits OLD=../planside-a8f3ff6 [ROUNDS=4]
"""

import asyncio
import os
from contextlib import ExitStack
from statistics import median

from playwright.async_api import async_playwright

from tests.benchmarks.checkouts import chosen_by, in_turns, ratio, say, say_load, started
from tests.benchmarks.pages import Read

LATER = 5
VISITS = ("first", "second", "later")
# Requests, kB, ms until the first picture and until the scripts are ready; what is cached weighs 0.
SEEN = """
async () => {
  const [page] = performance.getEntriesByType("navigation");
  while (!page.domContentLoadedEventEnd) await new Promise((done) => setTimeout(done, 10));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)));
  const all = [page, ...performance.getEntriesByType("resource")].filter((each) => each.transferSize);
  const picture = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
  const kB = all.reduce((sum, { transferSize }) => sum + transferSize, 0) / 1000;
  return [all.length, kB, picture, page.domContentLoadedEventEnd];
}
"""


async def visits(browser, server, latency):
    """What a new browser sees of a conversation, by visit."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    name, _, value = server.cookie.split(";")[0].partition("=")
    await context.add_cookies([{"name": name, "value": value, "url": server.address}])
    page = await context.new_page()
    if latency:
        cdp = await context.new_cdp_session(page)
        limits = {"latency": latency, "downloadThroughput": -1, "uploadThroughput": -1}
        await cdp.send("Network.emulateNetworkConditions", {"offline": False, **limits})

    async def seen(path):
        await page.goto(server.address + path, wait_until="load")
        return await page.evaluate(SEEN)

    path = server.addresses["page of 10 messages"]
    found = {"first": await seen(path)}
    await page.goto("about:blank")
    found["second"] = await seen(path)
    later = []
    for _ in range(LATER):
        await seen("/plans/")
        later.append(await seen(path))
    found["later"] = [median(each) for each in zip(*later, strict=True)]
    await context.close()
    return found


async def compared(environment, folders, rounds):
    async with async_playwright() as playwright:
        with ExitStack() as stack:
            servers = started(stack, environment, folders, kind=Read)
            for server in servers.values():
                await server.sign_in()
            chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
            browser = await playwright.chromium.launch(executable_path=chromium)
            found = await in_turns(
                servers, rounds, [0, 40], lambda server, ms: visits(browser, server, ms)
            )
            await browser.close()
            return found


def main():
    folders, rounds, some = chosen_by(__doc__)
    for latency, by_name in asyncio.run(compared(some[0][1], folders, rounds)).items():
        for visit in VISITS:
            say(f"{visit} visit, {latency} ms away")
            for place, unit in enumerate(("requests", "kB", "ms, first picture", "ms, scripts")):
                by = {name: [each[visit][place] for each in of] for name, of in by_name.items()}
                cells = "".join(f"  {name} {median(of):.0f}" for name, of in by.items())
                more = f"  {ratio(by['new'], by['old'], unit)}" if len(by) > 1 else ""
                say(f"  {unit:<18}{cells}{more}")
    say_load()


if __name__ == "__main__":
    main()
