import pytest

from agents.models import Conversation, Turn
from plans import actions
from plans.models import Attempt, Plan
from plans.schemas import PlanDraft
from tests.inner import STATUSES, PlanSnapshot, why_left_out

PLAN = {
    "title": "Tidy up",
    "content": "Some words.",
    "expected_outcome": "All tidy",
    "subtasks": [
        {"name": "Read"},
        {"name": "Write", "description": "all of it"},
        {"name": "Check"},
    ],
}


@pytest.fixture
def plan(alice):
    """A plan of alice's, waiting for her yes."""
    return alice.post("/plans", {"agent": "alice-writer", **PLAN}).json()


def test_a_conversation_made_for_a_plan_is_called_as_the_plan(plan, alice):
    c = Conversation.objects.get(pk=plan["conversation"])
    assert c.title == "Tidy up"
    alice.post("/plans", {"conversation": c.pk, **PLAN, "title": "Another"})
    c.refresh_from_db()
    assert c.title == "Tidy up", "a title that it has stays"


def keys(plan):
    return [subtask["key"] for subtask in plan["subtasks"]]


def test_a_full_plan_waits_for_a_yes(alice, plan):
    assert (plan["version"], plan["approved_version"], plan["attention"]) == (1, None, "confirm")
    assert plan["run"] == "idle"
    assert not Turn.objects.exists()


def test_the_snapshot_is_exactly_what_the_openapi_document_says(alice, plan):
    status = STATUSES[plan["attention"]]
    read = PlanSnapshot.model_validate({**plan, "status": status})
    assert (read.document(), read.standing) == (plan, status.word)
    assert set(plan) == set(PlanSnapshot.model_fields) - {"status", "counted"}


def test_a_plan_may_be_a_text_alone_and_is_done_when_it_is_approved(alice, said):
    text = {"agent": "alice-writer", "title": "Ideas", "content": "Some words."}
    made = alice.post("/plans", {**text, "metadata": {"ticket": 7}}).json()
    assert (made["subtasks"], made["metadata"], made["version"]) == ([], {"ticket": 7}, 1)
    done = alice.post(f"/plans/{made['id']}/approve", {"version": 1}).json()
    assert (done["state"], done["approved_version"], done["run"]) == ("done", 1, "idle")
    assert done["outcome"] == "Approved as v1."


def test_a_plan_shows_itself_in_its_conversation(alice, plan):
    shown = alice.get(f"/conversations/{plan['conversation']}/plan").json()
    assert shown["id"] == plan["id"]
    assert alice.get(f"/conversations/{plan['conversation']}").json()["plan"] == plan["id"]


def test_a_goal_asks_the_planner(alice):
    answer = alice.post("/plans", {"agent": "alice-writer", "goal": "Tidy up\nall the docs"})
    assert answer.status_code == 202
    conversation = Conversation.objects.get(pk=answer.json()["conversation"])
    assert conversation.active_plan.asked_goal == "Tidy up\nall the docs"
    assert Turn.objects.get(pk=answer.json()["turn"]).kind == "plan"


def test_a_plan_can_be_put_into_a_conversation(alice, bob, said):
    chat = alice.talk()
    made = alice.post("/plans", {"conversation": chat, **PLAN})
    assert (made.status_code, made.json()["conversation"]) == (201, chat)
    said(bob.post("/plans", {"conversation": chat, **PLAN}), 404)


def test_with_plan_mode_off_a_goal_is_refused_and_leaves_nothing(alice, said):
    alice.patch("/agents/alice-writer", {"plan": {"enabled": False}})
    answer = alice.post("/plans", {"agent": "alice-writer", "goal": "Tidy up"})
    assert "/plan is off" in said(answer, 409)
    assert not Conversation.objects.exists()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "name a goal"),
        ({"goal": "x"}, "either an agent or a conversation"),
        ({"goal": "x", "agent": "a", "conversation": 1}, "either an agent or a conversation"),
        ({"agent": "alice-writer", "title": "x"}, "at least one subtask"),
        ({"agent": "alice-writer", "title": "x", "subtasks": []}, "at least one subtask"),
        ({"agent": "alice-writer", "title": "x", "subtasks": [{}]}, "subtasks[0].name is missing"),
        ({"agent": "alice-writer", "title": "x", "subtasks": ["a"] * 1000}, "at most 500"),
        ({"agent": "alice-writer", "title": "x" * 201, "subtasks": ["a"]}, "title: "),
        ({"agent": "alice-writer", "titel": "x", "goal": "y"}, "titel is not a field"),
    ],
)
def test_a_plan_that_cannot_be_is_a_sentence_and_leaves_nothing(alice, said, body, words):
    assert words in said(alice.post("/plans", body), 422)
    assert not Plan.objects.exists()
    assert not Conversation.objects.exists()


