"""Plans found again by a script, and the verbs of the shelf."""

import pytest

from plans.models import Plan


def made(api, title, conversation=None, **more):
    where = {"conversation": conversation} if conversation else {"agent": "alice-writer"}
    subtasks = more.pop("subtasks", ["one"])
    body = {"title": title, "subtasks": subtasks, **more}
    return api.post("/plans", {**where, **body}).json()


def titles(api, query=""):
    answer = api.get(f"/plans?{query}")
    assert answer.status_code == 200, answer.content
    return [row["title"] for row in answer.json()["items"]]


def test_plans_are_found_by_what_their_subtasks_are_called(alice):
    made(alice, "Tidy up", subtasks=["Sweep the yard"])
    made(alice, "Water plants")
    assert titles(alice, "q=YARD+tidy") == ["Tidy up"]


def test_plans_that_need_a_person_are_found(alice):
    made(alice, "Proposed")
    gone = made(alice, "Gone")
    alice.post(f"/plans/{gone['id']}/cancel")
    runs = made(alice, "Runs")
    alice.post(f"/plans/{runs['id']}/approve", {"version": 1})
    assert titles(alice, "attention=needs-me") == ["Proposed"]
    assert titles(alice, "attention=failed") == []
    assert alice.get("/plans?attention=needs-me").json()["count"] == 1


def test_plans_are_found_by_days_that_are_both_included(alice):
    plan = made(alice, "Old")
    Plan.objects.filter(pk=plan["id"]).update(created_at="2026-03-05T23:59:59Z")
    assert titles(alice, "since=2026-03-05&until=2026-03-05") == ["Old"]
    assert titles(alice, "since=2026-03-06") == []
    assert titles(alice, "until=2026-03-04") == []


@pytest.mark.parametrize(
    "sort", ["created", "state", "-state", "duration", "-duration", "tokens", "-tokens"]
)
def test_plans_are_sorted(alice, sort):
    first, second = made(alice, "First"), made(alice, "Second")
    expected = [first["title"], second["title"]] if sort == "created" else ["Second", "First"]
    assert titles(alice, f"sort={sort}") == expected


@pytest.mark.parametrize("query", ["sort=name", "attention=me", "since=yesterday", "page=0"])
def test_what_cannot_be_asked_for_is_a_sentence(alice, said, query):
    said(alice.get(f"/plans?{query}"), 422)


def test_another_plan_is_put_into_the_drawer(alice, bob, said):
    first = made(alice, "First")
    chat = first["conversation"]
    second = made(alice, "Second", chat)
    said(bob.post(f"/plans/{first['id']}/activate"), 404)
    assert alice.post(f"/plans/{first['id']}/activate").json()["id"] == first["id"]
    assert alice.get(f"/conversations/{chat}/plan").json()["id"] == first["id"]
    alice.post(f"/plans/{second['id']}/activate")
    alice.post(f"/plans/{second['id']}/approve", {"version": 1})
    assert "running" in said(alice.post(f"/plans/{first['id']}/activate"), 409)


def test_a_plan_is_deleted_for_good(alice, bob, said):
    plan = made(alice, "Tidy up")
    said(bob.delete(f"/plans/{plan['id']}"), 404)
    assert alice.delete(f"/plans/{plan['id']}").status_code == 204
    said(alice.get(f"/plans/{plan['id']}"), 404)
    assert alice.get(f"/conversations/{plan['conversation']}/plan").json() is None


def test_a_running_plan_is_not_deleted(alice, said):
    plan = made(alice, "Tidy up")
    alice.post(f"/plans/{plan['id']}/approve", {"version": 1})
    assert "running" in said(alice.delete(f"/plans/{plan['id']}"), 409)


def test_a_plan_is_used_again(alice, bob, said):
    plan = made(alice, "Tidy up", goal="I want it tidy")
    said(bob.post(f"/plans/{plan['id']}/use-again"), 404)
    answer = alice.post(f"/plans/{plan['id']}/use-again")
    again = answer.json()
    assert answer.status_code == 201
    assert again["id"] != plan["id"]
    assert (again["title"], again["goal"], again["version"]) == ("Tidy up", "I want it tidy", 1)
    assert again["approved_version"] is None
