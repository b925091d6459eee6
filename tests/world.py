"""People, agents, conversations and the queue, for tests that tell a story in plain functions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client

from agents import http
from agents.models import AgentOwner, Conversation, Message, ToolCall
from plans import actions
from plans.models import Plan
from tests.fake_model import ScriptedTransport, call
from tests.inner import (
    BUILT_IN,
    ChatResult,
    Expected,
    Worker,
    active_plan,
    create_conversation,
    handle_message,
    plan_snapshot,
    read_agent,
    set_owner,
)
from tests.waiting import Skipping

numbers = count(1)

HTMX = {"HX-Request": "true"}  # headers of a request that htmx sends

ALL_FILE_TOOLS = {name: "allow" for name, tool in BUILT_IN.items() if tool.group == "local_fs"}


def person(name: str = "alice") -> User:
    return User.objects.get_or_create(username=name)[0]


def agent(**values: Any) -> str:
    """A new agent on disk, with plan mode on and all file tools allowed; gives its id."""
    id = values.pop("id", f"agent-{next(numbers)}")
    folder = Path(settings.PLANSIDE_HOME) / "workspaces" / id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "files").mkdir(exist_ok=True)
    content = {
        "id": id,
        "name": id.title(),
        "model": "scripted",
        "provider": "openai",
        "tools": ALL_FILE_TOOLS,
        "plan": {"enabled": True, "max_attempts": 1},
        **values,
    }
    (folder / "agent.json").write_text(json.dumps(content, indent=2))
    return id


def files_of(conversation: Conversation) -> Path:
    return Path(settings.PLANSIDE_HOME) / "workspaces" / conversation.agent_id / "files"


def conversation(owner: str = "alice", **values: Any) -> Conversation:
    """With a new agent of the person's own, and so are those it may call."""
    own = agent(**values)
    own_with_callees(person(owner), own)
    return create_conversation(person(owner), own)


def own_with_callees(user: User, id: str) -> None:
    """Give to this person what nobody owns yet; agents may call each other in a circle."""
    if AgentOwner.objects.filter(agent_id=id).exists():
        return
    set_owner(user, id)
    for word in read_agent(id).file.tools:
        called = word.removeprefix("run_agent:")
        if called != word and (Path(settings.PLANSIDE_HOME) / "workspaces" / called).exists():
            own_with_callees(user, called)


def scripted(*replies: Any) -> ScriptedTransport:
    """A model that plays these replies (or one callable) from now on."""
    script = replies[0] if len(replies) == 1 and callable(replies[0]) else list(replies)
    transport = ScriptedTransport(script)
    http.use(transport)
    return transport


def scripted_agents(replies: dict[str, list[Any]]) -> ScriptedTransport:
    """The replies of each of several agents, by words of its system message."""

    def answer(request: dict[str, Any]) -> Any:
        system = request["messages"][0]["content"]
        return next(own.pop(0) for words, own in replies.items() if words in system)

    return scripted(answer)


def on_screen(c: Conversation) -> Expected | None:
    """What a page of this conversation shows now."""
    plan = active_plan(c)
    return Expected(plan.pk, plan.version) if plan else None


def on_page(c: Conversation) -> dict[str, int]:
    """The same as a form of that page sends it."""
    seen = on_screen(c)
    return {"plan": seen.plan_id, "version": seen.version} if seen else {}


def news(client: Client, c: Conversation, after: int = 0) -> str:
    """What a page that shows this event gets next, by its socket or by asking."""
    response = client.get(f"/c/{c.pk}/changes?after={after}")
    assert response.status_code == 200
    return str(response.content.decode())


NOW: Any = object()


def tell(c: Conversation, text: str, by: str = "alice", seen: Expected | None = NOW) -> ChatResult:
    """A person with an up-to-date page says something, and all that follows from it happens."""
    said = handle_message(c, text, by, on_screen(c) if seen is NOW else seen)
    drive()
    return said


async def until_idle(worker: Worker) -> None:
    while True:
        await worker.check_queue()
        tasks = [task for _, task in worker.running.values()]
        if not tasks:
            return
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=60)
        assert ended, f"in a minute none of these has ended: {list(worker.running)}"


def drive() -> None:
    """Run the queue until nothing is due any more."""

    async def story() -> None:
        await until_idle(Worker())
        await http.aclose_all()

    async_to_sync(story)()


def happening(story: Callable[[Worker], Awaitable[None]], *, at_once: bool = False) -> None:
    """A story told while a worker runs: `story` may look at and act on what is half-done.

    `at_once`: the loop's clock goes on by itself (tests/waiting.py), so seconds in the story are
    those that are slept in the product. Nothing else may run beside it, as a command does.
    """

    async def both() -> None:
        if at_once:
            Skipping(asyncio.get_running_loop())
        worker = Worker()
        running = asyncio.ensure_future(worker.run())
        try:
            async with asyncio.timeout(60):
                await story(worker)
        finally:
            await worker.stop()
            await running
            await http.aclose_all()

    async_to_sync(both)()


async def eventually(check: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until the check gives something; it runs on the database thread."""
    from agents.db import in_db

    end = asyncio.get_running_loop().time() + seconds
    while not (result := await in_db(check)):
        if asyncio.get_running_loop().time() > end:
            raise AssertionError(f"did not come true: {check}")
        await asyncio.sleep(0.01)
    return result


def proposal(*names: str, title: str = "Tidy the docs") -> dict[str, Any]:
    """The model's reply that proposes a plan with these subtasks."""
    subtasks = [{"name": name} for name in names or ("Read", "Write", "Check")]
    return call("create_plan", title=title, subtasks=subtasks)


def done(outcome: str = "done", **more: Any) -> dict[str, Any]:
    """The model's reply that ends a subtask."""
    return {**call("finish_subtask", outcome=outcome), **more}


def plan_of(c: Conversation) -> Plan:
    plan = active_plan(c)
    assert plan is not None, "there is no plan"
    return plan


def shown(c: Conversation) -> dict[str, Any]:
    """The plan as the API gives it."""
    return plan_snapshot(plan_of(c)).document()


def subtask_names(c: Conversation) -> list[str]:
    return [subtask["name"] for subtask in shown(c)["subtasks"]]


def states(c: Conversation) -> list[str]:
    return [subtask["state"] for subtask in shown(c)["subtasks"]]


def texts(c: Conversation, kind: str = "text", role: str = "assistant") -> list[str]:
    return [
        m.text
        for m in Message.objects.filter(conversation=c, kind=kind, role=role).order_by(
            F("turn_id").asc(nulls_first=True), "seq"
        )
    ]


def errors_of(c: Conversation) -> list[str]:
    """What the error cards say."""
    return texts(c, "error", "system")


def calls_of(c: Conversation, tool: str | None = None) -> list[ToolCall]:
    calls = ToolCall.objects.filter(message__conversation=c).order_by("pk")
    return list(calls.filter(tool=tool) if tool else calls)


def proposed(*names: str, **values: Any) -> Conversation:
    """A conversation whose plan waits for a yes."""
    from tests.fake_model import say as says

    c = conversation(**values)
    scripted(proposal(*names), says("Here is the plan."))
    tell(c, "/plan tidy up")
    return c


def approved(*names: str, run: str = "no", **values: Any) -> Conversation:
    """One whose plan has got its yes; with run="all" it is on its way."""
    c = proposed(*names, **values)
    actions.approve_plan(plan_of(c), 1, "alice", run=run)
    return c


def signed_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client
