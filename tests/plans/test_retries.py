"""Retries, replanning, confirmation settings, and several plans in one conversation."""

import pytest

from agents.actors import AGENT
from agents.errors import Conflict, NotFound
from agents.models import Message, Turn
from plans import actions
from plans.models import ActivePlan, Attempt, Plan, PlanVersion, Run, State, Subtask
from tests.builders import proposed_plan
from tests.fake_model import call, fails, say
from tests.inner import conversation_state_read_state as read_state
from tests.inner import fragments_thread as thread
from tests.world import (
    calls_of,
    conversation,
    done,
    drive,
    files_of,
    plan_of,
    proposal,
    scripted,
    shown,
    states,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)

RETRYING = {"plan": {"enabled": True, "max_attempts": 3}}


def failed(error="no"):
    return call("fail_subtask", error=error)


class TestRetries:
    def test_a_subtask_that_fails_twice_succeeds_on_its_third_attempt(self):
        c = proposed_plan("Read", "Write", **RETRYING)
        model = scripted(failed("first"), failed("second"), done(), done(), say("ok"))
        tell(c, "go")
        assert states(c) == ["done", "done"]
        assert [s["attempts"] for s in shown(c)["subtasks"]] == [3, 1]
        assert "The last attempt failed: second" in str(model.requests[2]["messages"])
        page = " ".join(thread(read_state(c.pk)).split())
        assert [f"try {n} of 3 ·" in page for n in (1, 2, 3)] == [True] * 3
        assert page.count(" of 3 ·") == 3, "what succeeded at once says nothing"

    def test_after_exactly_three_attempts_the_run_has_failed_and_the_plan_stays_open(self):
        c = proposed_plan("Read", "Write", **RETRYING)
        model = scripted(*[failed(f"no {n}") for n in range(5)])
        tell(c, "go")
        assert len(model.requests) == 3
        plan = shown(c)
        assert (plan["run"], plan["state"], plan["attention"]) == ("idle", "in_progress", "failed")
        assert [a.failure_class for a in Attempt.objects.order_by("number")] == ["logic"] * 3
        actions.skip_subtask(plan_of(c), "s1", "alice", "not needed")
        scripted(done("written"), call("finish_plan", outcome="Wrote, did not read."))
        actions.run_plan(plan_of(c), "alice")
        drive()
        plan = shown(c)
        assert (plan["state"], states(c), plan["outcome"]) == (
            "done",
            ["abandoned", "done"],
            "Wrote, did not read.",
        )
        assert (
            plan["progress"].items()
            >= {"done": 1, "abandoned": 1, "total": 2, "percent": 100}.items()
        )
        assert plan["subtasks"][0]["reason"] == "skipped: not needed"

    def test_a_person_who_starts_again_begins_the_count_anew(self):
        c = proposed_plan("Read", **RETRYING)
        scripted(*[failed()] * 3)
        tell(c, "go")
        model = scripted(*[failed()] * 9)
        actions.retry_subtask(plan_of(c), "s1", "alice")
        drive()
        assert len(model.requests) == 3
        assert Attempt.objects.count() == 6

    def test_what_no_repetition_mends_is_not_repeated(self):
        c = proposed_plan("Read", **RETRYING)
        model = scripted(fails(401), done())
        tell(c, "go")
        assert len(model.requests) == 1
        assert shown(c)["attention"] == "failed"

    def test_a_stop_uses_up_no_attempt(self):
        c = proposed_plan("Read", **RETRYING)
        scripted(call("ask_user", question="Well?"))
        tell(c, "go")
        actions.stop_plan(plan_of(c), "alice")
        assert Attempt.objects.get().failure_class == "interrupted"
        scripted(*[failed()] * 9)
        actions.run_plan(plan_of(c), "alice")
        drive()
        assert Attempt.objects.exclude(failure_class="interrupted").count() == 3

    def test_after_a_stop_it_is_not_told_what_an_older_attempt_met(self):
        c = proposed_plan("Read", **RETRYING)
        scripted(failed("the disk is full"), call("ask_user", question="Well?"))
        tell(c, "go")
        actions.stop_plan(plan_of(c), "alice")
        model = scripted(done(), say("ok"))
        actions.run_plan(plan_of(c), "alice")
        drive()
        assert states(c) == ["done"]
        assert "last attempt failed" not in str(model.requests[0]["messages"])

    def test_a_timeout_counts_as_an_attempt(self):
        from tests.fake_model import silent

        c = proposed_plan(
            "Read", plan={"enabled": True, "max_attempts": 2, "attempt_timeout_s": 0.2}
        )
        scripted(silent("hm"), silent("hm"))
        tell(c, "go")
        assert [a.failure_class for a in Attempt.objects.order_by("number")] == [
            "timeout",
            "timeout",
        ]


