"""Checks as a part of a subtask's text: what they may say, who changed them, and the yes to them."""

from itertools import pairwise

import pytest
from pydantic import ValidationError

from agents.actors import AGENT
from agents.errors import Conflict, Invalid
from plans import actions
from plans.models import PlanVersion
from plans.schemas import PlanDraft, PlanEdit, Revision, SubtaskDraft
from tests.fake_model import call, say
from tests.inner import Check, checklist, diff, looks_at, plan_snapshot, prompts, with_keys
from tests.world import conversation, plan_of, scripted, shown, signed_in, tell

pytestmark = pytest.mark.django_db(transaction=True)

README = {"kind": "file", "path": "README.md", "contains": "Usage"}
GONE = {"kind": "file", "path": "old.txt", "absent": True}
GREEN = {"kind": "command", "command": "pytest -q"}
ASKS_SHELL = {"shell": "ask", "fetch_url": "allow"}


def planned(*checks, tools=None, **config):
    """A plan of one subtask with these checks, made by an agent with these tools."""
    c = conversation(tools=tools or ASKS_SHELL, plan={"enabled": True, **config})
    subtasks = [{"name": "Write", "checks": list(checks)}, {"name": "Look"}]
    draft = PlanDraft.model_validate({"title": "Tidy", "subtasks": subtasks})
    actions.create_plan(c, draft, "agent")
    return plan_of(c)


@pytest.fixture
def may_all(monkeypatch):
    """Agents for whom nothing is off, and services with every operation."""
    monkeypatch.setattr("plans.check_permission.why_not", lambda check, now: "")


def checks_of(plan, key="s1"):
    return plan.subtasks.get(key=key).checks


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (README, README),
        (GREEN, {**GREEN, "exit_code": 0, "timeout_s": 60}),
        ({"kind": "http", "url": "https://a.example"}, {"status": 200}),
        ({"kind": "tool", "tool": "svc__a", "path": "b", "value": False}, {"value": False}),
        ({"kind": "review", "question": "Is it so?"}, {"question": "Is it so?"}),
        ({**GONE, "exists": False, "contains": None, "matches": ""}, GONE),
    ],
)
def test_a_check_has_the_fields_of_its_kind(given, stored):
    document = Check.model_validate(given).model_dump()
    assert document.items() >= stored.items()
    assert "exists" not in document and "key" not in document


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("README.md", "is an object"),
        ({"kind": "magic"}, "one of file, command, http, tool, review"),
        *(({"kind": kind}, "one of file, command") for kind in ({}, ["file"], None, 1, [{}])),
        ({"kind": "file", "exists": True}, "needs its path"),
        ({"kind": "file", "path": "a"}, "exactly one of exists, absent"),
        ({**README, "matches": "x"}, "exactly one of exists, absent"),
        ({"kind": "file", "path": "/etc/passwd", "exists": True}, "relative to the workspace"),
        ({"kind": "file", "path": "a/../../b", "exists": True}, "relative to the workspace"),
        ({"kind": "file", "path": "a", "matches": "("}, "no regular expression"),
        ({"kind": "file", "path": "a", "matches": "(?=a)"}, "one of RE2, which has no (?="),
        ({"kind": "file", "path": "a", "matches": r"(a)\1"}, r"one of RE2, which has no \1"),
        ({**GREEN, "question": "x"}, "has no question"),
        ({**GREEN, "timeout_s": 6000}, "less than or equal to 600"),
        ({"kind": "http", "url": "file:///etc/passwd"}, "begins with http"),
        ({"kind": "tool", "tool": "svc__a", "path": "b"}, "needs its value"),
        ({"kind": "review", "question": "x" * 3000}, "at most 2000 characters"),
    ],
)
def test_a_check_that_makes_no_sense_is_refused_in_one_sentence(given, why):
    with pytest.raises(ValidationError) as refused:
        Check.model_validate(given)
    assert why in refused.value.errors()[0]["msg"]


def test_a_subtask_has_at_most_ten_checks():
    with pytest.raises(ValidationError, match="at most 10 checks"):
        planned(*[README] * 11)


def test_keys_stay_with_their_checks_and_are_never_used_again():
    checks, made = with_keys([README, GONE], 0)
    assert [each["key"] for each in checks] == ["c1", "c2"]
    checks, made = with_keys([checks[1], GREEN], made)
    assert [each["key"] for each in checks] == ["c2", "c3"]
    checks, made = with_keys([{**README, "key": "c9"}, {**GONE, "key": "c2"}, checks[0]], made)
    assert [each["key"] for each in checks] == ["c4", "c2", "c5"]


