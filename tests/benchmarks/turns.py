"""Turns: from a message to the model's request, and how many a second."""

import asyncio
import time

from tests.benchmarks.wire import Http


async def latency(console, model, runs=60):
    """Milliseconds: message sent → model asked, and model's first token → seen in the browser.

    Another page stays open: Redis' layer, when nobody listens to anything, dozes for 0.1 s.
    """
    asked, shown = [], []
    other = await console.socket(await console.conversation())
    for number in range(runs + 5):
        conversation = await console.conversation()
        socket = await console.socket(conversation)
        await socket.frame()  # the present state
        text = f"Message {number}"
        reading = asyncio.create_task(first_frame(socket))
        began = time.monotonic()
        await console.ask("POST", f"/conversations/{conversation}/messages", {"text": text})
        at = await reading
        await ended(console, conversation)
        socket.close()
        seen = (await model.log())[text]
        if number >= 5:
            asked.append((seen[0] - began) * 1000)
            shown.append((at - seen[1]) * 1000)
    other.close()
    return asked, shown


async def first_frame(socket):
    """When the first streamed text arrived."""
    while b"word0" not in await socket.frame():
        pass
    return time.monotonic()


async def ended(console, conversation):
    while True:
        said = await console.ask("GET", f"/conversations/{conversation}/messages")
        last = said["items"][-1]
        if last["role"] == "assistant" and not last["streaming"]:
            return
        await asyncio.sleep(0.005)


async def rate(console, at_once, seconds):
    """Turns a second, `at_once` people in conversations of their own, each as soon as answered."""
    people = [await Person(console).begin() for _ in range(at_once)]
    await asyncio.gather(*(person.say() for person in people))
    cpu, began = console.cpu(), time.monotonic()
    counts = await asyncio.gather(*(person.talk(began + seconds) for person in people))
    took = time.monotonic() - began
    for person in people:
        person.close()
    return sum(counts) / took, (console.cpu() - cpu) / sum(counts) * 1000


class Person:
    """Sends a message, follows the live tail until its turn has ended, sends the next."""

    def __init__(self, console):
        self.console = console
        self.http = Http(console.server.address, console.headers)
        self.tail = Http(console.server.address, console.headers)

    async def begin(self):
        self.conversation = await self.console.conversation()
        self.lines = self.tail.lines(f"/api/conversations/{self.conversation}/events")
        await anext(self.lines)
        return self

    async def say(self):
        path = f"/api/conversations/{self.conversation}/messages"
        status, _ = await self.http.ask("POST", path, {"text": "Go on."})
        assert status == 202, status
        while await anext(self.lines) != "event: turn.ended":
            pass

    async def talk(self, until):
        count = 0
        while time.monotonic() < until:
            await self.say()
            count += 1
        return count

    def close(self):
        self.http.close()
        self.tail.close()


async def straight(model, at_once, seconds):
    """The same load sent to the model itself: the most that could be reached."""
    body = {"model": "bench", "stream": True, "messages": [{"role": "user", "content": "Go on."}]}
    until = time.monotonic() + seconds

    async def ask():
        http, count = Http(model.url, {}), 0
        while time.monotonic() < until:
            await http.ask("POST", "/v1/chat/completions", body)
            count += 1
        http.close()
        return count

    return sum(await asyncio.gather(*(ask() for _ in range(at_once)))) / seconds


async def tokens(console, at_once, seconds):
    """Tokens a second through one process: long replies in conversations that are looked at."""
    watched = []
    for _ in range(at_once):
        conversation = await console.conversation()
        watched.append((conversation, await console.socket(conversation)))
    reading = [asyncio.create_task(read_on(socket)) for _, socket in watched]
    began = time.monotonic()
    for conversation, _ in watched:
        await console.ask("POST", f"/conversations/{conversation}/messages", {"text": "At length."})
    await asyncio.sleep(seconds)
    texts = 0
    for conversation, socket in watched:
        said = await console.ask("GET", f"/conversations/{conversation}/messages")
        texts += sum(m["text"].count("word") for m in said["items"] if m["role"] == "assistant")
        socket.close()
    for task in reading:
        task.cancel()
    return texts / (time.monotonic() - began)


async def read_on(socket):
    while True:
        await socket.frame()


async def many_conversations(console, count):
    """Each with one message and its reply, ten people at a time."""
    for _ in range(count // 10):
        people = [await Person(console).begin() for _ in range(10)]
        await asyncio.gather(*(person.say() for person in people))
        for person in people:
            person.close()
