"""What an agent may use follows from its owner, its file, the run's options and the tool."""

import asyncio
import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.errors import Forbidden, Invalid, NotFound
from agents.models import Conversation, Message, ToolSource, Turn
from plans import actions
from plans.schemas import SubtaskDraft
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import (
    DEFAULT_GRANTS,
    DESCRIPTIONS,
    RISKY,
    TAKEN,
    available_tools,
    change_agent,
    decide_call,
    file_tools,
    ownership,
    permissions,
    read_agent,
    same_json,
)
from tests.inner import WORKSPACES_SAMPLE as SAMPLE
from tests.world import (
    ALL_FILE_TOOLS,
    agent,
    approved,
    calls_of,
    conversation,
    drive,
    person,
    plan_of,
    proposed,
    scripted,
    tell,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]


def admin(name="alice", is_admin=True):
    User.objects.filter(pk=person(name).pk).update(is_superuser=is_admin)


def offered(transport):
    return {tool["function"]["name"] for tool in transport.requests[-1].get("tools", [])}


def run_body(c, **body):
    client = Client()
    client.force_login(c.owner)
    path = f"/api/plans/{plan_of(c).pk}/run"
    return client.post(path, body, content_type="application/json")


# Every way in which a person, a file or a model could grant the shell.
GRANTS = {
    "its name": {"tools": {"shell": "allow"}},
    "its group": {"tools": {"local_shell": "allow"}},
    "everything": {"tools": {"*": "allow"}},
    "for always": {
        "tools": {"*": "allow"},
        "always_allow": [{"tool": "shell", "arguments": {"command": "id"}}],
    },
    "a run's options in the file": {"tools": {"*": "allow"}, "allow": ["shell"]},
    "options of the turn in the file": {"options": {"allow": ["shell"], "in_folder": True}},
    "a command's folder in the file": {"in_folder": True, "workspace": "/tmp", "allow": ["shell"]},
    "private hosts": {"tools": {"*": "allow"}, "fetch_hosts": ["127.0.0.1"]},
}


@pytest.mark.parametrize("values", GRANTS.values(), ids=GRANTS)
@pytest.mark.sampled(4)
def test_an_ordinary_persons_agent_is_never_offered_a_shell(values):
    c = conversation(**{"plan": {"enabled": False}, **values})
    transport = scripted(call("shell", command="id"), say("No."))
    tell(c, "who am I")
    assert all("shell" not in offered_names(request) for request in transport.requests)
    assert [made.state for made in calls_of(c) if made.state == "done"] == []


def offered_names(request):
    return {tool["function"]["name"] for tool in request.get("tools", [])}


@pytest.mark.parametrize("name", ["shell", "local_shell"])
def test_no_run_of_an_ordinary_person_lifts_the_shell(name):
    c = approved("Read")
    answer = run_body(c, allow=[name])
    assert answer.status_code == 403
    assert "only an admin's agent" in answer.json()["detail"]
    assert plan_of(c).run == "idle"


def test_options_written_into_a_row_lift_no_shell_either():
    c = approved("Read")
    plan = plan_of(c)
    plan.run_options = {"allow": ["shell", "local_shell", "*"]}
    plan.save()
    transport = scripted(call("shell", command="id"), call("finish_subtask", outcome="x"), say("."))
    actions.run.start_run(plan, "alice", "all")
    drive()
    assert "shell" not in offered_names(transport.requests[0])
    assert calls_of(c, "shell")[0].state == "refused"


def test_an_admins_run_lifts_the_shell_for_that_run_alone():
    admin()
    c = approved("Read", plan={"enabled": True, "max_attempts": 1}, tools={})
    scripted(call("shell", command="echo once"), call("fail_subtask", error="no"), say("."))
    assert run_body(c, allow=["shell"]).status_code == 200
    drive()
    [ran] = calls_of(c, "shell")
    assert (ran.state, ran.result.strip()) == ("done", "once")
    scripted(call("shell", command="echo twice"), call("fail_subtask", error="no"), say("."))
    actions.retry_subtask(plan_of(c), "s1", "alice")
    drive()
    assert calls_of(c, "shell")[1].state == "refused", "the options ended with the run"
    assert plan_of(c).run_options.get("allow") is None