def test_the_snapshot_names_each_check_and_its_result():
    plan = planned(README)
    [first, second] = plan_snapshot(plan).subtasks
    [check] = first.checks
    assert check.asked == {"key": "c1", **README}
    assert (check.contains, check.result) == ("Usage", None)
    assert (first.verified, second.checks) == (None, [])
    [said, _] = plan_snapshot(plan).document()["subtasks"]
    assert said["checks"] == [{"key": "c1", **README, "result": None}]


def test_a_plan_without_checks_is_stored_as_it_was_before_there_were_any():
    plan = planned()
    assert "checks" not in plan.versions.get().snapshot["subtasks"][0]
    assert plan.versions.get().text["subtasks"][0]["checks"] == []
    assert PlanVersion.objects.count() == 1


def test_an_edit_of_the_text_alone_leaves_the_checks():
    plan = planned(README)
    actions.update_subtask(plan, "s1", {"description": "With care"}, "alice", 1)
    actions.edit_plan(
        plan, PlanEdit.model_validate({"subtasks": [{"key": "s1", "name": "W"}]}), "alice", 2
    )
    assert checks_of(plan) == [{"key": "c1", **README}]


def test_a_check_is_added_changed_and_taken_away_by_a_version_each():
    plan = planned(README)
    actions.save_check(plan, "s1", Check.model_validate(GONE), "alice", 1)
    weaker = {"key": "c1", "kind": "file", "path": "README.md", "exists": True}
    actions.save_check(plan, "s1", Check.model_validate(weaker), "alice", 2)
    actions.remove_check(plan, "s1", "c2", "alice", 3)
    assert checks_of(plan) == [weaker]
    versions = [row.text for row in plan.versions.all()]
    said = [
        [each.words for row in diff(*pair).rows for each in row.checks]
        for pair in pairwise(versions)
    ]
    assert said == [["Check added"], ["Check weakened"], ["Check removed"]]


def test_that_less_is_asked_for_stands_in_the_sentence_and_beside_the_start():
    plan = planned(README)
    actions.save_check(plan, "s1", Check.model_validate(GONE), "alice", 1)
    weaker = {"key": "c1", "kind": "file", "path": "README.md", "exists": True}
    actions.save_check(plan, "s1", Check.model_validate(weaker), "alice", 2)
    actions.remove_check(plan, "s1", "c2", "alice", 3)
    texts = [row.text for row in plan.versions.all()]
    assert [diff(*pair).sentence for pair in pairwise(texts)][1:] == [
        "1 change: 1 reworded, 1 check weakened",
        "1 change: 1 reworded, 1 check removed",
    ]
    person = plan.conversation.owner
    page = signed_in(person).get(f"/c/{plan.conversation_id}/").content.decode()
    assert page.count("v4 · 1 change, 1 check removed") == 4, "card and drawer, seen and read out"


def test_going_back_brings_a_check_back_under_its_key():
    plan = planned(README, GONE)
    actions.remove_check(plan, "s1", "c1", "alice", 1)
    actions.restore_version(plan, 1, "alice", 2)
    assert [each["key"] for each in checks_of(plan)] == ["c1", "c2"]


def test_a_copy_of_a_plan_has_its_checks():
    plan = planned(README)
    copy = actions.use_again(plan, "alice")
    assert checks_of(copy) == [{"key": "c1", **README}]


@pytest.mark.parametrize("confirm", ["always", "create", "never"])
@pytest.mark.parametrize(
    "revision",
    [
        {"key": "s1", "checks": []},
        {"key": "s1", "checks": [{"key": "c1", "kind": "file", "path": "x", "exists": True}]},
        {"key": "s1", "remove": True},
    ],
)
def test_an_agent_that_takes_a_check_away_needs_a_new_yes(confirm, revision):
    plan = planned(README, confirm=confirm)
    actions.approve_plan(plan, 1, "alice", run="no")
    plan = actions.revise_plan(plan, Revision.model_validate({"subtasks": [revision]}), AGENT)
    assert (plan.version, plan.approved_version) == (2, 1)


@pytest.mark.parametrize("confirm", ["create", "never"])
@pytest.mark.parametrize(
    "check",
    [
        GREEN,
        {"kind": "http", "url": "https://a.example/?what=was-read"},
        {"key": "c1", **GREEN},
        {"kind": "tool", "tool": "svc__state", "path": "status", "value": "ok"},
    ],
)
@pytest.mark.parametrize("place", ["s1", "new"])
@pytest.mark.usefixtures("may_all")
def test_an_agent_that_adds_a_check_which_acts_needs_a_new_yes(confirm, check, place):
    plan = planned(README, confirm=confirm)
    actions.approve_plan(plan, 1, "alice", run="no")
    checks = [{"key": "c1", **README}, check] if place == "s1" else [check]
    revision = {"key": "s1", "checks": checks} if place == "s1" else {"name": "X", "checks": checks}
    plan = actions.revise_plan(plan, Revision.model_validate({"subtasks": [revision]}), AGENT)
    assert (plan.version, plan.approved_version) == (2, 1)


