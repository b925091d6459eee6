"""`manage.py plan` in a shell script: exit codes for `if`, JSON for jq, sentences for grep."""

import shutil
import subprocess
import sys

import pytest

from tests.console.serving import ROOT, surroundings

GOAL = "Tidy up the project README and API docs: fill in missing sections and fix broken links"
SCRIPT = """
set -euo pipefail
plan() { "$PYTHON" "$MANAGE" plan "$@"; }
is() { jq --exit-status --compact-output "$1" > /dev/null || { echo "not so: $1"; exit 9; }; }

id=$(plan new "$GOAL" --json | jq .id)
plan show --json | is '.version == 1 and .approved_version == null'
plan approve "$id" --version 1 --json | is '.approved_version == 1'
plan run "$id" --version 1 --next --json | is '[.subtasks[].state] | index("done") == 0 and .[1] == "todo"'

# The rest anew: what is done stays, what is new has a new key, and all waits for a new yes.
plan replan "$id" --from s3 --hint "Add a subtask to check the spelling" --json > new.json
is '.version == 2 and .approved_version == 1' < new.json
is '[.subtasks[:2][].key] == ["s1", "s2"] and .subtasks[0].state == "done"' < new.json
is '[.subtasks[].key] | index("s6")' < new.json
if plan run "$id" --version 2 2> said; then exit 8; fi
grep --quiet "start v2 first" said

last=$(jq --raw-output '.subtasks[-1].key' new.json)
plan skip "$last" "$id" --reason "by hand" --json | is '.subtasks[-1].reason == "skipped: by hand"'
plan approve "$id" --version 2 --json | is '.approved_version == 2'
plan run "$id" --version 2 --auto --json | is '.state == "done" and .progress.done >= 2'
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
