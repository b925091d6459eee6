"""Whatever a program reads of Planside, a moment is always written the same way."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from agents.models import ToolSource
from plans.models import Plan
from tests.fake_model import call, say
from tests.inner import OWNER, api, timestamp
from tests.world import drive, scripted

LIKE_A_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_a_moment_of_any_zone_is_written_in_utc_with_milliseconds():
    there = timezone(timedelta(hours=2))
    assert timestamp(datetime(2026, 1, 31, 11, 30, 0, 125_999, there)) == "2026-01-31T09:30:00.125Z"
    assert timestamp(datetime(2026, 1, 31, tzinfo=UTC)) == "2026-01-31T00:00:00.000Z"
    assert timestamp(None) is None


def moments(text):
    return LIKE_A_MOMENT.findall(text.replace('"', " "))


@pytest.fixture
def done(transactional_db, admin):
    """A plan that has run, and a service."""
    chat = admin.talk()
    ToolSource.objects.create(name="far", kind="mcp", url="https://far.example/")
    body = {"conversation": chat, "title": "Read", "subtasks": [{"name": "Read"}]}
    plan = admin.post("/plans", body).json()["id"]
    ends = call("finish_subtask", outcome="Read.")
    scripted(ends, call("finish_plan", state="done", outcome="All read."), say("Done."))
    admin.post(f"/plans/{plan}/approve", {"version": 1})
    drive()
    assert Plan.objects.get().state == "done"
    return {
        "id": [chat, plan],
        "agent_id": ["alice-writer"],
        "n": [1],
        "number": [1],
        "name": ["far"],
        "key": ["s1"],
    }


def test_every_reading_operation_writes_moments_the_same_way(done, admin):
    found = {}
    for path, operations in api.get_openapi_schema()["paths"].items():
        if "get" not in operations:
            continue
        filled = path.removeprefix("/api")
        for name in re.findall(r"\{(\w+)\}", path):
            values = done[name]
            value = values[-1] if path.startswith("/api/plans/") else values[0]
            filled = filled.replace(f"{{{name}}}", str(value))
        answer = admin.get(filled)
        if answer["Content-Type"].startswith("application/json"):  # an export is for people
            found[path] = moments(answer.content.decode())
    assert sum(map(bool, found.values())) >= 9, found
    wrong = {path: [m for m in all if not MOMENT.fullmatch(m)] for path, all in found.items()}
    assert not any(wrong.values()), wrong


@pytest.mark.parametrize("command", [("plan", "show"), ("token", "list"), ("user", "list")])
def test_every_command_does(done, admin, command):
    User.objects.filter(pk=admin.user.pk).update(username=OWNER)  # whom commands act for
    out = StringIO()
    call_command(*command, "--json", stdout=out)
    json.loads(out.getvalue())
    assert all(MOMENT.fullmatch(moment) for moment in moments(out.getvalue()))
