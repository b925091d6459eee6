"""/diff and /go-back: what changed since, and back again."""

import pytest


@pytest.fixture
def plan(alice):
    """v1 Read, Write; v2 approved, with a reworded subtask; v3 with one more."""
    body = {"agent": "alice-writer", "title": "Tidy", "subtasks": ["Read", "Write all"]}
    made = alice.post("/plans", body).json()["id"]
    alice.patch(f"/plans/{made}/subtasks/s2", {"name": "Write it all"})
    alice.post(f"/plans/{made}/approve", {"version": 2, "run": "no"})
    alice.post(f"/plans/{made}/subtasks", {"name": "Check", "after": "s1"})
    return made


def seen(found):
    return [(row["change"], row["name"], row["was"], row["position"]) for row in found["subtasks"]]


def test_without_versions_named_it_is_what_changed_since_the_yes(alice, plan):
    found = alice.get(f"/plans/{plan}/diff").json()
    assert (found["from"], found["to"]) == (2, 3)
    assert (found["changes"], found["sentence"]) == (1, "1 change: 1 added")
    assert found["counts"] == {"added": 1, "reworded": 0, "moved": 0, "removed": 0}
    assert seen(found) == [
        ("same", "Read", 1, 1),
        ("added", "Check", None, 2),
        ("same", "Write it all", 2, 3),
    ]


def test_any_two_versions_can_be_compared_either_way(alice, plan):
    found = alice.get(f"/plans/{plan}/diff?from=1&to=2").json()
    assert found["subtasks"][1]["fields"] == {
        "name": [
            {"op": "kept", "text": "Write "},
            {"op": "inserted", "text": "it "},
            {"op": "kept", "text": "all"},
        ]
    }
    back = alice.get(f"/plans/{plan}/diff?from=3&to=1").json()
    assert back["sentence"] == "2 changes: 1 reworded, 1 removed"
    assert alice.get(f"/plans/{plan}/diff?from=2&to=2").json()["changes"] == 0


def test_a_plan_nobody_approved_is_compared_with_the_first_version(alice):
    body = {"agent": "alice-writer", "title": "Tidy", "subtasks": ["Read"]}
    plan = alice.post("/plans", body).json()["id"]
    alice.patch(f"/plans/{plan}", {"title": "Tidier", "content": "More."}, If_Match="1")
    found = alice.get(f"/plans/{plan}/diff").json()
    assert (found["from"], found["to"]) == (1, 2)
    assert found["sentence"] == "2 changes: the title, the description"
    assert [run["text"] for run in found["fields"]["content"]] == ["More."]


@pytest.mark.parametrize(
    ("query", "status"),
    [("from=9", 404), ("to=4", 404), ("from=0", 422), ("to=x", 422), (f"from={'9' * 30}", 422)],
)
def test_a_version_there_was_not_is_refused(alice, plan, said, query, status):
    said(alice.get(f"/plans/{plan}/diff?{query}"), status)


def test_going_back_makes_the_next_version_and_voids_the_yes(alice, plan):
    answer = alice.post(f"/plans/{plan}/go-back", {"version": 1}, If_Match="3")
    assert (answer.status_code, answer.headers["ETag"]) == (200, '"4"')
    shown = answer.json()
    assert [each["name"] for each in shown["subtasks"]] == ["Read", "Write all"]
    assert (shown["version"], shown["approved_version"], shown["attention"]) == (4, 2, "confirm")
    last = alice.get(f"/plans/{plan}/versions/4").json()
    assert (last["author"], last["explanation"]) == ("alice", "Went back to v1")


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"version": 9}, {}, 404),
        ({"version": 0}, {}, 422),
        ({"version": 2**70}, {}, 422),
        ({}, {}, 422),
        ({"version": 1}, {"If_Match": "2"}, 412),
    ],
)
def test_what_cannot_be_gone_back_to_is_refused(alice, plan, said, body, headers, status):
    said(alice.post(f"/plans/{plan}/go-back", body, **headers), status)
    assert alice.get(f"/plans/{plan}").json()["version"] == 3


def test_a_cancelled_plan_stays_as_it_ended(alice, plan, said):
    alice.post(f"/plans/{plan}/cancel")
    assert "cancelled" in said(alice.post(f"/plans/{plan}/go-back", {"version": 1}), 409)
    assert alice.get(f"/plans/{plan}/diff").status_code == 200


def test_somebody_elses_plan_is_not_there(bob, plan, said):
    said(bob.get(f"/plans/{plan}/diff"), 404)
    said(bob.post(f"/plans/{plan}/go-back", {"version": 1}), 404)
