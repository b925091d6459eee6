"""A hand edit of agent.json counts from the next request on, whatever the turn was doing."""

import asyncio
import json
import shutil

import pytest

from agents.db import in_db
from agents.models import Message, Turn
from plans import actions
from tests.fake_model import call, fails, say
from tests.inner import agents_actions as talk
from tests.world import (
    conversation,
    drive,
    eventually,
    files_of,
    happening,
    plan_of,
    proposed,
    scripted,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)

DONE = call("finish_subtask", outcome="done")
OLD, NEW = "qwen3-old", "qwen3-new"


def edit(c, **keys):
    file = files_of(c).parent / "agent.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | keys, indent=2))


def models(transport):
    return [request["model"] for request in transport.requests]


def running_subtask(**values):
    c = proposed("Write", model=OLD, **values)
    actions.approve_plan(plan_of(c), 1, "alice")
    return c


def test_trying_again_now_asks_the_model_that_was_set_meanwhile(settings):
    settings.MODEL_RETRY_BASE = 100
    c = running_subtask()
    wire = scripted(fails(503), DONE, say("All done."))
    drive()
    edit(c, model=NEW)
    talk.retry_now(Turn.objects.get(kind="subtask"), "alice")
    drive()
    assert models(wire) == [OLD, NEW, NEW]
    assert plan_of(c).state == "done"


def test_the_next_attempt_after_a_pause_of_its_own_asks_the_new_model():
    c = conversation(model=OLD)
    wire = scripted(lambda asked: edit_and_fail(c, asked))
    tell(c, "Hello")
    assert models(wire) == [OLD, NEW]


def edit_and_fail(c, asked):
    if asked["model"] == OLD:
        edit(c, model=NEW)
        return fails(503)
    return say("Here I am.")


def test_a_resumed_turn_asks_the_new_model_in_the_new_words():
    c = running_subtask()
    on = asyncio.Event()
    looks = {**call("list_files"), "text": "Let me see", "hang": on}
    wire = scripted(looks, DONE, say("All done."))

    async def story(worker):
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(lambda: actions.pause_plan(plan_of(c), "alice"))
        on.set()
        await eventually(lambda: Turn.objects.filter(waiting_for="pause").exists())
        await in_db(lambda: edit(c, model=NEW, instructions="Mind the gap.", temperature=0.5))
        await in_db(lambda: actions.resume_plan(plan_of(c), "alice"))
        await eventually(lambda: plan_of(c).state == "done")

    happening(story)
    assert models(wire) == [OLD, NEW, NEW]
    assert wire.requests[1]["temperature"] == 0.5
    assert "Mind the gap." in str(wire.requests[1]["messages"])


def test_the_second_step_of_a_running_turn_asks_the_new_model():
    c = conversation(model=OLD)

    def answer(asked):
        if len(wire.requests) > 1:
            return say("Done.")
        edit(c, model=NEW)
        return call("list_files")

    wire = scripted(answer)
    tell(c, "What is there?")
    assert models(wire) == [OLD, NEW] and texts(c)[-1] == "Done."
    assert Turn.objects.get(conversation=c).config["model"] == NEW


def test_a_reply_that_failed_is_retried_with_the_provider_and_chain_that_are_set_now():
    c = conversation(provider="nobody", chains={"chat": "no-such-chain"})
    wire = scripted(say("Hello."))
    tell(c, "Hello")
    edit(c, chains={})
    talk.retry_reply(c, "alice")
    drive()
    assert wire.requests == [] and Turn.objects.get().state == "failed"
    edit(c, provider="openai", model=NEW)
    talk.retry_reply(c, "alice")
    drive()
    assert texts(c) == ["Hello."] and models(wire) == [NEW]


def test_a_turn_stays_in_the_chain_it_is_in_the_midst_of():
    c = running_subtask()
    scripted(call("ask_user", question="Which?"), DONE, say("All done."))
    drive()
    edit(c, chains={"executor": "no-such-chain"})
    actions.answer_question(plan_of(c), "this one", "alice")
    drive()
    subtask = Turn.objects.get(kind="subtask")
    assert (subtask.state, subtask.error) == ("done", "")


@pytest.mark.parametrize("goes", ["broken", "gone"])
def test_while_the_file_is_broken_its_last_good_version_counts_and_a_lost_agent_is_named(goes):
    c = conversation(model=OLD)
    folder = files_of(c).parent

    def answer(asked):
        if len(wire.requests) == 1:
            edit(c, model=NEW)
            return call("list_files")
        if len(wire.requests) == 2:
            shutil.rmtree(folder) if goes == "gone" else (folder / "agent.json").write_text("{")
            return call("list_files")
        return say("Done.")

    wire = scripted(answer)
    tell(c, "What is there?")
    turn = Turn.objects.get(conversation=c)
    if goes == "broken":
        assert models(wire) == [OLD, NEW, NEW] and turn.state == "done"
    else:
        assert models(wire) == [OLD, NEW] and "There is no agent" in turn.error
