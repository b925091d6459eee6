"""`manage.py plan` and `manage.py chain`, as a shell script uses them: no server, no browser."""

import json

import pytest

from plans import actions
from plans.models import Plan
from plans.schemas import PlanDraft
from tests.fake_model import call, rule, say
from tests.inner import local_owner
from tests.world import conversation, scripted

GOAL = "Tidy up the project README and API docs: fill in missing sections and fix broken links"


@pytest.fixture
def plan(cli):
    """Runs a command about plans that has to work, and gives its JSON."""

    def run(*words):
        code, out, err = cli("plan", *words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return run


def states(plan):
    return [subtask["state"] for subtask in plan["subtasks"]]


def test_commands_alone_steer_a_plan_from_its_goal_to_its_end(cli, plan):
    """As the shell script in tests/nightly/processes does it."""
    id = plan("new", GOAL)["id"]
    shown = plan("show")
    assert (shown["version"], shown["approved_version"]) == (1, None)
    assert plan("approve", id, "--version", "1")["approved_version"] == 1
    ran = states(plan("run", id, "--version", "1", "--next"))
    assert ran.index("done") == 0 and ran[1] == "todo"

    # The rest anew: what is done stays, what is new has a new key, and all waits for a new yes.
    hint = "Add a subtask to check the spelling"
    new = plan("replan", id, "--from", "s3", "--hint", hint)
    assert (new["version"], new["approved_version"]) == (2, 1)
    keys = [subtask["key"] for subtask in new["subtasks"]]
    assert keys[:2] == ["s1", "s2"] and states(new)[0] == "done"
    assert "s6" in keys
    code, _, err = cli("plan", "run", id, "--version", "2")
    assert code == 1 and "start v2 first" in err

    skipped = plan("skip", keys[-1], id, "--reason", "by hand")
    assert skipped["subtasks"][-1]["reason"] == "skipped: by hand"
    assert plan("approve", id, "--version", "2")["approved_version"] == 2
    ended = plan("run", id, "--version", "2", "--auto")
    assert ended["state"] == "done" and ended["progress"]["done"] >= 2
    assert cli("plan", "replan", id).code == 1

    other = plan("new", GOAL)["id"]
    assert plan("cancel", other)["state"] == "abandoned"
    assert plan("activate", other)["id"] == other
    assert plan("delete", other) == {"deleted": other}
    code, _, err = cli("plan", "show", other)
    assert code == 1 and f"There is no plan {other}" in err
    assert [each["id"] for each in plan("list")] == [id]


RULES = [
    rule(call("create_plan", title="T", subtasks=["One"]), only="create_plan", results=0),
    rule(call("fail_subtask", error="It is locked."), offered="fail_subtask"),
    rule(call("shell", command="cat seen.txt"), offered="shell", results=0),
    rule(say("The answer."), role="tool"),
    rule(say("Hello from the model.")),
]


def test_a_failed_run_is_exit_code_1_and_one_sentence(cli, model):
    model(rules=RULES)
    cli("plan", "new", "do one thing")
    cli("plan", "approve", "--version", "1")
    code, out, err = cli("plan", "run", "--version", "1")
    assert code == 1
    assert "It is locked." in out
    assert err.strip() == "The run has failed: see the subtask marked with its error."
    assert cli("plan", "skip", "s1", "--reason", "later").code == 0


@pytest.mark.parametrize("verb", [["approve"], ["run"], ["next"], ["retry", "s1"]])
@pytest.mark.parametrize("json", [[], ["--json"]])
def test_nothing_starts_that_nobody_was_shown(cli, model, verb, json):
    model(rules=RULES)
    cli("plan", "new", "do one thing")
    if verb != ["approve"]:
        cli("plan", "approve", "--version", "1")
    before = Plan.objects.values().get()
    code, _, err = cli("plan", *verb, *json)
    assert (code, Plan.objects.values().get()) == (1, before)
    assert "name the version of plan" in err and "--version 1. Nothing was started." in err
    assert cli("plan", *verb, *json, "--version", "2").code == 1
    assert Plan.objects.values().get() == before


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


def test_a_chain_runs_in_the_current_folder_with_the_shell_only_when_it_is_allowed(
    cli, model, tmp_path
):
    model(rules=RULES)
    here = tmp_path / "here"
    here.mkdir()
    (here / "seen.txt").write_text("what stands here")
    (here / "looking.json").write_text(json.dumps(CHAIN))
    run = ("chain", "run", "--chain", "looking.json", "what is there?")

    code, out, _ = cli(*run, cwd=here)
    assert (code, out.strip()) == (0, "Hello from the model.")

    code, out, _ = cli(*run, "--allow", "shell", cwd=here)
    assert (code, out.strip()) == (0, "The answer.")


def test_chain_check_names_the_faults_and_says_so_by_its_exit_code(cli, tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(CHAIN))
    bad.write_text(json.dumps(CHAIN).replace('"goto": "run"', '"goto": "nowhere"'))
    assert cli("chain", "check", good)[1].startswith(f"{good} is in order.\n")
    code, out, err = cli("chain", "check", bad)
    assert code == 1
    assert "tasks[0].transition.branches[0].goto: There is no task nowhere." in out
    assert err.strip() == f"{bad} has 1 error."
    assert cli("chain", "run", "--chain", bad, "hi").code == 1
    assert cli("chain", "run", "--chain", "missing.json", "hi").code == 1


def test_chain_check_prints_what_each_task_will_be_offered(cli, tmp_path):
    def offers(tools):
        ask = {**CHAIN["tasks"][0], "execute_config": {"tools": tools}}
        says = {"id": "says", "handler": "chat_completion"}
        looks = {"id": "looks", "handler": "tools", "tools": {"name": "local_shell"}}
        path = tmp_path / "mine.json"
        path.write_text(json.dumps({"id": "mine", "tasks": [ask, CHAIN["tasks"][1], says, looks]}))
        lines = cli("chain", "check", path).out.splitlines()
        return [line for line in lines if not line.startswith("warning: ")]

    assert offers(["*", "!shell", "!create_plan", "!get_changes"]) == [
        "ask is offered",
        "  as chat, of a plan's tools: get_plan, revise_current_plan, add_subtask, finish_plan",
        "  as planner, of a plan's tools: get_plan, revise_current_plan, finish_plan",
        "  as executor, of a plan's tools: get_plan, report_progress, finish_subtask, fail_subtask, "
        "ask_user, add_subtask, update_subtask, delete_subtask, revise_current_plan, finish_plan",
        "  of the agent's own: all that it is granted, but never shell",
        "says is offered no tools: it leads to no task that runs calls.",
        "looks calls shell.",
    ]
    assert offers(["local_fs", "finish_subtask"])[:5] == [
        "ask is offered",
        "  as chat, of a plan's tools: none",
        "  as planner, of a plan's tools: none",
        "  as executor, of a plan's tools: finish_subtask",
        "  of the agent's own: local_fs",
    ]
    assert offers([])[4] == offers(["*", "!*"])[4] == "  of the agent's own: none"


def test_an_agents_chat_chain_is_chosen_by_a_command(cli):
    assert cli("chain", "default", "docs-writer", "executor").code == 0
    out = json.loads(cli("chain", "list", "--json").out)
    used = {row["id"]: row["agents"] for row in out}
    assert used["executor"] == ["docs-writer: chat", "docs-writer: executor"]
    assert cli("chain", "default", "docs-writer", "nothing").code == 1


def planned(c, title, *names):
    draft = PlanDraft(title=title, subtasks=list(names))
    return actions.create_plan(c, draft, c.owner.username)


def test_the_list_says_how_far_each_plan_is_and_which_is_active(cli):
    c = conversation(owner=local_owner().username)
    old = planned(c, "Old", "a", "b")
    actions.cancel_plan(old, c.owner.username)
    new = planned(c, "New", "a", "b", "c")
    actions.skip_subtask(new, "s1", c.owner.username, "")
    lines = [" ".join(line.split()) for line in cli("plan", "list").out.splitlines()]
    assert lines == [
        f"{new.pk} Waiting for you to start it 1/3 1 abandoned * New",
        f"{old.pk} Cancelled 2/2 2 abandoned Old",
    ]
    told = {plan["id"]: plan["active"] for plan in json.loads(cli("plan", "list", "--json").out)}
    assert told == {new.pk: True, old.pk: False}


def test_the_plan_that_was_activated_last_is_meant_without_an_id(cli):
    plans = [planned(conversation(owner=local_owner().username), name, "a") for name in "ABC"]
    code, _, err = cli("plan", "approve", "--version", "1")
    assert code == 1 and "3 plans are possible" in err and "`plan activate` it" in err
    assert cli("plan", "activate", str(plans[1].pk)).code == 0
    assert "> B" in cli("plan", "list").out
    assert "B  (v1, approved" in cli("plan", "approve", "--version", "1").out
    assert "A  (v1, approved" in cli("plan", "approve", str(plans[0].pk), "--version", "1").out
    assert "> B" in cli("plan", "list").out, "an ID means that one, this once"
    actions.cancel_plan(plans[1], plans[1].conversation.owner.username)
    code, _, err = cli("plan", "show")
    assert code == 1 and "2 plans are possible" in err and "B" not in err


def test_a_document_is_shown_and_taken_out_of_force_by_a_command(cli, plan):
    c = conversation(local_owner().username)
    actions.create_plan(c, PlanDraft(title="House style", content="Say job."), "agent")
    id = plan("show")["id"]
    assert plan("approve", id, "--version", "1")["in_force"]
    assert "In force" in cli("plan", "list").out and "Say job." in cli("plan", "show", id).out
    code, _, err = cli("plan", "take-out-of-force", id)
    assert code == 1 and "name the version" in err and "Nothing was changed." in err
    code, _, err = cli("plan", "take-out-of-force", id, "--version", "2")
    assert code == 1 and "The plan is now v1; you saw v2" in err
    assert not plan("take-out-of-force", id, "--version", "1")["in_force"]


def test_a_run_is_paused_and_goes_on_from_the_command_line(cli):
    c = conversation(owner=local_owner().username)
    plan = planned(c, "A", "a", "b")
    owner = c.owner.username
    actions.approve_plan(plan, 1, owner, run="all")
    assert "Paused" in cli("plan", "pause").out
    plan.refresh_from_db()
    assert (plan.run, plan.paused_by) == ("paused", owner)
    code, _, err = cli("plan", "resume", "--json")
    assert code == 1 and "name the version of plan" in err
    assert cli("plan", "resume", "--version", "2").code == 1
    scripted(*[call("finish_subtask", outcome="done") for _ in "ab"], say("All done."))
    assert "Finished" in cli("plan", "resume", "--version", "1").out
    code, _, err = cli("plan", "pause", str(plan.pk))
    assert code == 1 and "This plan is finished." in err
