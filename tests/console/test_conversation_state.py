"""The state of a conversation: a subtask that fails is an alert on the page, once."""

import re

import pytest

from plans import actions
from plans.models import Plan
from plans.schemas import PlanDraft
from tests.builders import proposed_plan
from tests.checked import begun, worked
from tests.fake_model import call, fails, say
from tests.inner import fragments
from tests.inner import fragments_changes as changes
from tests.inner import fragments_read_state as read_state
from tests.world import drive, files_of, plan_of, proposed, scripted

pytestmark = pytest.mark.django_db(transaction=True)


def alerts(c):
    """What the page's alerts say, in the pieces that go to an open page."""
    html = changes(c.pk, 0)[1]
    found = re.findall(r'role="alert"[^>]*>(.*?)</(?:p|div)>', html, re.DOTALL)
    return [text for each in found if (text := re.sub("<[^>]+>|\\s+", " ", each).strip())]


def failed(reply):
    c = proposed("Read", "Write")
    scripted(reply)
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    return c


def test_a_subtask_the_agent_gave_up_on_is_said_as_an_alert():
    c = failed(call("fail_subtask", error="The file is locked."))
    assert read_state(c.pk).alarm == "Failed: subtask 1: The file is locked."
    assert alerts(c) == ["Failed: subtask 1: The file is locked."]
    silent = '<span class="muted truncate" aria-live="off">The file is locked.</span>'
    assert silent in fragments.thread(read_state(c.pk)), "the log does not say it too"


def test_finishes_that_checks_refused_are_counted_in_the_alert():
    c = begun({"kind": "file", "path": "a.txt", "exists": True})
    worked(c, *[call("finish_subtask", outcome="x")] * 3)
    assert alerts(c) == ["Failed: subtask 1: 3 finishes were refused by its checks"]


def test_what_is_no_longer_true_is_said_by_the_status_alone():
    c = begun({"kind": "file", "path": "a.txt", "exists": True}, files={"a.txt": "a"})
    worked(c, call("finish_subtask", outcome="x"), say("Done."))
    (files_of(c) / "a.txt").unlink()
    actions.check_plan(plan_of(c), "alice")
    drive()
    now = read_state(c.pk)
    assert (now.status, now.alarm) == ("Needs you: 1 no longer true", "")
    assert 'aria-live="off">No longer true</span>' in fragments.thread(now)


def test_an_error_that_has_a_card_is_not_said_twice():
    c = failed(fails(401))
    assert read_state(c.pk).alarm == ""
    assert len(alerts(c)) == 1


def test_the_alert_is_gone_when_the_plan_goes_on():
    c = failed(call("fail_subtask", error="The file is locked."))
    scripted(call("finish_subtask", outcome="read"), call("finish_subtask", outcome="w"), say("."))
    actions.retry_subtask(plan_of(c), "s1", "alice")
    drive()
    assert alerts(c) == []


def test_an_open_plan_beside_the_one_in_the_drawer_is_counted_and_leads_to_where_it_is_read():
    c = proposed_plan("Read")
    beside = plan_of(c)
    running = actions.create_plan(c, PlanDraft(title="B", subtasks=["Go"]), "alice", beside=True)
    now = read_state(c.pk)
    assert (now.plan.id, now.plan_count) == (running.pk, 2)
    assert now.drawer_toggle_name == "2 plans, waiting for you to start it"
    assert [(each.plan.pk, each.waits, each.place) for each in now.plans_beside] == [
        (beside.pk, True, "")
    ]
    Plan.objects.filter(pk=running.pk).update(run="running", approved_version=1)
    now = read_state(c.pk)
    assert now.plans_beside[0].place == f"/plans/{beside.pk}/"
    assert (now.mark.word, now.mark_of_all.word) == ("Running", "Waiting for you to start it")
    assert now.row_mark == ("waiting", "Waiting for you to start it")
    actions.cancel_plan(beside, "alice")
    now = read_state(c.pk)
    assert (now.plans_beside, now.plan_count, now.row_mark[0]) == ([], 1, "in_progress")
