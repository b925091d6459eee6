"""Turns in a process of their own."""

import signal
import subprocess
import sys

from tests.console.serving import ROOT, Script, Started, surroundings
from tests.fake_model import FakeModelServer, say


def test_a_worker_beside_a_server_answers_and_leaves_when_told(tmp_path):
    home = tmp_path / "home"
    with FakeModelServer([say("From the worker.")]) as model:
        settings = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "k",
            "PLANSIDE_MODEL": "openai/m",
            "PLANSIDE_WORKERS": "external",
        }
        server = Started(home, **settings)
        alice = Script(home)
        messages = alice.talk(server, "hello")
        worker = subprocess.Popen(
            [sys.executable, "manage.py", "worker"],
            cwd=ROOT,
            env=surroundings(home) | settings,
            stderr=subprocess.PIPE,
            text=True,
        )
        found = alice.wait_until(
            server,
            messages,
            lambda found: any(m["text"] == "From the worker." for m in found["items"]),
        )
        worker.send_signal(signal.SIGTERM)
        _, complaints = worker.communicate(timeout=60)
        server.end()
    assert len(found["items"]) == 2
    assert (worker.returncode, complaints) == (0, "")
