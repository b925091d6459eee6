"""`manage.py plan` and `manage.py chain`, as a shell script uses them: no server, no browser."""

import json

from tests.console.test_plan_command import GOAL


def test_a_plan_is_made_approved_and_run_by_commands_alone(cli, home):
    code, out, _ = cli("plan", "new", GOAL, "--json")
    plan = json.loads(out)
    assert (code, plan["state"], plan["approved_version"]) == (0, "todo", None)

    code, _, err = cli("plan", "run", "--version", "1")
    assert (code, err.strip()) == (1, "Nothing runs without your yes: start v1 first.")

    assert cli("plan", "approve", "--version", "2").code == 1
    assert cli("plan", "approve", "--version", "1").code == 0
    code, out, _ = cli("plan", "next", "--version", "1", "--json")
    assert (code, [s["state"] for s in json.loads(out)["subtasks"]].count("done")) == (0, 1)

    code, out, _ = cli("plan", "run", "--version", "1", "--auto", "--json")
    plan = json.loads(out)
    assert (code, plan["state"]) == (0, "done")
    assert "[x]" in cli("plan", "export").out
    readme = home / "workspaces" / "docs-writer" / "files" / "README.md"
    assert "TODO" not in readme.read_text()
