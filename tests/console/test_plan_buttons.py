"""Which buttons stand below a plan: one row of the table for each way it can stand."""

import pytest

from tests.inner import STATUSES, PlanSnapshot, SubtaskSnapshot
from tests.inner import plan_buttons as buttons_of

pytestmark = pytest.mark.django_db

EMPTY = dict.fromkeys(SubtaskSnapshot.__annotations__)
NOTHING = dict.fromkeys(PlanSnapshot.model_fields, "")
OPEN = {
    "id": 7,
    "state": "in_progress",
    "reason": "",
    "run": "running",
    "pause_reason": "",
    "conversation": 5,
    "version": 1,
    "approved_version": 1,
    "subtasks": [
        {"key": "s1", "comment": "", "attempts": 1, "state": "done", "failed": False},
        {"key": "s2", "comment": "", "attempts": 1, "state": "todo", "failed": False},
    ],
    "approvals": [],
    "question": None,
    "attention": "none",
    "retry_at": None,
    "halted": False,
    "hidden": False,
}
ASKED = {"approvals": [{"id": 1, "tool": "shell"}]}
PROPOSED = {"state": "todo", "run": "idle", "approved_version": None}

TABLE = [
    (PROPOSED, "Start plan", [], "cancel-plan"),
    (PROPOSED | {"version": 3}, "Start v3", [], "cancel-plan"),
    (PROPOSED | {"subtasks": []}, "Approve", [], "cancel-plan"),
    (PROPOSED | {"subtasks": [], "version": 2}, "Approve v2", [], "cancel-plan"),
    ({"version": 2}, "Start v2", [], "stop-plan"),
    ({"version": 2, "run": "paused"}, "Start v2", [], "stop-plan"),
    ({"version": 2, "run": "paused"} | ASKED, "Start v2", [], "stop-plan"),
    ({"version": 2, "run": "pausing"}, "", ["pause-plan", "replan"], "stop-plan"),
    ({"version": 2, "run": "stopping"}, "", ["stopping"], None),
    ({}, "", ["pause-plan", "replan"], "stop-plan"),
    ({"run": "queued"}, "", ["pause-plan", "replan"], "stop-plan"),
    ({"run": "pausing"}, "", ["pause-plan", "replan"], "stop-plan"),
    ({"run": "stopping"}, "", ["stopping"], None),
    ({"run": "paused"}, "", ["resume-plan", "replan"], "stop-plan"),
    ({"run": "paused"} | ASKED, "", ["pause-plan", "replan"], "stop-plan"),
    ({"run": "running"} | ASKED, "", ["pause-plan", "replan"], "stop-plan"),
    ({"run": "paused", "question": "Which?"}, "", ["pause-plan", "replan"], "stop-plan"),
    ({"run": "running", "question": "Which?"}, "", ["pause-plan", "replan"], "stop-plan"),
    ({"run": "paused", "attention": "budget"}, "", ["replan"], "stop-plan"),
    ({"run": "idle"}, "", ["start-again", "replan"], "cancel-plan"),
    ({"state": "done", "run": "idle"}, "", ["view-timeline", "use-again"], None),
    ({"state": "abandoned", "run": "idle"}, "", ["view-timeline", "use-again"], None),
]


def plan_buttons(plan, *about, **how):
    rows = [SubtaskSnapshot(**EMPTY | row) for row in plan["subtasks"]]
    status = STATUSES[plan.get("attention") if plan["attention"] != "none" else stands(plan)]
    now = {"status": status, "subtasks": rows}
    return buttons_of(PlanSnapshot.model_construct(**NOTHING | plan | now), *about, **how)


def stands(plan):
    """The name of its status, as plans/status.py has it."""
    if plan["state"] in ("done", "abandoned"):
        return plan["state"]
    if plan["question"] or plan["approvals"]:
        return "question" if plan["question"] else "approval"
    if plan["version"] != plan["approved_version"]:
        return "confirm" if plan["subtasks"] else "document"
    if plan["run"] == "idle":
        return "stopped" if any(row["attempts"] for row in plan["subtasks"]) else "ready"
    return "running" if plan["run"] == "queued" else plan["run"]


