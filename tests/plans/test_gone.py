"""Whatever work was about may be gone; the work ends in a state all the same.

A table: what goes away, and what the run was doing at that moment. Afterwards no turn is open that
nobody can bring on, no plan is said to run, and the repair of the queue finds nothing to do.
"""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from agents.db import in_db
from agents.errors import Conflict, Refused
from agents.models import Conversation, Message, Provider, ToolCall, Turn
from plans import actions
from plans.models import Plan, Run, Subtask
from tests.builders import proposed_plan
from tests.fake_model import call, say, silent
from tests.inner import (
    decide_call,
    delete_conversation,
    handle_message,
    put_back_orphans,
    read_agent,
    set_owner,
    stop_work_of,
)
from tests.inner import leaving_delete_agent as delete_agent
from tests.world import (
    agent,
    conversation,
    drive,
    eventually,
    happening,
    person,
    plan_of,
    scripted,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)

DONE = call("finish_subtask", outcome="done")
REST = [DONE] * 6 + [say("All done.")]


def folder(c):
    return Path(settings.PLANSIDE_HOME) / "workspaces" / c.agent_id


def edit(c, **keys):
    file = folder(c) / "agent.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | keys))


# What goes away


def the_agents_folder(c):
    shutil.rmtree(folder(c))


def the_agents_file_is_broken(c):
    (folder(c) / "agent.json").write_text("{")
    (folder(c) / ".agent.last-good.json").unlink(missing_ok=True)


def its_workspace(c):
    edit(c, workspace="/nowhere/at/all")


def its_files(c):
    shutil.rmtree(folder(c) / "files")


def its_chain(c):
    edit(c, chains={"executor": "no-such-chain"})


def its_chain_is_broken(c):
    chains = Path(settings.PLANSIDE_HOME) / "chains"
    (chains / "broken.json").write_text("{")
    edit(c, chains={"executor": "broken"})


def its_provider(c):
    edit(c, provider="nobody")
    Provider.objects.all().delete()


def the_conversation(c):
    delete_conversation(c, "alice")


def the_owner(c):
    c.owner.delete()


def the_owners_account_is_closed(c):
    stop_work_of(c.owner)


def the_plans_card(c):
    Message.objects.filter(conversation=c, kind="plan").delete()


ALL = [
    *(the_agents_folder, the_agents_file_is_broken, the_conversation, the_owner),
    the_owners_account_is_closed,
]
PARTS = [its_workspace, its_files, its_chain, its_chain_is_broken, its_provider, the_plans_card]


# What the run was doing


def queued(c, goes):
    goes()
    scripted(*REST)
    drive()


def orphaned(c, goes):
    """Its worker died; the queue is repaired at the next start."""
    Turn.objects.filter(lane="run").update(state="running", epoch=1)
    goes()
    scripted(*REST)
    put_back_orphans(all_of_them=True)
    drive()


def meanwhile(happens, when=lambda: True):
    """What a reply of the model's waits for: this happens once that is so."""

    async def wait():
        await eventually(when)
        await in_db(happens)

    return wait


def is_heard():
    return Message.objects.filter(streaming=True).exists()


def streaming(c, goes):
    scripted({**DONE, "text": "Let me see", "hang": meanwhile(goes, is_heard)}, *REST)
    drive()


def stopping(c, goes):
    scripted(silent("for ever"), *REST)

    async def story(worker):
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        await in_db(goes)
        if await in_db(Plan.objects.exists):
            await in_db(lambda: actions.stop_plan(plan_of(c), "alice"))
        await eventually(nobody_works)

    happening(story, at_once=True)


def in_a_tool(c, goes):
    scripted(call("shell", command="touch on; while [ -e on ]; do sleep 0.05; done"), *REST)

    async def story(worker):
        flag = folder(c) / "files" / "on"
        await eventually(flag.exists)
        await in_db(goes)
        flag.unlink(missing_ok=True)
        await eventually(nobody_works)

    happening(story)