@pytest.mark.parametrize("way", ["retry", "skip", "replan", "again", "new version"])
def test_what_one_run_was_allowed_asks_again_in_the_next(way):
    asks = {"write_file": "ask"}
    c = proposed("Read", "Write", "Check", tools=asks, plan={"enabled": True, "max_attempts": 1})
    plan = plan_of(c)
    actions.approve_plan(plan, 1, "alice", run="no")
    scripted(
        call("write_file", path="a", content="1"), call("fail_subtask", error="no"), say("Failed.")
    )
    assert run_body(c, allow=["write_file"]).status_code == 200
    drive()
    assert calls_of(c, "write_file")[0].state == "done"
    revision = call("revise_current_plan", subtasks=[{"name": "Other"}])
    scripted(
        *([revision, say("New.")] if way == "replan" else []),
        call("write_file", path="b", content="2"),
        say("."),
    )
    set_going_again(c, way)
    drive()
    assert calls_of(c, "write_file")[-1].state == "asked"
    assert len(calls_of(c, "write_file")) == 2


def set_going_again(c, way):
    plan = plan_of(c)
    if way == "retry":
        actions.retry_subtask(plan, "s1", "alice")
    elif way == "again":
        actions.run_plan(plan, "alice")
    elif way == "skip":
        actions.skip_subtask(plan, "s1", "alice")
        actions.run_plan(plan, "alice")
    elif way == "replan":
        actions.replan_rest(plan, "alice", "s1")
        drive()
        start(plan_of(c))
    else:
        actions.add_subtask(plan, SubtaskDraft(name="More"), "alice")
        start(plan_of(c))


def start(plan):
    actions.approve_plan(plan, plan.version, "alice")


def test_a_paused_run_keeps_what_it_was_allowed_when_it_is_resumed():
    c = proposed("Read", tools={"write_file": "ask"})
    plan = plan_of(c)
    actions.approve_plan(plan, 1, "alice", run="no")
    assert run_body(c, allow=["write_file"]).status_code == 200
    actions.pause_plan(plan_of(c), "alice")
    actions.resume_plan(plan_of(c), "alice")
    scripted(
        call("write_file", path="a", content="1"), call("finish_subtask", outcome="x"), say(".")
    )
    drive()
    assert calls_of(c, "write_file")[0].state == "done"


def test_a_paused_run_that_is_started_anew_has_only_its_new_options():
    c = proposed("Read", tools={"write_file": "ask"})
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    assert run_body(c, allow=["write_file"]).status_code == 200
    actions.pause_plan(plan_of(c), "alice")
    assert run_body(c).status_code == 200
    scripted(call("write_file", path="a", content="1"), say("."))
    drive()
    assert calls_of(c, "write_file")[0].state == "asked"


def test_a_new_version_of_a_paused_run_is_not_approved_with_what_the_one_before_was_allowed():
    c = proposed_plan("Read", tools={"write_file": "ask"})
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    assert run_body(c, allow=["write_file"]).status_code == 200
    actions.pause_plan(plan_of(c), "alice")
    actions.add_subtask(plan_of(c), SubtaskDraft(name="More"), "alice")
    assert plan_of(c).run_options["allow"] == ["write_file"], "the run rests, it has not ended"
    scripted(call("write_file", path="a", content="1"), say("."))
    start(plan_of(c))
    drive()
    assert [each.state for each in calls_of(c, "write_file")] == ["asked"]


REFUSED = {
    "an unknown tool": (["nope"], 404, "“nope”"),
    "several": (["read_file", "nope", "nix"], 404, "“nope”, “nix”"),
    "an unknown service": (["ghost__pay"], 404, "“ghost__pay”"),
    "an operation the service has not": (["shop__steal"], 404, "“shop__steal”"),
    "a plan tool": (["create_plan"], 404, "“create_plan”"),
    "everything": (["*"], 404, "“*”"),
    "someone else's agent": (["run_agent:bobs"], 404, "“run_agent:bobs”"),
    "what is off": (["fetch_url"], 422, "fetch_url is off in agent.json"),
    "a whole group that is off": (["local_fs"], 422, "local_fs is off in agent.json"),
}