def test_plans_are_listed_newest_first_with_filters(alice, bob, plan):
    other = alice.post(
        "/plans", {"agent": "alice-writer", "title": "Water plants", "subtasks": ["a"]}
    ).json()
    bob.post("/plans", {"agent": "bob-writer", **PLAN})

    def listed(query=""):
        return [row["id"] for row in alice.get(f"/plans?{query}").json()["items"]]

    assert listed() == [other["id"], plan["id"]]
    assert listed("q=water+PLANTS") == [other["id"]]
    assert listed(f"conversation={plan['conversation']}") == [plan["id"]]
    assert listed("agent=alice-writer") == [other["id"], plan["id"]]
    assert listed("agent=bob-writer") == []
    alice.post(f"/plans/{plan['id']}/cancel")
    assert listed("state=abandoned") == [plan["id"]]
    assert listed("state=todo") == [other["id"]]


def test_a_state_there_is_not_is_a_sentence(alice, said):
    assert "state: " in said(alice.get("/plans?state=open"), 422)


def test_someone_elses_plan_is_not_there(alice, bob, plan, said):
    path = f"/plans/{plan['id']}"
    for part in ("", "/versions", "/versions/1", "/events", "/attempts", "/export.md"):
        said(bob.get(path + part), 404)
    said(bob.patch(path, {"title": "mine"}, If_Match="1"), 404)
    said(bob.post(f"{path}/approve", {"version": 1}), 404)
    for verb in (
        "cancel",
        "run",
        "pause",
        "resume",
        "stop",
        "subtasks/s1/retry",
        "subtasks/s1/skip",
    ):
        said(bob.post(f"{path}/{verb}"), 404)
    said(bob.post(f"{path}/revise", {"feedback": "no"}), 404)
    said(bob.post(f"{path}/subtasks", {"name": "x"}), 404)
    said(bob.delete(f"{path}/subtasks/s1"), 404)
    assert alice.get(path).json() == plan


