"""Which words approve, which almost do, and which are for the agent."""

import pytest

from agents.models import Turn
from plans import actions
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import approval_phrases
from tests.world import drive, plan_of, scripted, states, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)

YES = (
    *("yes go ahead", "yes, go ahead", "Sure", "LGTM!", "looks good", "Sounds good.", "make it so"),
    *("let's go", "Let’s go!", "ship it", "👍", "没问题", "行", "行。", "go ahead", "はい"),
    *("批准", "启动计划", "启动！", "开始计划。"),
)
NEARLY = (
    *(
        "yes, do it please",
        "ok great",
        "sure thing",
        "Yeah, go for it!",
        "looks good to me",
        "👍🏽",
    ),
    *("👍👍", "perfect, thanks", "alright, start the plan now", "好的，开始吧", "ok ok", "yep"),
    *(
        "yep that is fine please",
        "that's fine",
        "this is perfect",
        "do that",
        "of course",
        "I like it",
    ),
    *(
        "That will do",
        "you can start now",
        "we are happy with that",
        "great!",
        "Perfect.",
        "go for it",
    ),
    *("OK, let's start.", "great, ship it 🚀", "just go", "ok ok ok", "yes yes yes", "I agree"),
)
FOR_THE_AGENT = (
    *("yes but drop step 2", "sure, but make it shorter", "No! Don't", "ok?", "yes?", "start over"),
    *("looks good, except step 3", "go ahead, unless it is Friday", "not ok", "wait", "yes and no"),
    *("不批准", "批准吗？", "启动计划前先删掉第 2 个", "先别启动", "重新开始"),
    *("please", "the plan", "good grief", "ok, add a step to check links", "don't start", "👎", ""),
    *("start with step 2", "go back to v1", "is it ready", "sure, why not", "fine, but not now"),
    *(
        "is that fine",
        "yes can you start",
        "make it nice",
        "make it perfect please",
        "can we start",
    ),
    *(
        "that is not fine",
        "I like it but smaller",
        "will it do",
        "of course not",
        "that is all wrong",
    ),
    "yes " * 9,
)


@pytest.mark.parametrize("text", YES)
def test_these_approve(text):
    assert approval_phrases.approves(text) and not approval_phrases.nearly_approves(text)


@pytest.mark.parametrize("text", NEARLY)
def test_these_almost_approve(text):
    assert approval_phrases.nearly_approves(text) and not approval_phrases.approves(text)


@pytest.mark.parametrize("text", FOR_THE_AGENT)
def test_these_are_for_the_agent(text):
    assert not approval_phrases.nearly_approves(text) and not approval_phrases.approves(text)


@pytest.mark.parametrize("text", ["yes, do it please", "👍🏽"])
def test_words_that_nearly_approve_start_nothing_and_are_answered(text):
    c = proposed_plan("Read")
    tell(c, text)
    notice = c.messages.get(kind="notice")
    assert notice.text.startswith("Say yes, or press Start plan")
    assert plan_of(c).approved_version is None
    assert not Turn.objects.filter(conversation=c, state="queued").exists()


@pytest.mark.parametrize("text", ["yes but drop step 2", "sure, but shorter", "No! Don't"])
def test_a_wish_or_a_refusal_still_reaches_the_agent(text):
    c = proposed_plan("Read")
    model = scripted(say("Fine."))
    tell(c, text)
    assert text in str(model.requests[-1])
    assert plan_of(c).approved_version is None


def test_agreement_without_a_plan_is_an_ordinary_message():
    c = proposed_plan("Read")
    tell(c, "cancel")
    scripted(say("Which thing?"))
    tell(c, "sure thing", seen=None)
    assert texts(c)[-1] == "Which thing?"


DONE = call("finish_subtask", outcome="done")


def stopped(c):
    actions.approve_plan(plan_of(c), 1, "alice")
    actions.stop_plan(plan_of(c), "alice")
    drive()


def failed(c):
    actions.approve_plan(plan_of(c), 1, "alice")
    scripted(call("fail_subtask", error="no"))
    drive()


def paused(c):
    actions.approve_plan(plan_of(c), 1, "alice")
    actions.pause_plan(plan_of(c), "alice")


def not_started(c):
    actions.approve_plan(plan_of(c), 1, "alice", run="no")


def after_one(c):
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    scripted(DONE)
    drive()


RESTING = pytest.mark.parametrize("rest", [stopped, failed, paused, not_started, after_one])


@RESTING
@pytest.mark.parametrize("text", ["continue", "Go ahead."])
@pytest.mark.sampled(5)
def test_a_word_goes_on_with_an_approved_plan_that_rests(rest, text):
    c = proposed_plan("Read", "Write", "Check")
    rest(c)
    before = states(c).count("done")
    scripted(DONE, DONE, DONE, say("All done."))
    said = tell(c, text)
    assert said.turn is None, "it is no message for the agent"
    assert states(c).count("done") == (before + 1 if rest is after_one else 3)


@RESTING
def test_a_word_without_the_plan_it_is_about_goes_on_with_nothing(rest):
    c = proposed_plan("Read", "Write")
    rest(c)
    before = plan_of(c).run
    said = tell(c, "continue", seen=None)
    assert "A typed yes or no counts only with the plan and version that were read" in str(
        said.refused
    )
    assert plan_of(c).run == before


@pytest.mark.parametrize(
    ("asks", "budget", "told"),
    [
        (call("write_file", path="a.txt", content="a"), {}, "waits for your answer"),
        ({**DONE, "usage": [900, 200]}, {"tokens": 1000}, "The budget is used up"),
    ],
)
def test_a_word_that_cannot_go_on_says_what_is_waited_for(asks, budget, told):
    c = proposed_plan("Read", "Write", budget=budget, tools={"write_file": "ask"})
    scripted(asks)
    tell(c, "go")
    said = tell(c, "continue")
    assert told in str(said.refused)
    assert told in c.messages.filter(kind="notice").last().text


def test_a_word_while_the_plan_runs_does_nothing_and_says_so():
    c = proposed_plan("Read")
    actions.approve_plan(plan_of(c), 1, "alice")
    scripted(DONE, say("."))
    said = tell(c, "continue")
    assert said.turn is None
    assert "v1 is approved already" in str(said.refused)
