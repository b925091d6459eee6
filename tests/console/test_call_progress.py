"""How far a call is: seen while it runs, on pages, in the drawer and in the API, and nowhere after."""

import asyncio
import json
from itertools import pairwise

import pytest

from agents.db import in_db
from agents.models import Event, ToolCall, Turn
from tests.console.test_consumers import socket
from tests.fake_model import call, say
from tests.inner import (
    PROGRESS_SECONDS,
    Credential,
    LiveProgress,
    LiveTexts,
    Tool,
    ToolResult,
    fragments,
    listener,
    plan_snapshot,
    save_progress,
    tail,
)
from tests.inner import persistence_add_message as add_message
from tests.world import conversation, person, plan_of, proposal, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = "40 of 100 · reading index"


class Held:
    """A tool that says how far it is and what is looked at meanwhile."""

    def __init__(self, monkeypatch):
        self.look = lambda: None
        self.seen = None
        tool = Tool("list_files", "Lists.", {"type": "object", "properties": {}}, self.run)
        monkeypatch.setattr("agents.engine.available_tools.file_tools", lambda *_: [tool])

    async def run(self, arguments):
        listener()(WORDS)
        for _ in range(3_000):
            if await in_db(ToolCall.objects.filter(progress__isnull=False).exists):
                break
            await asyncio.sleep(0.02)
        self.seen = await in_db(self.look)
        return ToolResult("Two files.")


@pytest.fixture
def held(monkeypatch):
    return Held(monkeypatch)


def test_a_running_call_says_it_on_the_page_and_in_the_api_and_keeps_nothing_of_it(held, client):
    c = conversation(tools={"list_files": "allow"}, plan={"enabled": False})
    scripted(call("list_files"), say("Done."))
    client.force_login(person("alice"))

    def look():
        html = fragments.changes(c.pk, 0, growing=True)[1]
        listed = client.get(f"/api/conversations/{c.pk}/messages").json()["items"]
        tag = client.get(f"/c/{c.pk}/changes")["ETag"]
        ToolCall.objects.update(progress={"words": "41", "at": "2026-01-01T00:00:00.000Z"})
        later = client.get(f"/c/{c.pk}/changes", headers={"If-None-Match": tag})
        return html, listed[-1]["tool_calls"][0]["progress"], later.status_code

    held.look = look
    tell(c, "look")
    html, told, status = held.seen
    assert html.count(WORDS) >= 2 and told == WORDS
    assert status == 200, "a poll hears of it as well"
    [made] = ToolCall.objects.all()
    assert made.state == "done" and made.progress is None
    assert not Event.objects.filter(type__contains="progress").exists()
    assert WORDS not in fragments.changes(c.pk, 0)[1]


def test_the_drawer_and_the_plans_activity_say_it(held, client):
    c = conversation(tools={"list_files": "allow"})
    scripted(
        proposal("Look"),
        say("Here it is."),
        call("list_files"),
        call("finish_subtask", outcome="Seen."),
        call("finish_plan", state="done", outcome="Seen."),
    )
    client.force_login(person("alice"))

    def look():
        before = client.get(f"/api/conversations/{c.pk}/plan")
        ToolCall.objects.filter(state="running").update(
            progress={"words": WORDS, "at": "2999-01-01T00:00:00.000Z"}
        )
        known = {"If-None-Match": before["ETag"]}
        after = client.get(f"/api/conversations/{c.pk}/plan", headers=known)
        return plan_snapshot(plan_of(c)).activity, fragments.drawer(c.pk), after.status_code

    held.look = look
    tell(c, "/plan look")
    tell(c, "go")
    activity, drawer, _ = held.seen
    made = ToolCall.objects.get(tool="list_files")
    assert (activity.tool, activity.call, activity.progress) == ("list_files", made.pk, WORDS)
    assert activity.last_at.startswith("2999"), "it is a sign of life"
    assert f'id="activity-progress-{made.pk}"' in drawer and WORDS in drawer


async def test_it_is_told_at_once_and_then_at_most_twice_a_second_with_the_newest_words(no_waiting):
    told = []

    async def save(words):
        told.append((asyncio.get_running_loop().time(), words))

    live = LiveProgress(1, 1, save)
    for step in range(2_000):
        live.hear(f"{step} of 2,000")
        await asyncio.sleep(0.0005)
    await asyncio.sleep(PROGRESS_SECONDS * 1.2)
    await live.close()
    moments = [at for at, _ in told]
    assert told[0][1] == "0 of 2,000" and told[-1][1] == "1999 of 2,000"
    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert len(told) > 2 and min(pauses) >= PROGRESS_SECONDS * 0.95
    live.hear("late")
    await live.close()


async def test_open_pages_and_streams_hear_it_without_an_event():
    c = await in_db(conversation)
    alice = await in_db(person)
    ours = socket(c.pk, alice)
    await ours.connect()
    await ours.receive_from()
    stream = tail(c.pk, 0, Credential(alice.pk, alice.password), LiveTexts(c.pk))
    plain = tail(c.pk, 0, Credential(alice.pk, alice.password))
    assert await anext(stream) == await anext(plain) == ": listening\n\n"

    async def save(words):
        pass

    hears = asyncio.ensure_future(anext(stream))
    hears_events_alone = asyncio.ensure_future(anext(plain))
    await asyncio.sleep(0)
    live = LiveProgress(c.pk, 41, save)
    live.hear("1 of 2 · \u202egnp.exe<b>")
    html = await ours.receive_from()
    assert 'id="progress-41"' in html and 'id="activity-progress-41"' in html
    assert "1 of 2" in html and "\u202e" not in html and "<b>" not in html
    frame = await asyncio.wait_for(hears, 10)
    assert frame.startswith("event: progress\n")
    assert json.loads(frame.partition("data: ")[2]) == {"call": 41, "progress": live.words}
    assert not hears_events_alone.done()
    hears_events_alone.cancel()
    await live.close()
    await ours.disconnect()


async def test_a_call_that_is_over_takes_no_progress():
    c = await in_db(conversation)

    def made():
        turn = Turn.objects.create(conversation=c, state="running", kind="chat")
        message = add_message(turn, "assistant", "text")
        over = ToolCall.objects.create(
            message=message, turn=turn, call_id="1", tool="x", state="done"
        )
        save_progress(turn, over.pk, "late")
        over.refresh_from_db()
        return over

    assert (await in_db(made)).progress is None
