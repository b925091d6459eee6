"""An executor hands work to another agent, which works by a plan of its own."""

import pytest
from django.db import transaction

from agents.actors import AGENT, SYSTEM
from agents.errors import Conflict
from agents.models import Conversation, Message, ToolCall, Turn
from plans import actions
from plans.models import Plan, Run, State
from plans.schemas import PlanDraft, PlanEdit, SubtaskDraft
from tests.fake_model import call, say
from tests.inner import agents_actions as talk
from tests.inner import plan_requests, settle_planning, start_for_parent
from tests.world import (
    agent,
    conversation,
    done,
    drive,
    files_of,
    plan_of,
    proposal,
    proposed,
    scripted,
    scripted_agents,
    shown,
    states,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


def story(helper_replies, boss_replies, **helper_file):
    """A proposed plan of one subtask whose agent may call a helper; each has its own script."""
    helper = agent(instructions="I am helper", **helper_file)
    c = proposed("Delegate", tools={f"run_agent:{helper}": "allow"}, instructions="I am boss")
    scripts = {
        "I am boss": [call("run_agent", agent=helper, task="Tidy your half."), *boss_replies],
        "I am helper": list(helper_replies),
    }
    return c, scripted_agents(scripts)


PLANNED = [proposal("Half one", "Half two", title="The helper's half"), say("I will.")]
END = [done("it is tidy"), say("All is tidy.")]


def child_plan():
    return Plan.objects.get(conversation__parent_call__isnull=False)


def test_the_nested_plan_is_approved_by_the_system_and_its_outcome_is_the_result():
    c, _ = story([*PLANNED, done(), done(), call("finish_plan", outcome="Both halves.")], END)
    tell(c, "go")
    child = child_plan()
    parent = plan_of(c)
    assert (child.state, child.approved_by) == (State.DONE, f"subtask s1 of plan {parent.pk} v1")
    assert parent.state == State.DONE
    assert shown(c)["subtasks"][0]["plan"] == child.pk
    assert ToolCall.objects.get(tool="run_agent").result == "Both halves."
    assert not [m for m in Message.objects.filter(conversation=c) if "waits for" in m.text], (
        "nothing is asked in the parent's face"
    )


def test_a_revision_of_the_nested_plan_goes_on_by_itself():
    c, _ = story(
        [*PLANNED, call("add_subtask", name="Half three"), done(), done(), done(), say("ok")], END
    )
    tell(c, "go")
    assert (child_plan().version, child_plan().state) == (2, State.DONE)
    assert plan_of(c).state == State.DONE


def test_a_failing_nested_plan_is_a_failed_call_for_its_parent():
    c, _ = story(
        [*PLANNED, call("fail_subtask", error="My disk is full.")],
        END,
        plan={"enabled": True, "max_attempts": 1},
    )
    tell(c, "go")
    made = ToolCall.objects.get(tool="run_agent")
    assert made.state == "failed"
    assert "My disk is full." in made.result
    assert states(c) == ["done"], "what the parent makes of it is the parent's work"


def test_a_nested_plan_that_was_stopped_is_not_blamed_on_an_error_it_had_got_over():
    failed, asks = call("fail_subtask", error="My disk is full."), call("ask_user", question="?")
    c, _ = story([*PLANNED, failed, done(), asks], END, plan={"enabled": True, "max_attempts": 2})
    tell(c, "go")
    actions.stop_plan(child_plan(), "alice")
    drive()
    made = ToolCall.objects.get(tool="run_agent")
    assert made.result.endswith("did not come to its end: it was stopped")


def test_questions_of_the_child_are_asked_and_answered_where_the_person_is():
    c, model = story(
        [*PLANNED, call("ask_user", question="Which half?"), done(), done(), say("ok")], END
    )
    tell(c, "go")
    assert (shown(c)["attention"], shown(c)["question"]) == ("question", "Which half?")
    assert texts(c, "question") == ["Which half?"]
    tell(c, "the upper one")
    assert plan_of(c).state == State.DONE
    assert "The person answered: the upper one" in str(model.requests)


def test_approvals_of_the_child_bubble_up_to_the_person():
    write = call("write_file", path="a.txt", content="a")
    c, _ = story([*PLANNED, write, done(), done(), say("ok")], END, tools={"write_file": "ask"})
    tell(c, "go")
    plan = shown(c)
    assert plan["attention"] == "approval"
    [card] = Message.objects.filter(conversation=c, kind="approval")
    assert card.meta["call"] == plan["approvals"][0]["id"]
    talk.decide_call(ToolCall.objects.get(pk=card.meta["call"]), "allow_once", "alice")
    drive()
    assert plan_of(c).state == State.DONE


def test_stop_reaches_down_and_the_nested_plan_starts_nothing_any_more():
    c, _ = story([*PLANNED, call("ask_user", question="?")], END)
    tell(c, "go")
    actions.stop_plan(plan_of(c), "alice")
    drive()
    assert not Turn.objects.filter(state__in=["queued", "running", "waiting"]).exists()
    assert (plan_of(c).run, states(c)) == (Run.IDLE, ["todo"])
    child = child_plan()
    talk.queue_turn(child.conversation, "subtask", "run", plan=child.pk)
    scripted(call("write_file", path="late.txt", content="x"))
    drive()
    assert child_plan().subtasks.filter(state="done").count() == 0


def test_without_inherit_or_plan_mode_the_other_agent_just_answers():
    c, _ = story([say("Tidied.")], END, plan={"enabled": False})
    tell(c, "go")
    assert ToolCall.objects.get(tool="run_agent").result == "Tidied."
    assert not Plan.objects.filter(conversation__parent_call__isnull=False).exists()


def test_an_agent_that_plans_every_task_works_for_a_subtask():
    c, _ = story(
        [*PLANNED, done(), done(), say("Both.")], END, plan={"enabled": True, "enforce": True}
    )
    tell(c, "go")
    assert (child_plan().state, plan_of(c).state) == (State.DONE, State.DONE)


@pytest.mark.parametrize("agents_between", [0, 1])
def test_an_agent_that_plans_every_task_is_called_by_nobody_outside_of_a_plan(agents_between):
    strict = agent(name="Strict", plan={"enabled": True, "enforce": True})
    callers, called = {}, strict
    for each in ["I am between"] * agents_between + ["I am boss"]:
        callers[each] = [
            call("run_agent", agent=called, task="Tidy."),
            say("It may not be called."),
        ]
        asks = {"tools": {f"run_agent:{called}": "allow"}, "plan": {"enabled": False}}
        called = agent(instructions=each, **asks)
    c = conversation(instructions=each, **asks)
    scripted_agents(callers)
    tell(c, "Tidy, please.")
    refused = ToolCall.objects.latest("pk")
    assert (refused.state, refused.result) == (
        "failed",
        "Strict plans every task (plan.enforce): only a subtask of a plan may call it.",
    )
    assert not Conversation.objects.filter(agent_id=strict).exists()


def test_what_a_child_uses_counts_in_its_parents_budget():
    spends = {**done(), "usage": [50_000, 0]}
    c, _ = story([*PLANNED, spends, done(), say("ok")], [done(), done(), say("ok")])
    actions.raise_budget(plan_of(c), "alice", {"tokens": 10_000})
    tell(c, "go")
    assert shown(c)["attention"] == "budget"


def test_a_child_that_has_used_up_its_own_budget_says_so_to_its_parent():
    c, _ = story([*PLANNED, done(), done()], END, budget={"model_calls": 1})
    tell(c, "go")
    made = ToolCall.objects.get(tool="run_agent")
    assert made.state == "failed"
    assert "budget" in made.result
    assert plan_of(c).state == State.DONE, "the parent goes on with what it was told"
    assert not Turn.objects.filter(state__in=["queued", "running", "waiting"]).exists()


def by_hand(child):
    actions.create_plan(child, PlanDraft(title="Mine", subtasks=["Delete all"]), "alice")


HANDS = {
    "another plan": by_hand,
    "the same again": lambda child: actions.use_again(plan_of(child), "alice"),
    "an edit": lambda child: actions.edit_plan(plan_of(child), PlanEdit(title="Mine"), "alice", 1),
    "a subtask": lambda child: actions.add_subtask(
        plan_of(child), SubtaskDraft(name="Mine"), "alice"
    ),
    "planned anew": lambda child: actions.replan_rest(plan_of(child), "alice"),
}


SENTENCES = {
    "a plan": lambda child: tell(child, "/plan delete all"),
    "a message": lambda child: tell(child, "Delete all as well."),
    "a yes": lambda child: tell(child, "yes"),
    "a cancelling": lambda child: tell(child, "cancel"),
    "a new conversation": lambda child: tell(child, "/new"),
    "a clearing": lambda child: tell(child, "/clear"),
    "a plan beside": lambda child: plan_requests.ask_beside(child, "Delete all", "alice"),
    "a turn": lambda child: talk.start_turn(child, "Delete all.", "alice", "plan"),
}


STORIES = {
    "while it waits": ([*PLANNED, call("ask_user", question="Which?")], []),
    "when all is over": ([*PLANNED, done(), done(), call("finish_plan", outcome="Both.")], END),
}


@pytest.mark.parametrize("how", SENTENCES)
@pytest.mark.parametrize("when", STORIES)
@pytest.mark.sampled(4)
def test_nothing_a_person_says_to_a_called_agent_becomes_work(how, when):
    c, _ = story(*STORIES[when])
    tell(c, "go")
    before = list(Plan.objects.values("title", "state", "run", "approved_version"))
    turns = Turn.objects.count()
    with pytest.raises(Conflict, match="works for a call of another"):
        SENTENCES[how](child_plan().conversation)
    assert list(Plan.objects.values("title", "state", "run", "approved_version")) == before
    assert Turn.objects.count() == turns


def waiting_child():
    """A child whose plan was made and whose parent still waits for it."""
    c, _ = story([*PLANNED, call("ask_user", question="Which half?")], END)
    tell(c, "go")
    return child_plan().conversation


@pytest.mark.parametrize("how", HANDS)
@pytest.mark.sampled(3)
def test_nobody_writes_by_hand_what_the_system_approves(how):
    child = waiting_child()
    count = Plan.objects.count()
    with pytest.raises(Conflict, match="cannot be changed by hand"):
        HANDS[how](child)
    assert Plan.objects.count() == count
    assert plan_of(child).versions.count() == 1


@pytest.mark.parametrize("by", [SYSTEM, AGENT])
def test_only_the_plan_that_the_planning_turn_made_is_approved(by):
    child = waiting_child()
    planning = Turn.objects.get(conversation=child, kind="plan")
    actions.create_plan(child, PlanDraft(title="Mine", subtasks=["Delete all"]), by)
    with transaction.atomic():  # as whoever ends a turn settles it
        settle_planning(planning)
    planted = Plan.objects.get(title="Mine")
    assert planted.approved_version is None
    assert planted.run == Run.IDLE


def test_words_of_another_author_are_not_approved_by_the_system():
    child = waiting_child()
    plan = plan_of(child)
    plan.versions.update(author_kind="person")
    Plan.objects.filter(pk=plan.pk).update(approved_version=None)
    start_for_parent(plan_of(child))
    assert plan_of(child).approved_version is None


def checked_by(check):
    """The helper's plan, whose one subtask it has given this check."""
    subtasks = [{"name": "Half one", "checks": [check]}]
    return [call("create_plan", title="The helper's half", subtasks=subtasks), say("I will.")]


@pytest.mark.parametrize(
    "check",
    [
        {"kind": "command", "command": "touch ran"},
        {"kind": "http", "url": "http://127.0.0.1:9/"},
    ],
    ids=lambda check: check["kind"],
)
def test_what_an_agent_wants_run_to_check_itself_asks_a_person_first(check):
    """No person has read that plan, whatever the agent may do by itself."""
    tools = {"shell": "allow", "fetch_url": "allow"}
    c, _ = story([*checked_by(check), done(), say("ok")], END, tools=tools)
    type(c.owner).objects.update(is_superuser=True)
    tell(c, "go")
    asked = ToolCall.objects.get(state=ToolCall.State.ASKED)
    assert asked.turn.conversation.parent_call_id is not None
    assert asked.arguments.items() <= check.items() | {("timeout_s", 60)}
    assert not (files_of(asked.turn.conversation) / "ran").exists()
    assert shown(c)["attention"] == "approval"
    talk.decide_call(asked, "allow_once", "alice", "")
    drive()
    ran = (files_of(asked.turn.conversation) / "ran").exists()
    assert ran == (check["kind"] == "command")
    assert plan_of(c).state == State.DONE or check["kind"] == "http"


def test_a_check_that_a_person_denies_is_told_to_the_agent_that_called():
    check = {"kind": "command", "command": "touch ran"}
    c, _ = story([*checked_by(check), done()], END, tools={"shell": "allow"})
    type(c.owner).objects.update(is_superuser=True)
    tell(c, "go")
    talk.decide_call(ToolCall.objects.get(state="asked"), "deny", "alice", "Not that.")
    drive()
    made = ToolCall.objects.get(tool="run_agent")
    assert (made.state, "Not that." in made.result) == ("failed", True)
    assert plan_of(c).state == State.DONE, "the parent goes on with what it was told"
    assert not Turn.objects.filter(state__in=["queued", "running", "waiting"]).exists()
