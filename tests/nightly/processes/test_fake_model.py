"""The scripted model as a command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx

from tests.fake_model import say
from tests.test_fake_model import asking


def test_the_command_prints_its_url_and_plays_a_file(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([say("from a file")]))
    command = [sys.executable, "-m", "tests.fake_model", "--script", str(script)]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as server:
        assert server.stdout
        url = server.stdout.readline().strip()
        assert "from a file" in httpx.post(f"{url}/chat/completions", json=asking("x")).text
        server.terminate()