def waiting_for_an_approval(c, goes):
    scripted(call("write_file", path="a", content="a"), *REST)
    drive()
    assert Turn.objects.filter(waiting_for="approval").exists()
    goes()
    for asked in ToolCall.objects.filter(state="asked"):
        decide_call(asked, "allow_once", "alice")
    drive()


def waiting_for_an_answer(c, goes):
    scripted(call("ask_user", question="How many?"), *REST)
    drive()
    goes()
    if plan := next((plan for plan in Plan.objects.all() if plan.question), None):
        actions.answer_question(plan, "42", "alice")
    drive()


def paused(c, goes):
    actions.pause_plan(plan_of(c), "alice")
    goes()
    scripted(*REST)
    if plan := Plan.objects.filter(run=Run.PAUSED).first():
        actions.resume_plan(plan, "alice")
    drive()


def between_two_subtasks(c, goes):
    """It goes away while the model writes the call that finishes the first one."""
    scripted({**DONE, "wait": meanwhile(goes)}, *REST)
    drive()


def closing(c, goes):
    scripted(DONE, DONE, {**say("All done."), "wait": meanwhile(goes)})
    drive()


WHEN = [
    *(queued, orphaned, streaming, stopping, in_a_tool, waiting_for_an_approval),
    *(waiting_for_an_answer, paused, between_two_subtasks, closing),
]
TABLE = [
    *((what, when) for what in ALL for when in WHEN),
    *((what, when) for what in PARTS for when in (queued, streaming, paused, closing)),
]


def nobody_works():
    return not Turn.objects.filter(state__in=["queued", "running"]).exists()


def rows():
    return (
        list(Turn.objects.order_by("pk").values("pk", "state", "waiting_for")),
        list(Plan.objects.order_by("pk").values("pk", "state", "run", "pause_reason")),
        list(Subtask.objects.order_by("pk").values("pk", "state")),
    )


def everything_came_to_rest():
    before = rows()
    put_back_orphans(all_of_them=True)
    assert rows() == before, "the repair finds nothing to do"
    assert not Turn.objects.filter(state__in=["queued", "running", "waiting"]).exists()
    assert not Subtask.objects.filter(state="in_progress").exists()
    assert not ToolCall.objects.filter(state__in=["", "asked", "running"]).exists()
    assert not Message.objects.filter(streaming=True).exists()
    assert set(Plan.objects.values_list("run", flat=True)) <= {Run.IDLE}


@pytest.mark.parametrize(("what", "when"), TABLE, ids=lambda each: each.__name__)
@pytest.mark.sampled(18)
def test_the_run_comes_to_rest_when_something_it_needs_goes_away(what, when):
    ask = "ask" if when is waiting_for_an_approval else "allow"
    tools = {"shell": "allow", "write_file": ask}
    c = proposed_plan("Read", "Write", tools=tools)
    User.objects.update(is_superuser=True)  # the shell is an admin's
    actions.approve_plan(plan_of(c), 1, "alice")
    when(c, lambda: what(c))
    everything_came_to_rest()


@pytest.mark.parametrize("when", [queued, orphaned, streaming, between_two_subtasks, paused])
def test_the_run_of_an_agent_that_is_gone_has_failed_and_says_why(when):
    c = proposed_plan("Read", "Write", plan={"enabled": True, "max_attempts": 3})
    actions.approve_plan(plan_of(c), 1, "alice")
    when(c, lambda: the_agents_folder(c))
    from tests.world import shown

    assert shown(c)["attention"] == "failed"
    errors = [subtask["error"] for subtask in shown(c)["subtasks"]]
    assert f'There is no agent "{c.agent_id}".' in errors
    failed = shown(c)["subtasks"][errors.index(f'There is no agent "{c.agent_id}".')]
    assert failed["attempts"] == 1, "trying again would not help"


