"""From a change of a plan to the page that shows it, for one page and for many."""

import asyncio
import time
from datetime import datetime

SUBTASKS = 6


async def plan(console):
    """A conversation with a plan that waits, and the plan's number."""
    conversation = await console.conversation()
    names = [{"name": f"Subtask number {number}"} for number in range(1, SUBTASKS + 1)]
    body = {"conversation": conversation, "title": "Six things", "subtasks": names}
    made = await console.ask("POST", "/plans", body)
    return conversation, made


async def delays(console, listeners, runs=40):
    """Milliseconds: from the request that renames a subtask to the first and to the last page's
    frame, and from the moment the change was written down to the first one.
    """
    conversation, made = await plan(console)
    sockets = []
    for _ in range(listeners):
        sockets.append(await console.socket(conversation))
        await sockets[-1].frame()
    firsts, lasts, since_written = [], [], []
    for number in range(runs + 3):
        name = f"Named {number} anew"
        waiting = [asyncio.create_task(shows(socket, name.encode())) for socket in sockets]
        await asyncio.sleep(0.05)
        offset, began = time.time() - time.monotonic(), time.monotonic()
        await console.ask("PATCH", f"/plans/{made['id']}/subtasks/s2", {"name": name})
        times = sorted(await asyncio.gather(*waiting))
        if number >= 3:
            firsts.append((times[0] - began) * 1000)
            lasts.append((times[-1] - began) * 1000)
            since_written.append((times[0] + offset - await written(console, conversation)) * 1000)
    for socket in sockets:
        socket.close()
    return firsts, lasts, since_written


async def written(console, conversation):
    """When the newest event was, by the clock of the wall."""
    said = await console.ask("GET", f"/conversations/{conversation}/events?after=0")
    return datetime.fromisoformat(said["items"][-1]["created_at"]).timestamp()


async def shows(socket, name):
    while name not in await socket.frame():
        pass
    return time.monotonic()