@pytest.mark.parametrize(("names", "status", "words"), REFUSED.values(), ids=REFUSED)
def test_a_run_is_refused_what_it_cannot_lift_and_says_which(names, status, words):
    ToolSource.objects.create(name="shop", kind="openapi", url="https://shop.example", tools=[PAY])
    ownership.set_owner(person("bob"), agent(id="bobs"))
    c = approved("Read", tools={"fetch_url": "off", "local_fs": "off", "read_file": "allow"})
    answer = run_body(c, allow=names)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.content
    assert plan_of(c).run == "idle"


PAY = {
    "name": "pay",
    "description": "Pay.",
    "parameters": {"type": "object", "properties": {}},
    "read_only": True,
    "idempotent": True,
}


def test_allow_lifts_ask_and_what_is_not_listed_and_leaves_off():
    own = conversation(tools={"write_file": "ask", "edit_file": "off", "shell": "allow"})
    now = permissions.Permissions(
        read_agent(own.agent_id), True, frozenset({"local_fs", "fetch_url", "shell"})
    )
    grants = {name: now.grant(name) for name in ("write_file", "read_file", "edit_file")}
    assert grants == {"write_file": "allow", "read_file": "allow", "edit_file": "off"}
    assert (now.grant("fetch_url"), now.grant("shell")) == ("allow", "allow")


def test_an_admin_who_is_one_no_more_loses_the_server_at_the_next_call():
    admin()
    c = conversation(tools={"shell": "ask"}, plan={"enabled": False})
    scripted(call("shell", command="id"), say("No."))
    tell(c, "who am I")
    admin(is_admin=False)
    decide_call(calls_of(c)[0], "allow_once", "alice")
    drive()
    assert calls_of(c)[0].state == "refused", "it is asked again when the call is carried out"


def test_an_agent_that_is_the_admins_is_not_there_for_one_who_is_none_any_more():
    c = Conversation.objects.create(owner=person("alice"), agent_id=agent(tools={"*": "allow"}))
    scripted(call("read_file", path="x"), say("No."))
    tell(c, "read")
    assert "There is no agent" in Message.objects.filter(conversation=c, kind="error").last().text
    with pytest.raises(NotFound):
        permissions.of_conversation(c)


def test_an_agent_that_went_to_someone_else_works_no_more_for_whom_it_left():
    admin("bob")
    c = conversation(tools={"*": "allow"}, plan={"enabled": False})
    ownership.set_owner(person("bob"), c.agent_id)
    scripted(call("shell", command="id"), say("No."))
    tell(c, "who am I")
    assert not [made for made in calls_of(c) if made.state == "done"]


def test_a_callee_brings_its_callers_person_no_shell():
    callee = agent(id="worker", tools={"*": "allow"}, plan={"enabled": False})
    c = conversation(tools={"run_agent:worker": "allow", "*": "allow"}, plan={"enabled": False})
    scripted(
        call("run_agent", agent=callee, task="id"), call("shell", command="id"), say("a"), say("b")
    )
    tell(c, "go")
    child = Conversation.objects.get(parent_call__isnull=False)
    assert [made.state for made in calls_of(child)] == ["refused"]


def test_a_chain_in_an_agents_own_file_is_never_run():
    own_call = {"id": "own", "handler": "tools", "tools": {"name": "list_files", "args": {}}}
    chain = {"id": "mine", "tasks": [own_call]}
    values = {"tools": {"*": "allow"}, "plan": {"enabled": False}}
    c = conversation(**values, chain_document=chain, options={"chain": chain})
    scripted(say("An answer."))
    tell(c, "hello")
    assert calls_of(c) == []
    assert "options" not in c.turns.get().config


