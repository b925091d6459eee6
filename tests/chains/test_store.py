"""Chains edited by hand: a bad file is said in one sentence where it is used, and hides no other."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command

from agents.errors import Invalid
from agents.models import Turn
from plans import actions
from tests.chains.chains import chatting, task, written
from tests.fake_model import say
from tests.inner import findings, lint, list_chains, load_chain, save_chain, set_owner
from tests.world import (
    agent,
    conversation,
    drive,
    person,
    plan_of,
    proposed,
    scripted,
    shown,
    tell,
    texts,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

GOOD = task("ask", "chat_completion", "end")
ON_CALL = ("equals", "tool-call", "run")


def text(*tasks, **more):
    return json.dumps({"id": "bad", "tasks": list(tasks), **more})


# What may be in a file, and the beginning of what is said of it behind its name.
BAD = {
    "no JSON": ("{", "$: This is not JSON"),
    "no chain": ("[]", "$: Input should be"),
    "no task": (text(), "tasks: List should have at least 1 item"),
    "a way to nowhere": (
        text(task("ask", "chat_completion", "gone")),
        "tasks[0].transition.branches[0].goto: There is no task gone",
    ),
    "no way back from a failure": (
        text({**GOOD, "transition": {"on_failure": "gone"}}),
        "tasks[0].transition.on_failure: There is no task gone",
    ),
    "two of a name": (text(GOOD, GOOD), "tasks[1].id: Another task is called ask already"),
    "calls of nobody": (
        text(task("run", "execute_tool_calls", "end")),
        "tasks[0].input_var: It has to name the task whose calls are run",
    ),
    "a number that is none": (
        text(task("ask", "noop", ("edge_traversed_at_least", "many", "end"))),
        "tasks[0].transition.branches[0].when: It has to be a whole number",
    ),
    "a macro that is none": (
        text({**GOOD, "system_instruction": "It is {{weather}}."}),
        "tasks[0].system_instruction: There is no macro {{weather}}",
    ),
    "a misspelt tool that is to be hidden": (
        text({**GOOD, "execute_config": {"hide_tools": ["shel"]}}),
        "tasks[0].execute_config.hide_tools[0]: There is no tool or tool source shel",
    ),
    "a provider that is none": (
        text({**GOOD, "execute_config": {"provider": "opnai"}}),
        "tasks[0].execute_config.provider: There is no provider opnai",
    ),
    "another name than its file's": (text(GOOD, id="other"), "id: The chain's own id has to be"),
}


def put_by_hand(content, name="bad.json"):
    folder = Path(settings.PLANSIDE_HOME) / "chains"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_chain_is_said_in_the_chat_that_uses_it(name):
    content, told = BAD[name]
    put_by_hand(content)
    c = conversation(chains={"chat": "bad"})
    model = scripted(say("never"))
    tell(c, "hi")
    error = Turn.objects.get(conversation=c).error
    assert error.startswith(f"The chain bad cannot be used: {told}")
    assert texts(c, "error", "system") == [error]
    assert not model.requests


@pytest.mark.parametrize("name", BAD)
def test_saving_loading_and_checking_judge_alike(name):
    content, told = BAD[name]
    with pytest.raises(Invalid) as saving:
        save_chain("bad", content)
    put_by_hand(content)
    with pytest.raises(Invalid) as loading:
        load_chain("bad")
    faults = [fault for fault in lint(content, "bad") if fault.level == "error"]
    assert str(faults[0]).startswith(f"error: {told}")
    assert str(saving.value).startswith(str(faults[0]))
    assert told in str(loading.value)


@pytest.mark.parametrize("id", [each.stem for each in Path("agents/chains/shipped").glob("*")])
def test_what_is_shipped_is_saved_and_loaded_without_an_error(id):
    shipped = Path(f"agents/chains/shipped/{id}.json").read_text()
    assert all(fault.level == "warning" for fault in save_chain(id, shipped))
    assert load_chain(id).id == id


def test_a_run_whose_executor_is_bad_fails_once_and_says_why():
    put_by_hand(BAD["a way to nowhere"][0])
    c = proposed("Read", chains={"executor": "bad"}, plan={"enabled": True, "max_attempts": 3})
    scripted(say("never"))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    subtask = shown(c)["subtasks"][0]
    assert (plan_of(c).run, subtask["attempts"]) == ("idle", 1)
    assert subtask["error"].startswith("The chain bad cannot be used: tasks[0]")


@pytest.fixture
def with_bad_files(tmp_path):
    """Beside a good chain: faults, a folder, what is no UTF-8, a name that is none."""
    put_by_hand(BAD["a way to nowhere"][0])
    put_by_hand(text(GOOD, id="good"), "good.json")
    put_by_hand(text(GOOD), "bad name.json")
    folder = Path(settings.PLANSIDE_HOME) / "chains"
    (folder / "folder.json").mkdir()
    (folder / "bytes.json").write_bytes(b"\xff\xfe{}")
    return folder


WRONG = {"bad", "bad name", "folder", "bytes"}


def test_a_bad_file_does_not_empty_the_list(with_bad_files, client):
    client.force_login(User.objects.create_user("alice"))
    answer = client.get("/api/chains").json()
    listed = {item["id"]: item["error"] for item in answer["items"]}
    assert set(listed) >= {"good", "default-chain", *WRONG}
    assert {id for id, error in listed.items() if error} == WRONG
    assert {each.id for each in list_chains() if each.error} == WRONG
    assert client.get("/api/chains/bad").status_code == 422
    out = StringIO()
    call_command("chain", "list", stdout=out)
    assert "bad  The chain bad cannot be used: tasks[0]" in out.getvalue()
    assert "good\n" in out.getvalue()


def test_doctor_and_settings_name_a_bad_chain(with_bad_files, client):
    id = agent(id="thinker", chains={"chat": "bad", "planner": "gone"})
    set_owner(person(), id)
    told = {finding.about: finding.sentence for finding in findings()}
    assert told["Chain bad"].startswith("The chain bad cannot be used: tasks[0]")
    assert "Chain good" not in told
    assert told["Agent thinker"] == "there is no chain gone."
    client.force_login(person())
    page = client.get("/settings/agents/?agent=thinker").content.decode()
    assert "The chain bad cannot be used: tasks[0]" in page
    assert "There is no chain &#x27;gone&#x27;." in page


def test_a_chain_that_changes_under_a_turn_is_one_sentence():
    c = chatting(task("old", "noop", "ask"), task("ask", "chat_completion", "end"))
    scripted()
    tell(c, "hi")
    written(task("ask", "chat_completion", "end"))
    checkpoint = {"task": "old", "steps": 1}
    turn = Turn.objects.get(conversation=c)
    Turn.objects.filter(pk=turn.pk).update(state="queued", checkpoint=checkpoint, finished_at=None)
    drive()
    turn.refresh_from_db()
    assert turn.error == "The chain mine has no task old any more."


def test_a_chain_is_deleted_unless_an_agent_needs_it(client):
    client.force_login(User.objects.create_superuser("root"))
    client.handler.enforce_csrf_checks = False
    written(GOOD, id="own")
    agent(id="thinker", chains={"planner": "own"})
    used = client.delete("/api/chains/own")
    assert used.status_code == 409
    assert "thinker: planner" in used.json()["detail"]
    agent(id="thinker")
    assert client.delete("/api/chains/own").status_code == 204
    assert client.get("/api/chains/own").status_code == 404
    assert client.delete("/api/chains/own").status_code == 404
    assert client.delete("/api/chains/..%2Fagent").status_code == 404


def test_deleting_a_shipped_chain_brings_the_shipped_one_back(client):
    client.force_login(User.objects.create_superuser("root"))
    client.handler.enforce_csrf_checks = False
    agent(id="thinker")
    written(GOOD, id="default-chain")
    assert client.delete("/api/chains/default-chain").status_code == 204
    assert [each.id for each in load_chain("default-chain").tasks] == ["ask_model", "run_tools"]
    client.force_login(User.objects.create_user("alice"))
    assert client.delete("/api/chains/default-chain").status_code == 403
