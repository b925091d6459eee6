"""The scripted model as a command."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

from tests.fake_model import FakeModelServer, say, silent
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


def test_a_server_ends_though_somebody_waits_for_an_answer_that_never_comes() -> None:
    model = FakeModelServer([silent()]).__enter__()
    with socket.create_connection(("127.0.0.1", model.port)) as waits:
        body = json.dumps(asking("x")).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        waits.sendall(head.encode() + body)
        while not model.requests:
            time.sleep(0.01)
        model.__exit__()
        assert not model.thread.is_alive()