def test_another_plan_runs_though_one_cannot_be_repaired():
    """One agent that is gone held up the whole queue: nothing else was claimed any more."""
    gone = proposed_plan("Read")
    actions.approve_plan(plan_of(gone), 1, "alice")
    Turn.objects.filter(lane="run").delete()
    shutil.rmtree(folder(gone))
    c = proposed_plan("Read")
    actions.approve_plan(plan_of(c), 1, "alice")
    scripted(DONE, say("All done."))

    async def story(worker):
        await eventually(lambda: plan_of(c).state == "done")

    happening(story)
    assert plan_of(gone).run == Run.IDLE


# One agent works for another


def helping(*replies):
    """A parent whose call of a helper is under way; gives both conversations."""
    helper = agent(plan={"enabled": False})
    c = proposed_plan("Read", tools={f"run_agent:{helper}": "allow"})
    actions.approve_plan(plan_of(c), 1, "alice")
    scripted(call("run_agent", agent=helper, task="Count them"), *replies)
    return c


CHILD_GONE = {
    "the helper's folder": lambda child: shutil.rmtree(folder(child)),
    "the helper's conversation": lambda child: delete_conversation(child, "alice"),
    "the helper's conversation, its turn with it": lambda child: child.delete(),
    "the calling agent's folder": lambda child: shutil.rmtree(
        folder(child.parent_call.turn.conversation)
    ),
    "the calling conversation": lambda child: delete_conversation(
        child.parent_call.turn.conversation, "alice"
    ),
}


@pytest.mark.parametrize("goes", CHILD_GONE.values(), ids=CHILD_GONE.keys())
def test_an_agent_that_waits_for_another_gets_an_answer_whatever_goes_away(goes):
    on = asyncio.Event()
    helping({**say("Counting"), "hang": on}, *REST)

    async def story(worker):
        answering = Message.objects.filter(streaming=True, conversation__parent_call__isnull=False)
        await eventually(lambda: answering.all().exists())
        await in_db(lambda: goes(Conversation.objects.exclude(parent_call=None).get()))
        on.set()
        worker.swept_at = None  # the sweep comes every few seconds
        await eventually(lambda: not open_turns())

    happening(story, at_once=True)
    everything_came_to_rest()


def open_turns():
    return Turn.objects.filter(state__in=["queued", "running", "waiting"]).exists()


# Deleting on purpose


WORKING = {
    "a reply is queued": lambda c: person_says(c, "hello"),
    "a plan runs": lambda c: actions.run_plan(plan_of(c), "alice"),
    "a plan is paused in the midst": lambda c: (
        actions.run_plan(plan_of(c), "alice"),
        actions.pause_plan(plan_of(c), "alice"),
    ),
}


def person_says(c, text):
    return handle_message(c, text, "alice")


@pytest.mark.parametrize("work", WORKING.values(), ids=WORKING.keys())
@pytest.mark.parametrize("door", ["page", "API"])
def test_an_agent_at_work_is_not_deleted_and_what_is_under_way_is_named(client, work, door):
    c = proposed_plan("Read")
    Conversation.objects.filter(pk=c.pk).update(title="Tidy up")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    work(c)
    set_owner(c.owner, c.agent_id)
    client.force_login(c.owner)
    if door == "page":
        answer = client.post(f"/settings/agents/{c.agent_id}/delete")
    else:
        answer = client.delete(f"/api/agents/{c.agent_id}")
    assert answer.status_code == 409
    said = answer.json()["detail"] if door == "API" else answer.content.decode()
    assert "at work on “Tidy up”" in said
    assert read_agent(c.agent_id).problem is None


def test_an_agent_at_rest_is_deleted_and_others_work_is_not_named():
    c = conversation("bob")
    person_says(c, "hello")
    with pytest.raises(Conflict, match="something for another person"):
        delete_agent(c.agent_id, person("alice"))
    scripted(say("Hello."))
    drive()
    delete_agent(c.agent_id, person("alice"))
    with pytest.raises(Refused):
        read_agent(c.agent_id)
    assert texts(c) == ["Hello."]