def test_a_folder_in_an_agents_own_file_is_not_where_commands_were_called(monkeypatch, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    c = conversation(in_folder=True, plan={"enabled": False}, options={"in_folder": True})
    scripted(call("write_file", path="x", content="x"), say("Done."))
    tell(c, "write")
    assert list(elsewhere.rglob("*")) == []


def test_each_turns_tools_work_in_the_folder_of_that_turn(tmp_path_factory):
    """So subtasks could run side by side, each in a folder of its own."""
    admin()
    c = conversation()
    toolsets = {}
    for name in ("one", "two"):
        folder = tmp_path_factory.mktemp(name)
        config = {"workspace": str(folder), "tools": {"*": "allow"}, "options": {"in_folder": True}}
        turn = Turn.objects.create(
            conversation=c, kind="chat", config=read_agent(c.agent_id).file.settings() | config
        )
        toolsets[folder] = available_tools(turn, ["*"]).tools

    async def work():
        """All files before all commands: nothing is left over from the other turn's calls."""
        for folder, tools in toolsets.items():
            await tools["write_file"].run({"path": "mine.txt", "content": folder.name})
        commands = [tools["shell"].run({"command": "pwd"}) for tools in toolsets.values()]
        return [result.text for result in await asyncio.gather(*commands)]

    assert asyncio.run(work()) == [str(folder) for folder in toolsets]
    for folder in toolsets:
        assert [file.read_text() for file in folder.iterdir()] == [folder.name]


SERVER = {"workspace": "/", "fetch_hosts": ["*"]}


@pytest.mark.parametrize("key", SERVER)
def test_only_an_admin_writes_into_a_file_what_reaches_the_server(key):
    c = conversation()
    for wanted in (SERVER[key], str(Path.home()), ["127.0.0.1"]):
        with pytest.raises((Forbidden, Invalid)) as refused:
            change_agent(c.agent_id, {key: wanted})
        if type(wanted) is type(SERVER[key]):
            assert str(refused.value).startswith(f"{key}: only an admin's agent")
    assert change_agent(c.agent_id, {"description": "still to be changed"}).problem is None


def test_nobody_makes_an_agent_that_reaches_the_server_before_it_is_theirs(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("elsewhere"))
    client = Client()
    client.force_login(person("bob"))
    body = {"id": "new", "workspace": folder}
    made = client.post("/api/agents", json.dumps(body), content_type="application/json")
    assert made.status_code == 403
    assert not ownership.owner_of("new")
    admin("bob")
    made = client.post("/api/agents", json.dumps(body), content_type="application/json")
    assert made.status_code == 201


SAME = [
    ({"a": 1, "b": [1, {"c": None}]}, {"b": [1, {"c": None}], "a": 1}),
    ("x", "x"),
    (1.0, 1.0),
]
DIFFERENT = [
    (1, True),
    (0, False),
    (1, 1.0),
    ("1", 1),
    (None, False),
    ([1], [True]),
    ({"a": {"b": [0]}}, {"a": {"b": [False]}}),
    ({"a": 1}, {"a": 1, "b": None}),
    ([1, 2], [1]),
    ([1, 2], [2, 1]),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_values_are_the_same_whatever_the_order_of_their_keys(one, other):
    assert same_json(one, other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_values_of_other_types_are_other_values(one, other):
    assert not same_json(one, other)
    assert not same_json(other, one)


@pytest.mark.parametrize(("allowed", "called"), [(1, True), (True, 1), (1, 1.0), ([0], [False])])
def test_a_call_allowed_for_always_is_no_other_call(allowed, called):
    always = [{"tool": "read_file", "arguments": {"path": "a", "from_line": allowed}}]
    c = conversation(tools={"read_file": "ask"}, always_allow=always, plan={"enabled": False})
    scripted(call("read_file", path="a", from_line=called), say("."))
    tell(c, "read")
    assert calls_of(c)[0].state == "asked"


# Who adds a tool finds here what is still missing.

OF_FILES = file_tools(Path())
INTERFACE = (Path(__file__).parents[2] / "docs" / "interface.md").read_text()


def test_the_tools_of_files_are_those_that_are_named():
    assert sorted(tool.name for tool in OF_FILES) == sorted(ALL_FILE_TOOLS)


@pytest.mark.parametrize("name", [*ALL_FILE_TOOLS, "shell", "fetch_url"])
def test_each_built_in_tool_is_reserved_described_and_documented(name):
    assert name in TAKEN, "no service may take its name"
    assert name in DESCRIPTIONS, "Settings say what it does"
    assert f"`{name}`" in INTERFACE, "docs/interface.md"


@pytest.mark.parametrize("tool", OF_FILES, ids=lambda tool: tool.name)
def test_what_a_new_agent_may_do_with_each_tool_of_files_is_decided(tool):
    sample = json.loads((SAMPLE / "agent.json").read_text())["tools"]
    assert sample.get(tool.name) == "allow", "the sample works on its own copy"
    assert DEFAULT_GRANTS.get(tool.name) == ("allow" if tool.read_only else "ask")
    assert tool.read_only or tool.name in RISKY, "its card warns where it acts unasked"