def test_where_nothing_is_left_to_do_nothing_is_offered_to_be_replanned():
    first, last = OPEN["subtasks"]
    settled = [first, last | {"state": "abandoned"}]
    for change in ({}, {"run": "paused"}, {"run": "idle"}):
        now = plan_buttons(OPEN | change | {"subtasks": settled}, 5)
        [button] = [each for each in now.steering if each.id == "replan"]
        assert "nothing left to replan" in str(button.blocked)
        [button] = [each for each in plan_buttons(OPEN | change, 5).steering if each.id == "replan"]
        assert not button.blocked and button.opens


@pytest.mark.parametrize(("change", "start", "steering", "ending"), TABLE, ids=str)
def test_the_buttons_of_a_plan(change, start, steering, ending):
    buttons = plan_buttons(OPEN | change, 5)
    assert buttons.start == start
    assert [button.id for button in buttons.steering] == steering
    assert (buttons.ending and buttons.ending.id) == ending


def only(id, change, **how):
    buttons = plan_buttons(OPEN | change, 5, **how)
    return next(button for button in buttons.steering if button.id == id)


def test_each_button_does_one_thing_unless_it_is_blocked():
    for change, *_ in TABLE:
        buttons = plan_buttons(OPEN | change, 5)
        for button in (*buttons.steering, *filter(None, [buttons.ending])):
            does = [button.to and not button.opens, button.opens, button.leads_to]
            assert button.blocked or sum(map(bool, does)) == 1, button


def test_what_is_under_way_says_so_and_cannot_be_asked_for_twice():
    assert only("replan", {}, replanning=True).blocked == "It is being replanned"
    assert only("pause-plan", {"run": "pausing"}).blocked == "It pauses next"
    for waits in (ASKED, {"question": "Which?"}):
        pauses_next = {"run": "paused", "pause_reason": "user", **waits}
        assert only("pause-plan", pauses_next).blocked == "It pauses next"
    assert only("stopping", {"run": "stopping"}).blocked == "It is being stopped"


@pytest.mark.parametrize(
    "waits",
    [
        {"run": "pausing", "pause_reason": "confirm", "version": 2},
        {"run": "paused", "pause_reason": "approval"} | ASKED,
        {"run": "paused", "pause_reason": "question", "question": "Which?"},
    ],
)
def test_what_goes_on_by_itself_or_by_an_answer_can_be_paused(waits):
    assert only("pause-plan", waits).to == "/c/5/plan/pause"


def test_a_plan_that_waits_to_go_on_says_go_on():
    rests = {"run": "idle", "attention": "halted"}
    assert only("start-again", rests).label == "Go on"
    assert only("start-again", rests | {"attention": "failed"}).label == "Start again"
    assert only("start-again", {"run": "idle"}).label == "Start again"


def test_where_they_lead():
    assert only("replan", {}).to == "/c/5/plan/replan"
    assert only("pause-plan", {}).to == "/c/5/plan/pause"
    assert only("resume-plan", {"run": "paused"}).to == "/c/5/plan/resume"
    assert only("view-timeline", {"state": "done"}).leads_to == "/plans/7/"


def test_what_starts_again_says_where_it_begins():
    again = only("start-again", {"run": "idle"})
    assert again.explains == "Begins subtask 2 again and goes on to the end."
    assert again.kind == "go"


def test_a_plan_that_never_ran_is_not_started_again():
    untried = [{**row, "attempts": 0, "state": "todo"} for row in OPEN["subtasks"]]
    start = only("start-again", {"run": "idle", "subtasks": untried})
    assert start.label == "Start"
    assert start.explains == "Begins subtask 1 and goes on to the end."


def test_where_a_subtask_failed_its_own_retry_leads_on():
    failed = [{**row, "failed": row["key"] == "s2"} for row in OPEN["subtasks"]]
    again = only("start-again", {"run": "idle", "attention": "failed", "subtasks": failed})
    assert again.explains == "Tries subtask 2 again and goes on to the end."
    assert again.kind == ""
