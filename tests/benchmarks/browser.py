"""`make bench-browser`: what a reader feels in Chromium of long conversations, on a live server.

Opening one of 10,000 messages, until its last is there; and 5,000 tokens that come into one of 500
while somebody reads further up: the longest task of the page, and whether the page stayed where it
was. Nothing is asserted.
"""

import asyncio
import os
import subprocess
import sys
from contextlib import ExitStack

from playwright.sync_api import sync_playwright

from tests.benchmarks.console import Console
from tests.console.serving import ROOT
from tests.fake_model import MODELS, FakeModelServer, rule, say

OPENINGS = 5
TOKENS = 5_000
PARAGRAPH = "Each page was read, `docs/guide.md` first, and **two** of its links lead nowhere. " * 3
REPLY = f"{PARAGRAPH}\n\n- one\n- two\n\n" * (TOKENS // len(f"{PARAGRAPH} - one - two".split()))
FILL = """
import sys, django
django.setup()
from agents.models import Conversation, Event, Message, Turn
pk, count = map(int, sys.argv[1:])
turns = Turn.objects.bulk_create(
    Turn(conversation_id=pk, state="done", kind="chat") for _ in range(count // 2)
)
Message.objects.bulk_create(
    Message(
        conversation_id=pk, turn=turns[(seq - 1) // 2], seq=seq, changed_seq=seq, kind="text",
        role="user" if seq % 2 else "assistant", text=f"Message {seq}: what was **read**.",
    )
    for seq in range(1, count + 1)
)
Event.objects.bulk_create(
    Event(conversation_id=pk, seq=seq, type="message.added") for seq in range(1, count + 1)
)
Conversation.objects.filter(pk=pk).update(seq=count, title=f"{count} messages")
"""
WATCH = """
window.tasks = [];
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) tasks.push(each.duration);
}).observe({ type: "longtask", buffered: true });
"""


# The message that is read: its id, and where it stands.
READ = """
() => {
  tasks.length = 0;
  const message = [...document.querySelectorAll("article")].find(
    (each) => each.getBoundingClientRect().top > 200
  );
  return [message.id, message.getBoundingClientRect().top];
}
"""


async def conversations(console):
    await console.agent()
    return await console.conversation(), await console.conversation()


def fill(console, pk, count):
    """Give the conversation this many messages."""
    environment = {**os.environ, **console.environment, "PLANSIDE_HOME": str(console.home)}
    environment["DJANGO_SETTINGS_MODULE"] = "console.settings"
    command = [sys.executable, "-c", FILL, str(pk), str(count)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def openings(page, address, count):
    """Milliseconds from asking for the page to its last message."""
    for _ in range(OPENINGS):
        page.goto("about:blank")
        page.goto(address, wait_until="commit")
        last = page.get_by_text(f"Message {count}:")
        last.wait_for()
        yield page.evaluate("performance.now()")


def streamed(page, address):
    """Longest task (ms), how many took over 50 ms, how far the page moved (px), MB of the page."""
    page.goto(address)
    page.locator("#say").fill("Go on")
    page.locator("#say").press("Enter")
    page.locator("#composer[data-busy]").wait_for()
    page.wait_for_timeout(1000)
    page.mouse.move(600, 400)
    page.mouse.wheel(0, -3000)
    page.wait_for_timeout(500)
    read, before = page.evaluate(READ)
    page.locator("#composer:not([data-busy])").wait_for(timeout=180_000)
    after = page.evaluate("(id) => document.getElementById(id).getBoundingClientRect().top", read)
    tasks = page.evaluate("tasks")
    heap = page.evaluate("performance.memory.usedJSHeapSize / 1e6")
    return max(tasks, default=0), len(tasks), after - before, heap


def main():
    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    with ExitStack() as stack:
        MODELS["data"].append({"id": "bench", "object": "model"})  # as Console calls it
        rules = [rule(say(REPLY, delay=0.004, chunk=6))]
        model = stack.enter_context(FakeModelServer({"rules": rules}))
        console = Console(stack, model)
        many, some = asyncio.run(conversations(console))
        fill(console, many, 10_000)
        fill(console, some, 500)
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=chromium)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(WATCH)
        page.goto(console.server.link)
        times = [*openings(page, f"{console.server.address}/c/{many}/", 10_000)]
        shown = ", ".join(f"{time:.0f}" for time in times)
        sys.stdout.write(f"10,000 messages, opened until the last is there, ms: {shown}\n")
        longest, over, moved, heap = streamed(page, f"{console.server.address}/c/{some}/")
        sys.stdout.write(
            f"{len(REPLY.split()):,} words into 500 messages: longest task {longest:.0f} ms,"
            f" {over} over 50 ms, moved {moved:.0f} px, heap {heap:.0f} MB\n"
        )
        browser.close()


if __name__ == "__main__":
    main()
