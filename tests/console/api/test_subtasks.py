import pytest


@pytest.fixture
def plan(alice):
    body = {"agent": "alice-writer", "title": "Tidy", "subtasks": ["one", "two", "three"]}
    return alice.post("/plans", body).json()


@pytest.fixture
def path(plan):
    return f"/plans/{plan['id']}/subtasks"


def names(answer):
    return [row["name"] for row in answer.json()["subtasks"]]


def test_a_subtask_is_added_at_the_end_or_after_another(alice, path):
    last = alice.post(path, {"name": "four"})
    assert last.status_code == 201
    assert names(last) == ["one", "two", "three", "four"]
    middle = alice.post(path, {"name": "one and a half", "after": "s1"})
    assert names(middle) == ["one", "one and a half", "two", "three", "four"]
    assert middle.json()["version"] == 3


def test_words_and_place_change(alice, path):
    answer = alice.patch(f"{path}/s3", {"name": "third", "position": 1})
    assert names(answer) == ["third", "one", "two"]
    assert answer.json()["subtasks"][0]["key"] == "s3"


def test_what_a_change_does_not_name_stays_as_it_is(alice, path):
    whole = {"description": "All of it.", "expected_outcome": "A list."}
    alice.patch(f"{path}/s2", whole)
    row = alice.patch(f"{path}/s2", {"name": "second"}).json()["subtasks"][1]
    assert {key: row[key] for key in ("name", *whole)} == {"name": "second", **whole}


def test_a_removed_subtask_leaves_the_list_and_its_key_is_not_used_again(alice, path):
    assert names(alice.delete(f"{path}/s2")) == ["one", "three"]
    assert alice.post(path, {"name": "four"}).json()["subtasks"][-1]["key"] == "s4"


def test_the_last_subtask_cannot_be_removed(alice, path, said):
    alice.delete(f"{path}/s1")
    alice.delete(f"{path}/s2")
    said(alice.delete(f"{path}/s3"), 422)


def test_a_subtask_there_is_not_is_not_there(alice, path, said):
    alice.delete(f"{path}/s2")
    for key in ("s2", "s9", "x" * 100):
        said(alice.patch(f"{path}/{key}", {"name": "x"}), 404)
        said(alice.delete(f"{path}/{key}"), 404)
        said(alice.post(f"{path}/{key}/retry"), 404)
        said(alice.post(f"{path}/{key}/skip"), 404)
    said(alice.post(path, {"name": "x", "after": "s9"}), 404)


@pytest.mark.parametrize(
    "body",
    [{"name": ""}, {"name": " \n"}, {"name": "x" * 501}, {"position": 0}, {"state": "done"}],
)
def test_what_cannot_be_is_a_sentence_and_changes_nothing(alice, plan, path, said, body):
    said(alice.patch(f"{path}/s1", body), 422)
    assert alice.get(f"/plans/{plan['id']}").json()["version"] == 1


def test_a_version_that_is_named_has_to_be_the_current_one(alice, path, said):
    assert alice.post(path, {"name": "four"}, If_Match='"1"').status_code == 201
    for answer in (
        alice.post(path, {"name": "five"}, If_Match='"1"'),
        alice.patch(f"{path}/s1", {"name": "x"}, If_Match='"1"'),
        alice.delete(f"{path}/s1", If_Match='"1"'),
    ):
        said(answer, 412)
        assert answer.json()["current_version"] == 2


def test_a_skipped_subtask_stays_in_the_list_and_counts_as_settled(alice, path):
    answer = alice.post(f"{path}/s2/skip", {"reason": "not needed"}).json()
    skipped = answer["subtasks"][1]
    assert (skipped["state"], skipped["reason"]) == ("abandoned", "skipped: not needed")
    assert (
        answer["progress"].items() >= {"done": 0, "abandoned": 1, "total": 3, "percent": 33}.items()
    )


def test_nothing_is_tried_again_without_a_yes(alice, path, said):
    said(alice.post(f"{path}/s1/retry"), 409)


def test_a_retry_runs_on(alice, plan, path):
    alice.post(f"/plans/{plan['id']}/approve", {"version": 1, "run": "no"})
    assert alice.post(f"{path}/s1/retry").json()["run"] == "queued"