@pytest.mark.usefixtures("may_all")
def test_a_subtask_that_an_agent_adds_with_a_command_needs_a_new_yes():
    plan = planned(README, confirm="never")
    actions.approve_plan(plan, 1, "alice", run="no")
    draft = SubtaskDraft.model_validate({"name": "More", "checks": [GREEN]})
    plan = actions.add_subtask(plan, draft, AGENT)
    assert (plan.version, plan.approved_version) == (2, 1)


@pytest.mark.usefixtures("may_all")
def test_a_check_which_acts_and_was_approved_stays_so_where_an_agent_changes_other_words():
    plan = planned(GREEN, confirm="create")
    actions.approve_plan(plan, 1, "alice", run="no")
    renamed = {"key": "s1", "name": "Write it"}
    plan = actions.revise_plan(plan, Revision.model_validate({"subtasks": [renamed]}), AGENT)
    assert (plan.version, plan.approved_version) == (2, 2)


def test_one_that_adds_a_check_is_trusted_where_its_changes_are():
    plan = planned(README, confirm="create")
    actions.approve_plan(plan, 1, "alice", run="no")
    more = {"key": "s1", "checks": [{"key": "c1", **README}, GONE]}
    plan = actions.revise_plan(plan, Revision.model_validate({"subtasks": [more]}), AGENT)
    assert (plan.version, plan.approved_version) == (2, 2)


def test_a_command_cannot_be_saved_where_the_shell_is_off():
    with pytest.raises(Invalid, match=r"shell is off for .*, so this check cannot be saved"):
        planned(GREEN, tools={"read_file": "allow"})
    with pytest.raises(Invalid, match="fetch_url is off"):
        planned({"kind": "http", "url": "https://a.example"}, tools={"read_file": "allow"})


def test_a_tool_is_an_operation_of_a_service_that_only_reads():
    asks = {"kind": "tool", "tool": "svc__state", "path": "status", "value": "ok"}
    with pytest.raises(Invalid, match="no service with the operation svc__state"):
        planned(asks, tools={"*": "allow"})


def test_the_executor_reads_what_will_be_checked():
    plan = planned(README, GONE)
    said = prompts.assignment(plan, checklist(plan).first())
    assert "- c1 file: README.md contains Usage\n- c2 file: old.txt is absent" in said


def test_words_say_what_a_check_looks_at():
    words = [looks_at(Check.model_validate(each).model_dump()) for each in (README, GONE, GREEN)]
    assert words == ["README.md contains Usage", "old.txt is absent", "pytest -q"]
    exits = Check.model_validate({**GREEN, "exit_code": 3}).model_dump()
    assert looks_at(exits) == "pytest -q, exits 3"


def test_where_checks_are_wanted_a_plan_without_some_is_refused_once():
    c = conversation(plan={"enabled": True, "checks": "required"})
    bare = [{"name": "Read"}, {"name": "Write", "checks": [README]}]
    wire = scripted(
        call("create_plan", title="Tidy", subtasks=bare),
        call("create_plan", title="Tidy", subtasks=bare),
        say("Here it is."),
    )
    tell(c, "/plan tidy up")
    refusal = wire.requests[1]["messages"][-1]["content"]
    assert "A check is wanted for every subtask, and 1 have none: Read." in refusal
    assert [len(each["checks"]) for each in shown(c)["subtasks"]] == [0, 1]


def test_what_the_model_sends_wrong_comes_back_as_one_sentence():
    c = conversation()
    wrong = [{"name": "Write", "checks": [{"kind": "file", "path": "a"}]}]
    wire = scripted(call("create_plan", title="Tidy", subtasks=wrong), say("Sorry."))
    tell(c, "/plan tidy up")
    refusal = wire.requests[1]["messages"][-1]["content"]
    assert "subtasks.0.checks.0: A check of a file has exactly one of" in refusal


def test_a_check_of_what_runs_cannot_be_changed_by_hand():
    plan = planned(README)
    plan.subtasks.filter(key="s1").update(state="in_progress")
    with pytest.raises(Conflict, match="have not started"):
        actions.remove_check(plan, "s1", "c1", "alice")


@pytest.mark.parametrize("no_number", [float("nan"), float("inf"), {"a": [float("nan")]}])
def test_a_number_that_json_does_not_know_is_refused(no_number):
    given = {"kind": "tool", "tool": "svc__a", "path": "b", "value": 1}
    name = "arguments" if isinstance(no_number, dict) else "value"
    with pytest.raises(ValidationError) as refused:
        Check.model_validate({**given, name: no_number})
    assert "cannot be stored" in refused.value.errors()[0]["msg"]
