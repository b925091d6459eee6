"""Whatever is done with an agent's files may be cut off at any moment: nothing is lost, half written
or left behind."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

SHARED = Path("/dev/shm")


@pytest.mark.parametrize("disk", ["the same disk", "another disk"])
def test_a_kill_at_any_line_loses_no_file_and_leaves_nothing_behind(tmp_path, disk):
    command = [sys.executable, "-m", "tests.nightly.faults.killed_verbs", str(tmp_path)]
    is_elsewhere = SHARED.is_dir() and SHARED.stat().st_dev != tmp_path.stat().st_dev
    if disk == "another disk" and not is_elsewhere:
        pytest.skip("there is no other disk here")
    with TemporaryDirectory(dir=SHARED if is_elsewhere else None) as elsewhere:
        command += [elsewhere] if disk == "another disk" else []
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "console.settings"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    found = json.loads(done.stdout)
    assert found["faults"] == []
    assert len(found["kills"]) == 10 and min(found["kills"].values()) > 50
