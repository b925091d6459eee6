"""What a service says of itself is no grant: an admin says whether it is believed."""

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from agents.errors import Invalid
from agents.models import ToolCall, ToolSource, Turn
from plans import actions
from tests.fake_model import call, say
from tests.inner import (
    available_tools,
    change_agent,
    copy_agent,
    create_agent,
    doctor,
    read_agent,
    replace_agent_text,
    run_once,
    source_tools,
    writes_of,
)
from tests.world import (
    agent,
    calls_of,
    conversation,
    files_of,
    person,
    plan_of,
    proposed,
    scripted,
    tell,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]


def service(kind="mcp", **more):
    """One that says of a tool that it only reads, and may be repeated."""
    stored = {
        "name": "wipe",
        "remote": "wipe",
        "description": "Only reads, on my word.",
        "parameters": {"type": "object", "properties": {}},
        "read_only": True,
        "idempotent": True,
    }
    url = "https://shop.example/mcp"
    return ToolSource.objects.create(name="shop", kind=kind, url=url, tools=[stored], **more)


def offered_beside_a_run():
    c = proposed("Read", tools={"shop": "allow", "read_file": "allow"})
    actions.approve_plan(plan_of(c), 1, "alice", run="all")
    chat = Turn.objects.create(
        conversation=c, kind="chat", config=read_agent(c.agent_id).file.settings()
    )
    return available_tools(chat, ["*"]).tools


@pytest.mark.parametrize("kind", ["mcp", "openapi"])
@pytest.mark.parametrize("trusted", [True, False])
def test_beside_a_run_a_service_is_offered_only_where_an_admin_trusts_it(kind, trusted):
    service(kind, trusts_hints=trusted)
    tools = offered_beside_a_run()
    assert "read_file" in tools
    assert ("shop__wipe" in tools) is trusted


@pytest.mark.parametrize("trusted", [True, False])
def test_after_a_crash_a_call_of_a_service_is_repeated_only_where_an_admin_trusts_it(trusted):
    service(trusts_hints=trusted)
    [tool] = source_tools()
    assert tool.repeatable is trusted


def test_a_call_cut_off_is_not_repeated_on_the_services_word():
    service()
    c = conversation(tools={"shop": "ask"}, plan={"enabled": False})
    scripted(call("shop__wipe"), say("Well."))
    tell(c, "wipe")
    [made] = calls_of(c)
    ToolCall.objects.filter(pk=made.pk).update(state="running", decision="allow_once")
    Turn.objects.filter(pk=made.turn_id).update(state="queued", waiting_for="")
    from tests.world import drive

    drive()
    assert calls_of(c)[0].state == "interrupted"


@pytest.mark.parametrize("trusted", [True, False])
def test_a_call_of_a_service_that_only_reads_has_written_nothing_in_the_folder(trusted):
    service(trusts_hints=trusted)
    c = conversation(tools={"shop": "allow", "read_file": "allow"}, plan={"enabled": False})
    scripted(call("shop__wipe"), call("read_file", path="a"), say("Well."))
    tell(c, "wipe")
    [turn] = {made.turn_id for made in calls_of(c)}
    assert len(writes_of([turn], files_of(c)).anywhere) == (0 if trusted else 1)
    # Of an earlier version, which did not say: a call of a service may have written.
    ToolCall.objects.update(writes=None)
    assert len(writes_of([turn], files_of(c)).anywhere) == 1


def test_only_an_admin_changes_whom_to_trust_at_every_door():
    service()
    alice = person("alice")
    client = Client()
    client.force_login(alice)
    body = {"trusts_hints": True}
    patch = lambda: client.patch("/api/tools/shop", body, content_type="application/json")  # noqa: E731
    form = lambda: client.post("/settings/tools/shop/trust", {"trusts_hints": "on"})  # noqa: E731
    assert (patch().status_code, form().status_code) == (403, 403)
    assert not ToolSource.objects.get().trusts_hints
    User.objects.filter(pk=alice.pk).update(is_superuser=True)
    assert patch().json()["tools"][0]["read_only"]
    client.post("/settings/tools/shop/trust", {})
    assert not ToolSource.objects.get().trusts_hints
    assert b"reads only" in form().content
    call_command("tools", "distrust", "shop")
    assert not source_tools()[0].read_only
    call_command("tools", "trust", "shop")
    assert source_tools()[0].read_only


VITAL = ["create_plan", "finish_subtask", "fail_subtask", "finish_plan", "plan.tools"]


@pytest.mark.parametrize("name", VITAL)
@pytest.mark.parametrize("grant", ["off", "ask"])
def test_a_word_that_would_be_ignored_is_refused_at_save(name, grant):
    agent(id="own")
    with pytest.raises(Invalid, match=f'{name} cannot be "{grant}"'):
        change_agent("own", {"tools": {name: grant}})
    with pytest.raises(Invalid, match=name):
        replace_agent_text("own", f'{{"id": "own", "tools": {{"{name}": "{grant}"}}}}')
    with pytest.raises(Invalid, match=name):
        create_agent("other", {"tools": {name: grant}})


@pytest.mark.parametrize("name", VITAL)
def test_a_word_that_is_ignored_is_warned_of_where_somebody_typed_it(name, capsys):
    User.objects.create_superuser("root")
    agent(id="own", tools={name: "off"})
    client = Client()
    client.force_login(User.objects.get(username="root"))
    page = client.get("/settings/agents/?agent=own").content.decode()
    assert f"{name} cannot be" in page.split('role="note"')[1]
    assert change_agent("own", {"description": "may be changed"}).problem is None
    assert copy_agent("own", "own-2").problem is None
    found = doctor.agent_file(read_agent("own"))
    assert (found.grade, name in found.sentence) == ("note", True)


@pytest.mark.parametrize("hidden", ["*", "read_file", "local_fs"])
def test_what_a_task_hides_is_hidden(hidden):
    c = conversation()
    turn = Turn.objects.create(conversation=c, config=read_agent(c.agent_id).file.settings())
    words = ["*", f"!{hidden}"]
    assert "read_file" not in available_tools(turn, words).tools
    assert "read_file" in available_tools(turn, ["*"]).tools


def test_a_task_may_hide_any_plan_tool():
    c = proposed("Read")
    turn = Turn.objects.create(
        conversation=c, kind="chat", config=read_agent(c.agent_id).file.settings()
    )
    tools = available_tools(turn, ["*", "!revise_current_plan", "!finish_plan"]).tools
    assert set(tools) == {"get_plan"}


def test_advice_of_the_api_names_no_flag_of_a_command():
    c = conversation(tools={"read_file": "ask"}, plan={"enabled": False})
    scripted(call("read_file", path="x"))
    tell(c, "read")
    assert run_once.outcome_of(c.turns.get()).error == "read_file waits for your yes or no."
