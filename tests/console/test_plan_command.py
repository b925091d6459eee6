"""`manage.py plan` and `manage.py chain`, as a shell script uses them: no server, no browser."""

import json
import shutil
import subprocess
import sys
from io import StringIO

import pytest
from django.core.management import call_command

from plans import actions
from plans.schemas import PlanDraft
from tests.console.serving import ROOT, manage, surroundings
from tests.fake_model import FakeModelServer, call, rule, say
from tests.inner import local_owner
from tests.world import conversation

GOAL = "Tidy up the project README and API docs: fill in missing sections and fix broken links"


def test_a_plan_is_made_approved_and_run_by_commands_alone(tmp_path):
    home = tmp_path / "home"
    code, out, _ = manage(home, "plan", "new", GOAL, "--json")
    plan = json.loads(out)
    assert (code, plan["state"], plan["approved_version"]) == (0, "todo", None)

    code, _, err = manage(home, "plan", "run")
    assert (code, err.strip()) == (1, "Nothing runs without your yes: start v1 first.")

    assert manage(home, "plan", "approve", "--version", "2")[0] == 1
    assert manage(home, "plan", "approve")[0] == 0
    code, out, _ = manage(home, "plan", "next", "--json")
    assert (code, [s["state"] for s in json.loads(out)["subtasks"]].count("done")) == (0, 1)

    code, out, _ = manage(home, "plan", "run", "--auto", "--json")
    plan = json.loads(out)
    assert (code, plan["state"]) == (0, "done")
    code, out, _ = manage(home, "plan", "export")
    assert "[x]" in out
    readme = home / "workspaces" / "docs-writer" / "files" / "README.md"
    assert "TODO" not in readme.read_text()


SCRIPT = """
set -euo pipefail
plan() { "$PYTHON" "$MANAGE" plan "$@"; }
is() { jq --exit-status --compact-output "$1" > /dev/null || { echo "not so: $1"; exit 9; }; }

id=$(plan new "$GOAL" --json | jq .id)
plan show --json | is '.version == 1 and .approved_version == null'
plan approve "$id" --version 1 --json | is '.approved_version == 1'
plan run "$id" --next --json | is '[.subtasks[].state] | index("done") == 0 and .[1] == "todo"'

# The rest anew: what is done stays, what is new has a new key, and all waits for a new yes.
plan replan "$id" --from s3 --hint "Add a subtask to check the spelling" --json > new.json
is '.version == 2 and .approved_version == 1' < new.json
is '[.subtasks[:2][].key] == ["s1", "s2"] and .subtasks[0].state == "done"' < new.json
is '[.subtasks[].key] | index("s6")' < new.json
if plan run "$id" 2> said; then exit 8; fi
grep --quiet "start v2 first" said

last=$(jq --raw-output '.subtasks[-1].key' new.json)
plan skip "$last" "$id" --reason "by hand" --json | is '.subtasks[-1].reason == "skipped: by hand"'
plan approve "$id" --json | is '.approved_version == 2'
plan run "$id" --auto --json | is '.state == "done" and .progress.done >= 2'
if plan replan "$id" 2> said; then exit 8; fi

other=$(plan new "$GOAL" --json | jq .id)
plan cancel "$other" --json | is '.state == "abandoned"'
plan activate "$other" --json | is ".id == $other"
plan delete "$other" --json | is ".deleted == $other"
if plan show "$other" 2> said; then exit 8; fi
grep --quiet "There is no plan $other" said
plan list --json | is "[.[].id] == [$id]"
"""