class TestEditing:
    def test_an_edit_makes_the_next_version(self, alice, plan):
        tag = alice.get(f"/plans/{plan['id']}").headers["ETag"]
        answer = alice.patch(f"/plans/{plan['id']}", {"title": "Tidier"}, If_Match=tag)
        assert (answer.json()["title"], answer.json()["version"]) == ("Tidier", 2)
        assert answer.headers["ETag"] == '"2"'

    @pytest.mark.parametrize("version", ['"1"', "1", 'W/"1"'])
    def test_the_version_may_be_written_in_any_usual_way(self, alice, plan, version):
        answer = alice.patch(f"/plans/{plan['id']}", {"title": "x"}, If_Match=version)
        assert answer.status_code == 200

    def test_an_edit_without_a_version_is_refused(self, alice, plan, said):
        assert "If-Match" in said(alice.patch(f"/plans/{plan['id']}", {"title": "x"}), 428)

    def test_an_edit_of_another_version_is_refused_with_the_current_one(self, alice, plan, said):
        alice.patch(f"/plans/{plan['id']}", {"title": "x"}, If_Match='"1"')
        answer = alice.patch(f"/plans/{plan['id']}", {"title": "y"}, If_Match='"1"')
        said(answer, 412)
        assert answer.json()["current_version"] == 2
        assert alice.get(f"/plans/{plan['id']}").json()["title"] == "x"

    @pytest.mark.parametrize("version", ["x", "*", '"1.5"', '"-1"', "9" * 30])
    def test_a_version_that_cannot_be_is_a_sentence(self, alice, plan, said, version):
        said(alice.patch(f"/plans/{plan['id']}", {"title": "x"}, If_Match=version), 422)

    def test_the_list_of_subtasks_is_the_whole_list(self, alice, plan):
        wanted = [{"key": "s3"}, {"name": "New"}, {"key": "s1", "name": "Read it"}]
        answer = alice.patch(f"/plans/{plan['id']}", {"subtasks": wanted}, If_Match="1").json()
        assert [(row["key"], row["name"]) for row in answer["subtasks"]] == [
            ("s3", "Check"),
            ("s4", "New"),
            ("s1", "Read it"),
        ]

    def test_a_subtask_named_by_its_key_alone_keeps_its_words(self, alice, plan):
        wanted = [{"key": "s2"}]
        answer = alice.patch(f"/plans/{plan['id']}", {"subtasks": wanted}, If_Match="1").json()
        assert answer["subtasks"][0]["description"] == "all of it"

    @pytest.mark.parametrize(
        "wanted",
        [
            [],
            [{}],
            [{"key": "s1"}, {"key": "s1"}],
            [{"name": ""}],
            [{"key": "s1", "state": "done"}],
            "s1",
        ],
    )
    def test_a_list_that_cannot_be_changes_nothing(self, alice, plan, said, wanted):
        said(alice.patch(f"/plans/{plan['id']}", {"subtasks": wanted}, If_Match="1"), 422)
        assert alice.get(f"/plans/{plan['id']}").json()["version"] == 1

    def test_a_subtask_that_is_not_there_is_not_found(self, alice, plan, said):
        edit = {"subtasks": [{"key": "s9"}]}
        said(alice.patch(f"/plans/{plan['id']}", edit, If_Match="1"), 404)
        assert alice.get(f"/plans/{plan['id']}").json()["version"] == 1

    def test_metadata_is_merged_and_makes_no_version(self, alice, plan):
        for patch in ({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": 3}}):
            answer = alice.patch(f"/plans/{plan['id']}", {"metadata": patch}, If_Match="1")
        assert answer.json()["metadata"] == {"b": {"c": 2, "d": 3}}
        assert answer.json()["version"] == 1

    @pytest.mark.parametrize("field", ["state", "version", "approved_version", "outcome"])
    def test_nobody_writes_what_the_system_writes(self, alice, plan, said, field):
        said(alice.patch(f"/plans/{plan['id']}", {field: 1}, If_Match="1"), 422)


class TestApproving:
    def test_a_yes_starts_the_run(self, alice, plan):
        answer = alice.post(f"/plans/{plan['id']}/approve", {"version": 1}).json()
        assert (answer["approved_version"], answer["approved_by"]) == (1, "alice")
        assert answer["run"] == "queued"
        assert Turn.objects.get().lane == "run"

    def test_a_yes_may_start_nothing(self, alice, plan):
        answer = alice.post(f"/plans/{plan['id']}/approve", {"version": 1, "run": "no"}).json()
        assert (answer["approved_version"], answer["run"]) == (1, "idle")
        assert not Turn.objects.exists()

    def test_a_yes_to_another_version_is_refused_with_the_current_one(self, alice, plan, said):
        alice.patch(f"/plans/{plan['id']}", {"title": "x"}, If_Match="1")
        answer = alice.post(f"/plans/{plan['id']}/approve", {"version": 1})
        said(answer, 409)
        assert answer.json()["current_version"] == 2
        assert not Turn.objects.exists()

    def test_the_same_yes_twice_starts_one_run(self, alice, plan):
        for _ in range(2):
            answer = alice.post(f"/plans/{plan['id']}/approve", {"version": 1})
            assert answer.status_code == 200
        assert Turn.objects.count() == 1

    @pytest.mark.parametrize("body", [{}, {"version": "one"}, {"version": 1, "run": "some"}, None])
    def test_a_yes_that_names_no_version_starts_nothing(self, alice, plan, said, body):
        said(alice.post(f"/plans/{plan['id']}/approve", body), 422)
        assert not Turn.objects.exists()


class TestRunning:
    @pytest.fixture
    def approved(self, alice, plan):
        return alice.post(f"/plans/{plan['id']}/approve", {"version": 1, "run": "no"}).json()

    def test_a_plan_without_a_yes_does_not_run(self, alice, plan, said):
        said(alice.post(f"/plans/{plan['id']}/run"), 409)
        said(alice.post(f"/plans/{plan['id']}/resume"), 409)

    def test_an_approved_plan_runs_pauses_resumes_and_stops(self, alice, approved):
        path = f"/plans/{approved['id']}"
        assert alice.post(f"{path}/run", {"mode": "next"}).json()["run_mode"] == "next"
        assert alice.post(f"{path}/pause").json()["run"] == "paused"
        assert alice.post(f"{path}/resume").json()["run"] == "queued"
        assert alice.post(f"{path}/stop").json()["run"] in ("idle", "stopping")

    def test_a_run_in_another_way_is_a_sentence(self, alice, approved, said):
        said(alice.post(f"/plans/{approved['id']}/run", {"mode": "some"}), 422)

    def test_an_idle_plan_cannot_pause(self, alice, approved, said):
        said(alice.post(f"/plans/{approved['id']}/pause"), 409)

    def test_cancelling_says_why_and_is_final(self, alice, approved, said):
        path = f"/plans/{approved['id']}"
        answer = alice.post(f"{path}/cancel", {"reason": "no time"}).json()
        assert (answer["state"], answer["reason"]) == ("abandoned", "cancelled: no time")
        said(alice.post(f"{path}/run"), 409)
        said(alice.post(f"{path}/approve", {"version": 1}), 409)
        said(alice.patch(path, {"title": "x"}, If_Match="1"), 409)

    def test_feedback_goes_to_the_planner(self, alice, plan):
        answer = alice.post(f"/plans/{plan['id']}/revise", {"feedback": "Drop step 2"})
        assert (answer.status_code, answer.json()["kind"]) == (202, "plan")
        said = alice.get(f"/conversations/{plan['conversation']}/messages").json()["items"]
        assert said[-1]["text"] == "Drop step 2"

    def test_feedback_that_sounds_like_a_yes_is_feedback(self, alice, plan):
        alice.post(f"/plans/{plan['id']}/revise", {"feedback": "ok"})
        assert alice.get(f"/plans/{plan['id']}").json()["approved_version"] is None

    def test_a_closed_plan_takes_no_feedback(self, alice, plan, said):
        alice.post(f"/plans/{plan['id']}/cancel")
        said(alice.post(f"/plans/{plan['id']}/revise", {"feedback": "More"}), 409)

    def test_a_plan_that_left_the_drawer_takes_no_feedback(self, alice, plan, said):
        conversation = Conversation.objects.get(pk=plan["conversation"])
        draft = PlanDraft.model_validate({"title": "Other", "subtasks": ["a"]})
        actions.create_plan(conversation, draft, "alice")
        said(alice.post(f"/plans/{plan['id']}/revise", {"feedback": "More"}), 409)


@pytest.mark.parametrize(("rest", "told"), [("pause", "paused: resume it"), ("stop", "run it")])
def test_a_yes_to_what_is_approved_and_rests_says_how_to_go_on(alice, said, plan, rest, told):
    at = f"/plans/{plan['id']}"
    alice.post(f"{at}/approve", {"version": 1})
    subtask = Plan.objects.get().subtasks.get(key="s1")
    turn = Turn.objects.get()
    Attempt.objects.create(subtask=subtask, number=1, version=1, turn=turn)
    assert alice.post(f"{at}/approve", {"version": 1}).status_code == 200, "it runs already"
    alice.post(f"{at}/{rest}", {})
    Plan.objects.filter(run="stopping").update(run="idle")
    answer = alice.post(f"{at}/approve", {"version": 1})
    assert answer.status_code == 409
    assert "v1 is approved already" in answer.json()["detail"]
    assert told in answer.json()["detail"]
    assert Plan.objects.get().run in ("idle", "paused")


@pytest.mark.parametrize("reason", ["", "too dear", "x" * 200])
def test_a_cancel_stays_one_whatever_is_said_about_it(alice, plan, reason):
    ended = alice.post(f"/plans/{plan['id']}/cancel", {"reason": reason}).json()
    assert ended["standing"] == "Cancelled"
    assert reason[:180] in ended["reason"]
    assert why_left_out(ended["subtasks"][0]["reason"]).startswith("Cancelled with the plan")
