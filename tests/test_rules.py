"""The rules of docs/rules.md by their numbers, one test each.

R7, R13's page, R20, R26 and R27 are about the screen: tests/browser/test_rules.py. Rules without a
test here or there are tested where docs/rules.md says.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from agents.actors import AGENT
from agents.db import in_db
from agents.errors import Conflict, Invalid
from agents.models import Event, Message, ToolCall, Turn
from plans import actions
from plans.models import ActivePlan, Attempt, Plan, PlanVersion, Run, State
from plans.schemas import PlanEdit, Revision
from tests.fake_model import call, calls, say, silent
from tests.inner import GATE_PLAN_TOOLS as PLAN_TOOLS
from tests.inner import Expected, change_agent, conversation_snapshot, put_back_orphans
from tests.inner import agents_actions as talk
from tests.inner import handle_message as person_says
from tests.world import (
    calls_of,
    conversation,
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
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_r1_no_tool_of_any_model_approves():
    """Every plan tool there is, called in every row, leaves the approval alone."""
    c = proposed("Read", "Write")
    every = sorted(
        {name for names in PLAN_TOOLS.values() for name in names}
        | {"approve", "start_plan", "run_plan"}
    )
    scripted(
        calls(
            *(
                call(name, version=1, state="done", outcome="x", text="x", key="s1")
                for name in every
            )
        ),
        say("."),
    )
    tell(c, "what now?")
    assert plan_of(c).approved_version is None
    assert plan_of(c).run == Run.IDLE


@pytest.mark.both_databases
def test_r2_approving_is_a_compare_and_set_on_one_version():
    c = proposed("Read", "Write")
    plan = plan_of(c)
    actions.update_subtask(plan, "s1", {"name": "Read all"}, "alice", 1)
    with pytest.raises(Conflict, match="now v2") as refused:
        actions.approve_plan(plan, 1, "bob")
    assert refused.value.current_version == 2
    first = actions.approve_plan(plan, 2, "alice", run="no")
    again = actions.approve_plan(plan, 2, "bob", run="no")
    assert (first.approved_version, again.approved_version, again.approved_by) == (2, 2, "alice")


@pytest.mark.parametrize(
    "text", ["ok but drop step 2", "yes?", "Please do not start", "go ahead, unless it is Friday"]
)
def test_r3_only_a_whole_listed_phrase_approves(text):
    c = proposed("Read")
    scripted(say("Fine."))
    tell(c, text)
    assert plan_of(c).approved_version is None


@pytest.mark.both_databases
def test_r4_between_proposal_and_yes_the_dispatcher_refuses_every_other_tool():
    c = proposed("Read", tools={"*": "allow"})
    names = [
        "write_file",
        "edit_file",
        "read_file",
        "list_files",
        "search_files",
        "create_plan",
        "finish_subtask",
        "ask_user",
    ]
    scripted(calls(*(call(name, path="x", content="x", pattern="x") for name in names)), say("."))
    tell(c, "hm")
    asked = calls_of(c)[-len(names) :]
    assert [(made.tool, made.state) for made in asked] == [(name, "refused") for name in names]
    assert list(files_of(c).iterdir()) == []


@pytest.mark.both_databases
@pytest.mark.parametrize("by", ["alice", AGENT])
def test_r5_a_revision_voids_the_approval(by):
    c = proposed("Read", "Write")
    plan = actions.approve_plan(plan_of(c), 1, "alice", run="no")
    assert plan.is_confirmed
    if by is AGENT:
        actions.revise_plan(plan, Revision(subtasks=[{"name": "More"}]), by)
    else:
        actions.edit_plan(plan, PlanEdit(title="Another title"), by, 1)
    assert not plan_of(c).is_confirmed
    with pytest.raises(Conflict, match="Nothing runs without your yes"):
        actions.run_plan(plan_of(c), "alice")


def test_r6_composer_drawer_and_executor_read_the_same_row():
    c = proposed("Read")
    Plan.objects.filter(pk=plan_of(c).pk).update(version=7)  # the row changes under everybody
    assert (shown(c)["attention"], shown(c)["version"]) == ("confirm", 7)
    scripted(say("…"))
    tell(c, "go ahead", seen=Expected(plan_of(c).pk, 1))
    assert plan_of(c).approved_version is None
    Plan.objects.filter(pk=plan_of(c).pk).update(run=Run.QUEUED)
    talk.queue_turn(c, "subtask", "run", plan=plan_of(c).pk)
    drive()
    assert states(c) == ["todo"]
    assert not Attempt.objects.filter(subtask__plan=plan_of(c)).exists(), "it was not even tried"


@pytest.mark.both_databases
def test_r8_a_question_to_the_person_never_answers_itself():
    """Neither time nor restarts nor other work turn waiting into yes."""
    c = proposed("Write", tools={"write_file": "ask"})
    scripted(
        call("write_file", path="a.txt", content="a"),
        call("finish_subtask", outcome="ok"),
        say("."),
    )
    tell(c, "go")
    [asked] = calls_of(c, "write_file")
    long_ago = timezone.now() - timedelta(days=400)
    ToolCall.objects.filter(pk=asked.pk).update(asked_at=long_ago)
    Turn.objects.filter(conversation=c, lane="run").update(
        queued_at=long_ago, started_at=long_ago, lease_until=None
    )
    for _ in range(3):
        put_back_orphans(all_of_them=True)
        drive()
    asked.refresh_from_db()
    assert (asked.state, asked.decision) == ("asked", "")
    assert not (files_of(c) / "a.txt").exists()
    other = proposed("Read")
    Plan.objects.filter(pk=plan_of(other).pk).update(created_at=long_ago)
    put_back_orphans(all_of_them=True)
    drive()
    assert plan_of(other).approved_version is None


def test_r9_grants_and_arguments_are_checked_again_when_the_call_is_carried_out():
    c = proposed("Write", tools={"write_file": "ask"})
    scripted(
        call("write_file", path="a.txt", content="a"),
        call("finish_subtask", outcome="ok"),
        say("."),
    )
    tell(c, "go")
    change_agent(c.agent_id, {"tools": {"write_file": "off"}})  # taken back while it waited
    talk.decide_call(calls_of(c, "write_file")[0], "allow_once", "alice")
    drive()
    assert calls_of(c, "write_file")[0].state == "refused"
    assert not (files_of(c) / "a.txt").exists()

    c = proposed("Write", tools={"write_file": "ask"})
    scripted(
        call("write_file", path="a.txt", content="a"),
        call("write_file", path="../b.txt", content="b"),
        call("finish_subtask", outcome="ok"),
        say("."),
    )
    tell(c, "go")
    talk.decide_call(calls_of(c, "write_file")[0], "always", "alice")
    drive()
    first, second = calls_of(c, "write_file")
    assert (first.state, second.state) == ("done", "asked"), "always means exactly this call"
    talk.decide_call(second, "allow_once", "alice")
    drive()
    second.refresh_from_db()
    assert second.state == "failed", "an allowed call is still held to the workspace"


@pytest.mark.both_databases
def test_r10_keys_are_stable_and_a_models_rewrite_is_a_patch():
    c = proposed("Read", "Write", "Check")
    plan = plan_of(c)
    actions.revise_plan(
        plan, Revision(subtasks=[{"key": "s3", "name": "Check twice"}, {"name": "Ship"}]), AGENT
    )
    assert [(s["key"], s["name"]) for s in shown(c)["subtasks"]] == [
        ("s1", "Read"),
        ("s2", "Write"),
        ("s3", "Check twice"),
        ("s4", "Ship"),
    ]
    actions.revise_plan(
        plan_of(c), Revision(subtasks=[{"key": "s4", "remove": True}, {"name": "Tell"}]), AGENT
    )
    assert [s["key"] for s in shown(c)["subtasks"]] == ["s1", "s2", "s3", "s5"]


def test_r11_done_comes_from_the_end_of_the_step_not_from_words():
    c = proposed("Read", "Write")
    scripted(
        calls(
            call("report_progress", text="100 % done"),
            call("finish_plan", state="done", outcome="all done"),
        ),
        say("s1 and s2 are done."),
        say("Done."),
    )
    tell(c, "go")
    assert states(c) == ["todo", "todo"]
    assert plan_of(c).state == State.IN_PROGRESS, "it was tried"
    assert calls_of(c, "finish_plan")[0].state == "refused"


@pytest.mark.both_databases
def test_r12_a_new_plan_archives_the_old_one_and_finished_plans_stay():
    c = proposed("Read")
    scripted(call("finish_subtask", outcome="read"), say("Done."), proposal("Anew"), say("."))
    tell(c, "go")
    finished = plan_of(c)
    tell(c, "/plan again")
    finished.refresh_from_db()
    assert (finished.state, finished.outcome) == (State.DONE, "Done.")
    assert Plan.objects.filter(conversation=c).count() == 2
    other = conversation()
    assert conversation_snapshot(other) is None, "a plan belongs to its conversation"


@pytest.mark.both_databases
def test_r13_every_snapshot_carries_a_number_that_only_grows():
    c = proposed("Read", "Write")
    numbers = [shown(c)["seq"]]
    for change in (
        lambda: actions.update_subtask(plan_of(c), "s1", {"name": "A"}, "alice", 1),
        lambda: actions.approve_plan(plan_of(c), 2, "alice", run="no"),
        lambda: actions.skip_subtask(plan_of(c), "s1", "alice", "not needed"),
        lambda: actions.cancel_plan(plan_of(c), "alice"),
    ):
        change()
        numbers.append(shown(c)["seq"])
    assert numbers == sorted(set(numbers))
    events = list(
        Event.objects.filter(conversation=c).order_by("seq").values_list("seq", flat=True)
    )
    assert events == list(range(1, numbers[-1] + 1))


def test_r14_the_plan_in_the_prompt_comes_from_the_rows_each_time():
    c = proposed("Read", "Write")
    actions.update_subtask(plan_of(c), "s2", {"name": "Write it by hand"}, "alice", 1)
    model = scripted(
        call("finish_subtask", outcome="Read with care."),
        call("finish_subtask", outcome="x"),
        say("."),
    )
    tell(c, "/clear")  # the conversation remembers nothing
    assert conversation_snapshot(c) is None
    actions.activate_plan(actions.use_again(plan_of_id(c), "alice"), "alice")
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    second = model.requests[1]["messages"]
    assert "Write it by hand" in str(second)
    assert "Read with care." in str(second), "the outcome of the first is a fact for the second"
    chat = [message for message in second if message["role"] != "system"]
    assert "tidy up" not in str(chat[:-1]), "nothing of the cleared chat"


def plan_of_id(c):
    return Plan.objects.filter(conversation=c).latest("pk")


def test_r15_abandoned_subtasks_count_as_settled_and_are_told_apart():
    c = proposed("Read", "Write", "Check")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    actions.skip_subtask(plan_of(c), "s1", "alice", "no need")
    scripted(call("finish_subtask", outcome="ok"), say("."))
    actions.run_plan(plan_of(c), "alice", "next")
    drive()
    counted = {"done": 1, "abandoned": 1, "total": 3, "percent": 67}
    assert shown(c)["progress"].items() >= counted.items()


def test_r16_the_snapshot_says_what_runs_and_when_something_last_happened():
    c = proposed("Read")
    scripted(silent("thinking"))

    async def story(worker):
        await in_db(lambda: actions.approve_plan(plan_of(c), 1, "alice"))
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        now = (await in_db(lambda: shown(c)))["activity"]
        assert now["tool"] is None
        assert now["last_at"] >= now["since"]
        await in_db(lambda: actions.stop_plan(plan_of(c), "alice"))
        await eventually(lambda: plan_of(c).run == Run.IDLE)

    happening(story)
    assert shown(c)["activity"] is None, "nothing runs, nothing is said to run"


def test_r17_one_bounded_loop_a_subtask_with_its_goal_and_what_came_before():
    c = proposed("Read", "Write")
    actions.update_subtask(
        plan_of(c), "s2", {"description": "By hand.", "expected_outcome": "One page."}, "alice", 1
    )
    model = scripted(
        call("finish_subtask", outcome="Seven pages."),
        call("finish_subtask", outcome="ok"),
        say("."),
    )
    actions.approve_plan(plan_of(c), 2, "alice")
    drive()
    first, second = (request["messages"][-1]["content"] for request in model.requests[:2])
    assert first.startswith("Your subtask is s1: Read")
    assert second.startswith(
        "Your subtask is s2: Write\nDescription: By hand.\nExpected outcome: One page."
    )
    assert "- s1 Read: Seven pages." in second
    assert c.turns.filter(kind="subtask").count() == 2

    c = proposed("Read")
    model = scripted(lambda request: call("report_progress", text="still at it"))
    tell(c, "go")
    assert len(model.requests) == 60, "a loop that never finishes is ended"
    assert shown(c)["attention"] == "failed"


def test_r18_work_asked_for_in_mid_run_becomes_a_visible_proposal():
    c = proposed("Read", "Write")
    chat = iter([call("add_subtask", name="Ship it too"), say("Proposed.")])
    run = iter(
        [call("ask_user", question="Go on?"), *[call("finish_subtask", outcome="ok")] * 3, say(".")]
    )

    def model(request):
        names = {tool["function"]["name"] for tool in request["tools"]}
        return next(run if names & {"finish_subtask"} or names == {"finish_plan"} else chat)

    scripted(model)

    async def story(worker):
        await in_db(lambda: actions.approve_plan(plan_of(c), 1, "alice"))
        await eventually(lambda: plan_of(c).question)
        await in_db(talk.start_turn, c, "and ship it", "alice")
        await eventually(lambda: plan_of(c).version == 2)

    happening(story)
    plan = shown(c)
    assert [s["name"] for s in plan["subtasks"]] == ["Read", "Write", "Ship it too"]
    assert plan["approved_version"] == 1, "it waits for a yes"


@pytest.mark.both_databases
def test_r19_a_turn_runs_without_any_request_or_socket_and_leaves_rows():
    c = conversation()
    scripted(say("Hello there."))
    person_says(c, "hello", "alice")  # whoever asked is gone now
    drive()
    message = Message.objects.get(conversation=c, role="assistant")
    assert (message.text, message.streaming) == ("Hello there.", False)
    assert (
        message.seq == Event.objects.get(conversation=c, type="message.added", seq=message.seq).seq
    )


@pytest.mark.both_databases
def test_r22_what_waits_for_the_person_is_part_of_the_snapshot():
    c = proposed("Write", tools={"write_file": "ask"})
    assert shown(c)["attention"] == "confirm"
    scripted(
        call("ask_user", question="Where to?"),
        call("write_file", path="a", content="a"),
        call("finish_subtask", outcome="ok"),
        say("."),
    )
    tell(c, "go")
    assert (shown(c)["attention"], shown(c)["question"]) == ("question", "Where to?")
    tell(c, "to a")
    assert (shown(c)["attention"], shown(c)["approvals"][0]["tool"]) == ("approval", "write_file")


@pytest.mark.both_databases
def test_r23_stop_is_a_durable_flag_that_cancels_the_call_and_starts_nothing_by_itself():
    c = proposed("Read", "Write")
    model = scripted(silent("working"))

    async def story(worker):
        await in_db(lambda: actions.approve_plan(plan_of(c), 1, "alice"))
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(lambda: actions.stop_plan(plan_of(c), "alice"))
        assert await in_db(
            lambda: Turn.objects.filter(stop_requested=True).exists() or plan_of(c).run == Run.IDLE
        )
        await eventually(lambda: plan_of(c).run == Run.IDLE, seconds=2)
        await in_db(lambda: None)

    happening(story, at_once=True)
    assert model.open == 0, "the model's stream is closed"
    scripted(call("finish_subtask", outcome="by itself"))
    drive()
    assert (states(c), plan_of(c).run) == (["todo", "todo"], Run.IDLE)


@pytest.mark.both_databases
def test_r23_messages_queued_behind_a_stopped_reply_do_not_go_out_by_themselves():
    c = conversation()
    scripted(silent("thinking"))

    async def story(worker):
        await in_db(person_says, c, "first", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(person_says, c, "second", "alice")
        await in_db(talk.stop_reply, c, "alice")
        await eventually(lambda: not c.turns.filter(state__in=["queued", "running"]).exists(), 2)

    happening(story, at_once=True)
    c.refresh_from_db()
    assert c.unsent == "second", "what was not sent is back in the composer"


@pytest.mark.both_databases
def test_every_version_of_the_text_is_kept_with_its_author_and_explanation():
    c = proposed("Read", "Write")
    actions.update_subtask(plan_of(c), "s2", {"name": "Write it up"}, "alice", 1)
    actions.revise_plan(
        plan_of(c), Revision(title="New title", explanation="A better name."), AGENT
    )
    versions = list(
        PlanVersion.objects.filter(plan=plan_of(c)).values_list("version", "author", "explanation")
    )
    assert versions == [
        (1, "agent", ""),
        (2, "alice", "Renamed “Write” to “Write it up”"),
        (3, "agent", "A better name."),
    ]
    first = PlanVersion.objects.get(plan=plan_of(c), version=1).snapshot
    assert [s["name"] for s in first["subtasks"]] == ["Read", "Write"]


def test_ticks_of_state_are_not_versions():
    c = proposed("Read")
    scripted(call("finish_subtask", outcome="read"), say("."))
    tell(c, "go")
    assert plan_of(c).version == 1


def test_a_plan_keeps_at_least_one_subtask_and_started_ones_do_not_change():
    c = proposed("Read", "Write")
    actions.remove_subtask(plan_of(c), "s1", "alice", 1)
    with pytest.raises(Invalid, match="at least one subtask"):
        actions.remove_subtask(plan_of(c), "s2", "alice", 2)
    scripted(call("finish_subtask", outcome="written"), say("."))
    actions.approve_plan(plan_of(c), 2, "alice", run="no")
    actions.run_plan(plan_of(c), "alice", "next")
    drive()
    with pytest.raises(Conflict):
        actions.update_subtask(plan_of(c), "s2", {"name": "x"}, "alice", 2)
    assert ActivePlan.objects.get(conversation=c).plan_id == plan_of(c).pk
