"""kill -9 on the real server in the middle of a subtask, and what the next start makes of it."""

import os
import signal
import subprocess
import sys
import time

import httpx
import pytest

from tests.console.test_serve import ROOT, Started
from tests.fake_model import FakeModelServer, call, rule, say, silent

NAMES = ["Read", "Write", "Check"]


def script():
    """Each subtask writes one file and finishes; the second hangs once in mid-sentence."""
    rules = [
        rule(call("create_plan", title="Three files", subtasks=[{"name": n} for n in NAMES]), only="create_plan", results=0),
        rule(say("Here is the plan."), offered="revise_current_plan", results=1, user="three files"),
        rule(silent("Half a sentence that nobody will fi"), times=1, user="is s2", results=1),
        rule(call("finish_plan", state="done", outcome="Three files."), only="finish_plan"),
    ]
    for key in ("s1", "s2", "s3"):
        rules += [
            rule(call("write_file", path=f"{key}.txt", content=key), user=f"is {key}", results=0),
            rule(call("finish_subtask", outcome=f"wrote {key}"), user=f"is {key}", results=1),
        ]
    return {"rules": rules}


class Client(httpx.Client):
    """The API as its owner, with a token from the command line."""

    def __init__(self, server, token):
        super().__init__(base_url=server.address, headers={"Authorization": f"Bearer {token}"})

    def read(self, path, **params):
        answer = self.get(f"/api{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def do(self, path, **body):
        answer = self.post(f"/api{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


def token_for(home):
    made = subprocess.run(
        [sys.executable, "manage.py", "token", "create", "test"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PLANSIDE_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.split()[-1]


def until(check, seconds=20):
    end = time.monotonic() + seconds
    while not (result := check()):
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.05)
    return result


@pytest.fixture
def model():
    with FakeModelServer(script()) as server:
        yield server


def test_a_killed_server_goes_on_at_the_step_it_had_reached(tmp_path, model):
    home = tmp_path / "home"
    environment = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "k", "PLANSIDE_MODEL": "openai/scripted"}
    server = Started(home, **environment)
    token = token_for(home)
    with Client(server, token) as client:
        c = client.do("/conversations", agent="docs-writer")["id"]
        client.do(f"/conversations/{c}/messages", text="/plan make three files")
        plan = until(lambda: client.read(f"/conversations/{c}/plan"))
        client.do(f"/plans/{plan['id']}/approve", version=1)
        until(lambda: any("Half a sentence" in m["text"] for m in messages(client, c)))
    server.process.send_signal(signal.SIGKILL)
    server.process.communicate()

    server = Started(home, **environment)
    with Client(server, token) as client:
        plan = until(lambda: finished(client.read(f"/conversations/{c}/plan")))
        said = messages(client, c)
        events = client.read(f"/conversations/{c}/events", after=0)["items"]
    _, code, _, _ = server.end()

    assert code == 0
    assert [s["outcome"] for s in plan["subtasks"]] == ["wrote s1", "wrote s2", "wrote s3"]
    assert [s["attempts"] for s in plan["subtasks"]] == [1, 1, 1]
    assert plan["outcome"] == "Three files."
    assert said[0]["text"] == "/plan make three files"
    assert not any("Half a sentence" in m["text"] for m in said)
    tools = [made["tool"] for m in said for made in m["tool_calls"]]
    assert tools.count("write_file") == 3, "nothing that was finished is done again"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), "no gap"
    files = home / "workspaces" / "docs-writer" / "files"
    assert [(files / f"{key}.txt").read_text() for key in ("s1", "s2", "s3")] == ["s1", "s2", "s3"]


def messages(client, c):
    return client.read(f"/conversations/{c}/messages")["items"]


def finished(plan):
    return plan if plan and plan["state"] == "done" else None
