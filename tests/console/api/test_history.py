import pytest

from agents.models import Conversation, Turn
from plans.models import Attempt, Plan, Subtask


@pytest.fixture
def plan(alice):
    body = {
        "agent": "alice-writer",
        "title": "Tidy",
        "goal": "Tidy the docs\nand the code",
        "subtasks": [{"name": "one", "description": "first\nthing"}, "two"],
    }
    made = alice.post("/plans", body).json()
    alice.patch(f"/plans/{made['id']}", {"title": "Tidier"}, If_Match="1")
    return made["id"]


def test_every_version_can_be_read_as_it_was(alice, plan):
    listed = alice.get(f"/plans/{plan}/versions").json()
    assert [(row["version"], row["author"]) for row in listed["items"]] == [
        (1, "alice"),
        (2, "alice"),
    ]
    first = alice.get(f"/plans/{plan}/versions/1").json()
    assert first["snapshot"]["title"] == "Tidy"
    assert [row["key"] for row in first["snapshot"]["subtasks"]] == ["s1", "s2"]


@pytest.mark.parametrize("n", ["0", "3", "-1", "9" * 30])
def test_a_version_there_was_not_is_not_there(alice, plan, said, n):
    said(alice.get(f"/plans/{plan}/versions/{n}"), 404)


def test_the_timeline_says_who_did_what(alice, plan):
    listed = alice.get(f"/plans/{plan}/events").json()["items"]
    assert [(row["type"], row["actor"]) for row in listed] == [
        ("plan.created", "alice"),
        ("plan.updated", "alice"),
    ]
    later = alice.get(f"/plans/{plan}/events?after={listed[0]['seq']}").json()
    assert [row["type"] for row in later["items"]] == ["plan.updated"]


@pytest.mark.parametrize("turn_ended", ["failed", "done"])
def test_every_attempt_is_told(alice, plan, turn_ended):
    turn = Turn.objects.create(
        conversation=Conversation.objects.get(),
        lane="run",
        kind="subtask",
        state=turn_ended,
        tokens_in=7,
    )
    Attempt.objects.create(
        subtask=Subtask.objects.get(key="s1"),
        number=1,
        version=2,
        turn=turn,
        failure_class="logic",
        error="It broke.",
    )
    listed = alice.get(f"/plans/{plan}/attempts").json()
    assert listed["count"] == 1
    told = listed["items"][0]
    assert (told["subtask"], told["number"], told["state"]) == ("s1", 1, "failed")
    assert (told["error"], told["tokens"]) == ("It broke.", 7)


def test_a_plan_is_exported_as_a_document(alice, plan):
    alice.post(f"/plans/{plan}/approve", {"version": 2, "run": "no"})
    alice.post(f"/plans/{plan}/subtasks/s2/skip", {"reason": "no need"})
    Subtask.objects.filter(key="s1").update(state="done", outcome="Read all.")
    Plan.objects.update(state="done", outcome="Tidy now.")
    answer = alice.get(f"/plans/{plan}/export.md")
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    text = answer.content.decode()
    assert text.startswith(
        "# Tidier\n\n> Tidy the docs\n> and the code\n\nFinished. Version 2, approved by alice"
    )
    assert (
        "- [x] **one** (by the agent’s word)\n\n  first\n  thing\n\n  *Outcome:* Read all." in text
    )
    assert "- [-] **two** (abandoned: skipped: no need)" in text
    assert text.endswith("## Outcome\n\nTidy now.\n")