class TestReplanning:
    def started(self):
        c = proposed_plan("Read", "Write", "Check", "Ship")
        actions.approve_plan(plan_of(c), 1, "alice", run="no")
        scripted(done("read it all"))
        actions.run_plan(plan_of(c), "alice", "next")
        drive()
        return c

    def test_the_open_ones_are_superseded_and_the_done_ones_stay_to_the_letter(self):
        c = self.started()
        before = Subtask.objects.filter(key="s1").values().get()
        scripted(
            call(
                "revise_current_plan",
                subtasks=[{"name": "Draft"}, {"name": "Polish"}],
                explanation="shorter",
            ),
            say("Two steps now."),
        )
        actions.replan_rest(plan_of(c), "alice", hint="make it shorter")
        drive()
        assert [(s["key"], s["name"], s["state"]) for s in shown(c)["subtasks"]] == [
            ("s1", "Read", "done"),
            ("s5", "Draft", "todo"),
            ("s6", "Polish", "todo"),
        ]
        assert Subtask.objects.filter(key="s1").values().get() == before
        assert {(s.key, s.reason) for s in Subtask.objects.filter(position=None)} == {
            ("s2", "superseded"),
            ("s3", "superseded"),
            ("s4", "superseded"),
        }
        assert shown(c)["attention"] == "confirm"

    def test_one_may_stay_and_the_part_before_stays_anyhow(self):
        c = self.started()
        scripted(
            call("revise_current_plan", subtasks=[{"key": "s4"}, {"name": "Celebrate"}]), say(".")
        )
        actions.replan_rest(plan_of(c), "alice", from_key="s3")
        drive()
        assert [s["key"] for s in shown(c)["subtasks"]] == ["s1", "s2", "s4", "s5"]

    def test_it_is_planning_only_nothing_can_be_carried_out(self):
        c = self.started()
        scripted(call("write_file", path="x", content="x"), say("I would rather write."))
        actions.replan_rest(plan_of(c), "alice")
        drive()
        assert list(files_of(c).iterdir()) == []
        assert [s["key"] for s in shown(c)["subtasks"]] == ["s1", "s2", "s3", "s4"], (
            "nothing is lost when no new ones come"
        )

    def test_what_a_run_has_asked_goes_with_the_attempt_that_is_replanned(self):
        c = proposed_plan("Read", "Write")
        scripted(call("ask_user", question="?"))
        tell(c, "go")
        scripted(call("revise_current_plan", subtasks=[{"name": "Anew"}]), say("."))
        actions.replan_rest(plan_of(c), "alice")
        drive()
        assert [s["name"] for s in shown(c)["subtasks"]] == ["Anew"]
        assert (plan_of(c).run, plan_of(c).question, shown(c)["attention"]) == (
            Run.PAUSED,
            "",
            "confirm",
        )

    def test_what_cannot_be_planned_anew_is_said(self):
        c = self.started()
        with pytest.raises(Conflict, match="What is done stays"):
            actions.replan_rest(plan_of(c), "alice", from_key="s1")
        with pytest.raises(NotFound, match="no subtask s9"):
            actions.replan_rest(plan_of(c), "alice", from_key="s9")


class TestConfirm:
    @pytest.mark.parametrize(
        ("confirm", "by", "stays"),
        [
            ("always", AGENT, False),
            ("create", AGENT, True),
            ("create", "alice", False),
            ("never", "alice", True),
        ],
    )
    def test_whose_revisions_need_a_new_yes_is_set_in_agent_json(self, confirm, by, stays):
        c = proposed_plan("Read", "Write", plan={"enabled": True, "confirm": confirm})
        actions.approve_plan(plan_of(c), 1, "alice", run="no")
        actions.remove_subtask(plan_of(c), "s2", by)
        assert plan_of(c).is_confirmed == stays

    @pytest.mark.parametrize("confirm", ["create", "never"])
    def test_the_first_version_always_needs_a_person(self, confirm):
        c = proposed_plan("Read", "Write", plan={"enabled": True, "confirm": confirm})
        actions.remove_subtask(plan_of(c), "s2", AGENT)
        assert plan_of(c).approved_version is None


def test_with_enforce_every_task_is_planned_first():
    c = conversation(plan={"enabled": True, "enforce": True})
    model = scripted(call("write_file", path="x", content="x"), proposal("Read"), say("Here."))
    tell(c, "tidy up the docs")
    assert [t["function"]["name"] for t in model.requests[0]["tools"]] == ["create_plan"]
    assert calls_of(c)[0].state == "refused"
    assert plan_of(c).goal == "tidy up the docs"


class TestShelf:
    def two_plans(self):
        c = proposed_plan("Read")
        first = plan_of(c)
        actions.cancel_plan(first, "alice")
        scripted(proposal("Other", title="Second"), say("."))
        tell(c, "/plan another")
        return c, first

    def test_another_plan_is_put_into_the_drawer_and_the_one_left_stays_open(self):
        c, first = self.two_plans()
        second = plan_of(c)
        actions.activate_plan(first, "alice")
        assert plan_of(c).pk == first.pk
        second.refresh_from_db()
        assert second.state == State.TODO
        actions.activate_plan(second, "alice")
        actions.approve_plan(second, 1, "alice")
        with pytest.raises(Conflict, match="A plan is running"):
            actions.activate_plan(first, "alice")

    def test_an_abandoned_plan_comes_back_only_as_a_new_one(self):
        c, first = self.two_plans()
        with pytest.raises(Conflict):
            actions.approve_plan(first, 1, "alice")
        actions.cancel_plan(plan_of(c), "alice")
        again = actions.use_again(first, "alice")
        assert (again.title, again.version, again.approved_version) == (first.title, 1, None)
        assert plan_of(c).pk == again.pk
        assert [s["name"] for s in shown(c)["subtasks"]] == ["Read"]

    def test_a_deleted_plan_is_gone_with_its_card_and_a_running_one_is_not_deleted(self):
        c, _ = self.two_plans()
        plan = plan_of(c)
        actions.approve_plan(plan, 1, "alice")
        with pytest.raises(Conflict, match="stop it first"):
            actions.delete_plan(plan, "alice")
        actions.stop_plan(plan, "alice")
        actions.delete_plan(plan, "alice")
        assert not Plan.objects.filter(pk=plan.pk).exists()
        assert not PlanVersion.objects.filter(plan_id=plan.pk).exists()
        assert ActivePlan.objects.get(conversation=c).plan is None
        assert Message.objects.filter(conversation=c, kind="plan").count() == 1
        assert texts(c) and Turn.objects.filter(conversation=c).exists()