def test_a_shell_script_steers_a_plan_from_its_goal_to_its_end(tmp_path):
    if shutil.which("jq") is None or shutil.which("bash") is None:
        pytest.skip("the script reads --json with jq: install jq")
    surroundings_of_script = surroundings(tmp_path / "home") | {
        "PLANSIDE_DEMO_PACE": "0",
        "PYTHON": sys.executable,
        "MANAGE": str(ROOT / "manage.py"),
        "GOAL": GOAL,
    }
    done = subprocess.run(
        ["bash", "-c", SCRIPT],
        cwd=tmp_path,
        env=surroundings_of_script,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def model():
    rules = [
        rule(call("create_plan", title="T", subtasks=["One"]), only="create_plan", results=0),
        rule(call("fail_subtask", error="It is locked."), offered="fail_subtask"),
        rule(call("shell", command="cat seen.txt"), offered="shell", results=0),
        rule(say("The answer."), role="tool"),
        rule(say("Hello from the model.")),
    ]
    with FakeModelServer({"rules": rules}) as server:
        yield {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "PLANSIDE_MODEL": "openai/m"}


def test_a_failed_run_is_exit_code_1_and_one_sentence(tmp_path, model):
    home = tmp_path / "home"
    manage(home, "plan", "new", "do one thing", **model)
    manage(home, "plan", "approve", **model)
    code, out, err = manage(home, "plan", "run", **model)
    assert code == 1
    assert "It is locked." in out
    assert err.strip() == "The run has failed: see the subtask marked with its error."
    assert manage(home, "plan", "skip", "s1", "--reason", "later", **model)[0] == 0


CHAIN = {
    "id": "looking",
    "tasks": [
        {
            "id": "ask",
            "handler": "chat_completion",
            "execute_config": {"tools": ["local_shell"]},
            "transition": {
                "branches": [
                    {"operator": "equals", "when": "tool-call", "goto": "run"},
                    {"operator": "default", "goto": "end"},
                ]
            },
        },
        {
            "id": "run",
            "handler": "execute_tool_calls",
            "input_var": "ask",
            "transition": {"branches": [{"operator": "default", "goto": "ask"}]},
        },
    ],
}


def test_a_chain_runs_in_the_current_folder_with_the_shell_only_when_it_is_allowed(tmp_path, model):
    home, here = tmp_path / "home", tmp_path / "here"
    here.mkdir()
    (here / "seen.txt").write_text("what stands here")
    (here / "looking.json").write_text(json.dumps(CHAIN))
    run = ("chain", "run", "--chain", "looking.json", "what is there?")

    code, out, _ = manage(home, *run, cwd=here, **model)
    assert (code, out.strip()) == (0, "Hello from the model.")

    code, out, _ = manage(home, *run, "--allow", "shell", cwd=here, **model)
    assert (code, out.strip()) == (0, "The answer.")


def test_chain_check_names_the_faults_and_says_so_by_its_exit_code(tmp_path):
    home = tmp_path / "home"
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(CHAIN))
    bad.write_text(json.dumps(CHAIN).replace('"goto": "run"', '"goto": "nowhere"'))
    assert manage(home, "chain", "check", str(good))[:2] == (0, f"{good} is in order.\n")
    code, out, err = manage(home, "chain", "check", str(bad))
    assert code == 1
    assert "tasks[0].transition.branches[0].goto: There is no task nowhere." in out
    assert err.strip() == f"{bad} has 1 error."
    assert manage(home, "chain", "run", "--chain", str(bad), "hi")[0] == 1
    assert manage(home, "chain", "run", "--chain", "missing.json", "hi")[0] == 1


def test_an_agents_chat_chain_is_chosen_by_a_command(tmp_path):
    home = tmp_path / "home"
    assert manage(home, "chain", "default", "docs-writer", "executor")[0] == 0
    out = json.loads(manage(home, "chain", "list", "--json")[1])
    used = {row["id"]: row["agents"] for row in out}
    assert used["executor"] == ["docs-writer: chat", "docs-writer: executor"]
    assert manage(home, "chain", "default", "docs-writer", "nothing")[0] == 1


def listed(*flags):
    out = StringIO()
    call_command("plan", "list", *flags, stdout=out)
    return out.getvalue()


def planned(c, title, *names):
    draft = PlanDraft(title=title, subtasks=list(names))
    return actions.create_plan(c, draft, c.owner.username)


@pytest.mark.django_db(transaction=True)
def test_the_list_says_how_far_each_plan_is_and_which_is_active():
    c = conversation(owner=local_owner().username)
    old = planned(c, "Old", "a", "b")
    actions.cancel_plan(old, c.owner.username)
    new = planned(c, "New", "a", "b", "c")
    actions.skip_subtask(new, "s1", c.owner.username, "")
    lines = [" ".join(line.split()) for line in listed().splitlines()]
    assert lines == [
        f"{new.pk} Waiting for you to start it 1/3 * New",
        f"{old.pk} Cancelled 0/2 Old",
    ]
    told = {plan["id"]: plan["active"] for plan in json.loads(listed("--json"))}
    assert told == {new.pk: True, old.pk: False}
