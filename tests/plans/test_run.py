"""The run: in order, by itself, steered by a person, and true when something breaks."""

import json

import pytest
from asgiref.sync import async_to_sync

from agents.actors import AGENT
from agents.db import in_db
from agents.errors import Conflict, Invalid
from agents.models import Event, Message, Turn, TurnState
from plans import actions
from plans.models import Attempt, Plan, Run, State
from tests.builders import proposed_plan
from tests.fake_model import call, calls, cut, fails, say, silent
from tests.inner import Expected, claim, handler_of, put_back_orphans, run_chain, run_turn
from tests.inner import agents_actions as talk
from tests.inner import handle_message as person_says
from tests.world import (
    calls_of,
    conversation,
    done,
    drive,
    eventually,
    files_of,
    happening,
    plan_of,
    proposal,
    proposed,
    scripted,
    shown,
    states,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.both_databases
def test_next_runs_one_subtask_and_halts():
    c = proposed_plan("Read", "Write")
    scripted(done(), say("never asked"))
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    drive()
    assert states(c) == ["done", "todo"]
    assert plan_of(c).run == Run.IDLE
    scripted(done(), say("All written."))
    actions.run_plan(plan_of(c), "alice", "all")
    drive()
    assert plan_of(c).state == State.DONE


def test_a_failed_attempt_halts_the_run_with_its_error_and_start_again_retries_it():
    c = proposed_plan("Read", "Write")
    scripted(call("fail_subtask", error="The disk is read-only."), say("not reached"))
    tell(c, "go")
    plan = shown(c)
    assert (plan["run"], plan["attention"], plan["state"]) == ("idle", "failed", "in_progress")
    assert (
        plan["subtasks"][0]["failed"] and plan["subtasks"][0]["error"] == "The disk is read-only."
    )
    assert states(c) == ["todo", "todo"]
    model = scripted(done(), done(), say("ok"))
    actions.run_plan(plan_of(c), "alice")
    drive()
    assert states(c) == ["done", "done"]
    assert "The last attempt failed: The disk is read-only." in str(model.requests[0]["messages"])


def test_a_reply_without_a_tool_call_is_nudged_once_and_then_the_attempt_has_failed():
    c = proposed_plan("Read")
    model = scripted(say("I think it is done."), say("Really."))
    tell(c, "go")
    assert len(model.requests) == 2
    assert (
        "Your last reply ended without a tool call" in model.requests[1]["messages"][-1]["content"]
    )
    assert shown(c)["subtasks"][0]["error"] == "It ended without a result."
    assert not Message.objects.filter(role="user", text__contains="ended without").exists()


def test_saying_that_it_is_done_moves_no_state():
    c = proposed_plan("Read")
    scripted(say("Subtask s1 is done, all is done."), say("It is done!"))
    tell(c, "go")
    assert states(c) == ["todo"]


def test_calls_behind_the_finishing_call_are_not_carried_out():
    c = proposed_plan("Read")
    scripted(calls(done(), call("write_file", path="late.txt", content="x")), say("fine"))
    tell(c, "go")
    assert states(c) == ["done"]
    assert calls_of(c, "write_file")[0].state == "refused"


def test_an_unknown_tool_and_broken_arguments_are_said_to_the_model():
    c = proposed("Read")
    scripted(
        call("launch_rocket"),
        {"calls": [["write_file", "{broken"]]},
        call("write_file", path=1),
        done(),
        say("ok"),
    )
    tell(c, "go")
    assert [made.state for made in calls_of(c)][1:4] == ["refused", "failed", "failed"]
    assert states(c) == ["done"]


@pytest.mark.both_databases
def test_stop_cancels_the_model_call_and_settles_within_two_seconds():
    c = proposed_plan("Read", "Write")
    scripted(silent("thinking about it"))

    async def story(worker):
        await in_db(lambda: actions.approve_plan(plan_of(c), 1, "alice"))
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(lambda: actions.stop_plan(plan_of(c), "alice"))
        await eventually(lambda: plan_of(c).run == Run.IDLE, seconds=2)

    happening(story, at_once=True)
    assert states(c) == ["todo", "todo"]
    attempt = Attempt.objects.get()
    assert (attempt.failure_class, attempt.error) == ("interrupted", "")
    assert not shown(c)["subtasks"][0]["failed"]
    drive()
    assert plan_of(c).run == Run.IDLE, "nothing starts again by itself"


@pytest.mark.both_databases
def test_pause_ends_after_the_tool_call_and_resume_goes_on_there():
    c = proposed_plan("Read")
    scripted(
        calls(
            call("write_file", path="a.txt", content="a"),
            call("write_file", path="b.txt", content="b"),
        ),
        done(),
        say("ok"),
    )
    actions.approve_plan(plan_of(c), 1, "alice")
    [turn] = claim(1)
    async_to_sync(pausing_after_first_call)(c, turn)
    assert plan_of(c).run == Run.PAUSED
    assert [p.name for p in files_of(c).iterdir()] == ["a.txt"]
    actions.resume_plan(plan_of(c), "alice")
    drive()
    assert sorted(p.name for p in files_of(c).iterdir()) == ["a.txt", "b.txt"]
    assert plan_of(c).state == State.DONE
    assert Attempt.objects.count() == 1


async def pausing_after_first_call(c, turn):
    """The person presses Pause while the first call is under way."""
    import asyncio

    async def press():
        while not await in_db(lambda: any(m.state for m in calls_of(c, "write_file"))):
            await asyncio.sleep(0)
        await in_db(lambda: actions.pause_plan(plan_of(c), "alice"))

    await asyncio.gather(run_turn(turn), press())


@pytest.mark.both_databases
def test_a_question_waits_uses_no_attempt_and_goes_on_with_the_answer():
    c = proposed_plan("Read")
    model = scripted(call("ask_user", question="Which branch?"), done(), say("ok"))
    tell(c, "go")
    plan = shown(c)
    assert (plan["run"], plan["pause_reason"], plan["attention"], plan["question"]) == (
        "paused",
        "question",
        "question",
        "Which branch?",
    )
    tell(c, "main, please")
    assert states(c) == ["done"]
    assert Attempt.objects.count() == 1
    assert "The person answered: main, please" in str(model.requests[1]["messages"])


def test_a_revision_in_mid_run_lets_the_attempt_end_and_then_waits_for_a_new_yes():
    c = proposed_plan("Read", "Write")
    scripted(call("add_subtask", name="Check"), done(), done(), done(), say("ok"))
    tell(c, "go")
    plan = shown(c)
    assert states(c) == ["done", "todo", "todo"]
    assert (plan["run"], plan["pause_reason"], plan["attention"], plan["version"]) == (
        "paused",
        "confirm",
        "confirm",
        2,
    )
    tell(c, "ok", seen=Expected(plan_of(c).pk, 2))
    assert plan_of(c).state == State.DONE


def test_rewording_the_running_subtask_stops_its_attempt_without_counting_it():
    c = proposed_plan("Read", "Write")
    replies = iter([silent("at work"), done(), done(), say("ok")])
    chat = iter(
        [
            call(
                "revise_current_plan",
                subtasks=[{"key": "s1", "name": "Read twice"}],
                explanation="asked",
            ),
            say("Changed."),
        ]
    )

    def model(request):
        names = {t["function"]["name"] for t in request["tools"]}
        return next(
            chat
            if "create_plan" not in names
            and "finish_subtask" not in names
            and names != {"finish_plan"}
            else replies
        )

    scripted(model)

    async def story(worker):
        await in_db(lambda: actions.approve_plan(plan_of(c), 1, "alice"))
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(person_says, c, "read it twice please", "alice")
        await eventually(lambda: plan_of(c).run == Run.PAUSED)

    happening(story)
    assert states(c) == ["todo", "todo"]
    assert Attempt.objects.get().failure_class == "interrupted"
    assert shown(c)["attention"] == "confirm"


def test_what_is_said_during_a_run_is_answered_beside_it_with_reading_tools_only():
    c = proposed_plan("Read")
    requests = []
    chat = iter([call("write_file", path="x", content="x"), say("It is reading.")])

    def model(request):
        names = {t["function"]["name"] for t in request["tools"]}
        if "finish_subtask" in names:
            return silent("reading")
        requests.append(names)
        return next(chat)

    scripted(model)

    async def story(worker):
        await in_db(lambda: actions.approve_plan(plan_of(c), 1, "alice"))
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(person_says, c, "how is it going?", "alice")
        await eventually(lambda: Message.objects.filter(text="It is reading.").exists())
        await in_db(lambda: actions.stop_plan(plan_of(c), "alice"))
        await eventually(lambda: plan_of(c).run == Run.IDLE)

    happening(story)
    assert requests[0] == {
        "list_files",
        "read_file",
        "search_files",
        "get_plan",
        "get_changes",
        "revise_current_plan",
        "add_subtask",
        "finish_plan",
    }
    assert calls_of(c, "write_file")[0].state == "refused"


def test_a_plan_is_not_done_while_a_subtask_is_open():
    c = proposed_plan("Read", "Write")
    with pytest.raises(Conflict, match="s1, s2 still open"):
        actions.finish_plan(plan_of(c), "all done, I promise", AGENT)


def test_the_plan_is_done_all_the_same_when_the_closing_model_fails():
    c = proposed_plan("Read")
    scripted(done("Read three files"), fails(401))
    tell(c, "go")
    assert plan_of(c).state == State.DONE
    assert plan_of(c).outcome == "- Read: Read three files"


def test_after_a_finished_plan_the_agent_answers_normally():
    c = proposed_plan("Read")
    scripted(done(), say("Finished."))
    tell(c, "go")
    model = scripted(call("write_file", path="b.txt", content="b"), say("Written."))
    tell(c, "and write b.txt")
    assert (files_of(c) / "b.txt").exists()
    assert "create_plan" in str(model.requests[0]["tools"])


def test_clear_and_new_empty_the_drawer_stop_the_run_and_delete_nothing():
    for command in ("/clear", "/new"):
        c = proposed("Read", "Write")
        plan = plan_of(c)
        actions.approve_plan(plan, 1, "alice")
        said = tell(c, command)
        plan.refresh_from_db()
        assert (plan.state, plan.reason, plan.run) == (State.ABANDONED, "cleared", Run.IDLE)
        assert c.active_plan.__class__.objects.get(pk=c.pk).plan is None
        assert Message.objects.filter(conversation=c).count() >= 3
        assert (said.conversation.pk != c.pk) == (command == "/new")


@pytest.mark.both_databases
def test_a_turn_cut_off_by_a_dead_process_goes_on_at_its_step_and_repeats_nothing():
    c = proposed_plan("Read", "Write")
    scripted(done("first"), call("write_file", path="a.txt", content="1"), silent("half a sen"))

    async def story(worker):
        await in_db(lambda: actions.approve_plan(plan_of(c), 1, "alice"))
        await eventually(lambda: Message.objects.filter(text__contains="half").exists())
        for _, task in worker.running.values():  # kill -9: nothing is written on the way out
            task.cancel()
            Turn.objects  # noqa: B018
        await in_db(die, c)

    happening(story, at_once=True)
    put_back_orphans(all_of_them=True)
    model = scripted(done("second"), say("ok"))
    drive()
    assert states(c) == ["done", "done"]
    assert [made.tool for made in calls_of(c)].count("write_file") == 1
    assert "half a sen" not in str(model.requests[0]["messages"])
    assert Attempt.objects.count() == 2
    seqs = list(Event.objects.filter(conversation=c).order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


def die(c):
    """As after a kill: the row says running, under an epoch that nobody holds."""
    Turn.objects.filter(conversation=c, lane="run", state__in=["queued", "running"]).update(
        state="running", epoch=99
    )


@pytest.mark.both_databases
def test_a_worker_that_lost_its_turn_writes_nothing():
    c = proposed_plan("Read")
    scripted(silent("mine"))

    async def story(worker):
        await in_db(lambda: actions.approve_plan(plan_of(c), 1, "alice"))
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(lambda: Turn.objects.filter(conversation=c, state="running").update(epoch=50))

    happening(story)
    assert Turn.objects.filter(conversation=c, lane="run").get().state == "running"
    assert states(c) == ["in_progress"]


def test_a_call_in_flight_that_may_not_be_repeated_is_told_as_unknown():
    c = proposed_plan("Write")
    (files_of(c) / "a.txt").write_text("old")
    scripted(call("edit_file", path="a.txt", old="old", new="new"), done(), say("ok"))
    actions.approve_plan(plan_of(c), 1, "alice")
    [turn] = claim(1)

    async def first_half():
        work = await in_db(handler_of(turn).prepare, turn)
        async for event in run_chain(turn, work):
            if type(event).__name__ == "ToolCallChanged":
                return  # the process dies while the call runs

    async_to_sync(first_half)()
    put_back_orphans(all_of_them=True)
    drive()
    edited = calls_of(c, "edit_file")[0]
    assert edited.state == "interrupted"
    assert "effect is unknown" in edited.result
    assert (files_of(c) / "a.txt").read_text() == "old"


@pytest.mark.both_databases
def test_a_run_without_a_turn_is_repaired_at_start_up():
    c = proposed_plan("Read")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    Plan.objects.filter(pk=plan_of(c).pk).update(run=Run.RUNNING)
    put_back_orphans(all_of_them=True)
    scripted(done(), say("ok"))
    drive()
    assert states(c) == ["done"]


@pytest.mark.both_databases
def test_cancel_in_mid_run_abandons_what_is_open_and_keeps_what_is_done():
    c = proposed_plan("Read", "Write", "Check")
    replies = iter([done("read"), silent("writing")])
    scripted(lambda request: next(replies))

    async def story(worker):
        await in_db(lambda: actions.approve_plan(plan_of(c), 1, "alice"))
        await eventually(lambda: Attempt.objects.count() == 2)
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(lambda: actions.cancel_plan(plan_of(c), "alice"))
        await eventually(lambda: plan_of(c).run == Run.IDLE, 2)

    happening(story, at_once=True)
    plan = shown(c)
    assert states(c) == ["done", "abandoned", "abandoned"]
    assert (plan["state"], plan["reason"]) == ("abandoned", "cancelled")
    assert (
        plan["progress"].items() >= {"done": 1, "abandoned": 2, "total": 3, "percent": 100}.items()
    )


@pytest.mark.both_databases
def test_a_tool_set_to_ask_waits_for_a_decision_and_runs_once():
    c = proposed_plan("Write", tools={"write_file": "ask"})
    scripted(call("write_file", path="a.txt", content="a"), done(), say("ok"))
    tell(c, "go")
    plan = shown(c)
    assert plan["attention"] == "approval"
    assert [each["tool"] for each in plan["approvals"]] == ["write_file"]
    assert not (files_of(c) / "a.txt").exists()
    [made] = calls_of(c, "write_file")
    talk.decide_call(made, "allow_once", "alice")
    talk.decide_call(made, "allow_once", "alice")
    drive()
    assert (files_of(c) / "a.txt").exists()
    assert plan_of(c).state == State.DONE


def test_a_denied_call_gives_the_model_the_reason():
    c = proposed_plan("Write", tools={"write_file": "ask"})
    model = scripted(call("write_file", path="a.txt", content="a"), done(), say("ok"))
    tell(c, "go")
    talk.decide_call(calls_of(c, "write_file")[0], "deny", "alice", "not that file")
    drive()
    assert not (files_of(c) / "a.txt").exists()
    assert "not that file" in str(model.requests[1]["messages"])


class TestModelErrors:
    def test_a_busy_model_is_tried_again_and_the_card_is_resolved(self):
        c = proposed_plan("Read")
        scripted(fails(429, retry_after=0), fails(503), done(), say("ok"))
        tell(c, "go")
        assert states(c) == ["done"]
        card = Message.objects.get(conversation=c, kind="error")
        assert card.meta["resolved"]
        assert Attempt.objects.count() == 1

    def test_after_five_tries_the_attempt_has_failed_and_says_so(self):
        c = proposed_plan("Read")
        model = scripted(lambda request: fails(500))
        tell(c, "go")
        assert len(model.requests) == 5
        plan = shown(c)
        assert (plan["attention"], plan["run"]) == ("failed", "idle")
        assert "500" in plan["subtasks"][0]["error"]

    def test_a_refused_key_fails_at_once(self):
        c = conversation()
        model = scripted(fails(401))
        tell(c, "hello")
        assert len(model.requests) == 1
        card = Message.objects.get(conversation=c, kind="error")
        assert "key" in card.meta["title"].lower()
        assert Turn.objects.get(conversation=c).state == TurnState.FAILED

    def test_half_a_stream_is_dropped_and_asked_for_again(self):
        c = conversation()
        scripted(cut("Half an ans"), say("A whole answer."))
        tell(c, "hello")
        assert texts(c) == ["A whole answer."]

    def test_a_failed_reply_can_be_retried(self):
        c = conversation()
        scripted(fails(401))
        tell(c, "hello")
        scripted(say("Now it works."))
        talk.retry_reply(c, "alice")
        drive()
        assert texts(c) == ["Now it works."]


class TestQueuedMessages:
    def test_messages_go_out_in_order_and_each_is_answered(self):
        c = conversation()
        model = scripted(say("one"), say("two"), say("three"))
        for text in ("a", "b", "c"):
            person_says(c, text, "alice")
        drive()
        assert texts(c) == ["one", "two", "three"]
        assert [r["messages"][-1]["content"] for r in model.requests] == ["a", "b", "c"]

    def test_a_queued_message_can_be_taken_back(self):
        c = conversation()
        model = scripted(say("one"))
        person_says(c, "a", "alice")
        second = person_says(c, "b", "alice")
        talk.discard_queued(second.message, "alice")
        drive()
        assert len(model.requests) == 1
        with pytest.raises(Conflict):
            talk.discard_queued(Message.objects.filter(text="a").get(), "alice")


@pytest.mark.parametrize("count", [0, 1000])
def test_a_plan_without_subtasks_or_with_a_thousand_is_refused_in_one_sentence(count):
    c = conversation()
    names = [f"step {n}" for n in range(count)]
    scripted(call("create_plan", title="T", subtasks=[{"name": name} for name in names]), say("hm"))
    tell(c, "/plan x")
    [made] = calls_of(c)
    assert made.state == "failed"
    assert ("at least one" if count == 0 else "at most 500") in made.result
    assert not Plan.objects.filter(conversation=c).exists()
    assert json.dumps(made.result)


def test_an_empty_or_endless_message_is_refused_in_one_sentence():
    c = conversation()
    with pytest.raises(Invalid, match="Write a message"):
        person_says(c, "  \n ", "alice")
    with pytest.raises(Invalid, match="200,000 is the most"):
        person_says(c, "x" * 2_000_000, "alice")
    assert not Message.objects.filter(conversation=c).exists()


def test_the_goal_is_kept_word_for_word_and_the_prefix_never_reaches_the_model():
    c = conversation()
    model = scripted(proposal("Read"), say("ok"))
    tell(c, "/PLAN\u3000整理  文档\nplease ")
    assert plan_of(c).goal == "整理  文档\nplease "
    assert model.requests[0]["messages"][-1]["content"] == "整理  文档\nplease "
    assert Message.objects.filter(role="user").first().text == "/PLAN\u3000整理  文档\nplease "
