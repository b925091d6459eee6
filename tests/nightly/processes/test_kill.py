"""kill -9 on the real server in the middle of a subtask, and what the next start makes of it."""

import os
import signal

import pytest

from tests.console.serving import Script, Started, is_done
from tests.fake_model import FakeModelServer, call, rule, say, silent

NAMES = ["Read", "Write", "Check"]


def script():
    """Each subtask writes one file and finishes; the second hangs once in mid-sentence."""
    rules = [
        rule(
            call("create_plan", title="Three files", subtasks=[{"name": n} for n in NAMES]),
            only="create_plan",
            results=0,
        ),
        rule(
            say("Here is the plan."), offered="revise_current_plan", results=1, user="three files"
        ),
        rule(silent("Half a sentence that nobody will fi"), times=1, user="is s2", results=1),
        rule(call("finish_plan", state="done", outcome="Three files."), only="finish_plan"),
    ]
    for key in ("s1", "s2", "s3"):
        rules += [
            rule(call("write_file", path=f"{key}.txt", content=key), user=f"is {key}", results=0),
            rule(call("finish_subtask", outcome=f"wrote {key}"), user=f"is {key}", results=1),
        ]
    return {"rules": rules}


@pytest.fixture
def model():
    with FakeModelServer(script()) as server:
        yield server


def test_a_killed_server_goes_on_at_the_step_it_had_reached(tmp_path, model):
    home = tmp_path / "home"
    environment = {
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": "k",
        "PLANSIDE_MODEL": "openai/scripted",
    }
    server = Started(home, **environment)
    alice = Script(home)
    c = alice.post(server, "/conversations", {"agent": "docs-writer"})["id"]
    alice.post(server, f"/conversations/{c}/messages", {"text": "/plan make three files"})
    plan = alice.wait_until(server, f"/conversations/{c}/plan", bool)
    alice.post(server, f"/plans/{plan['id']}/approve", {"version": 1})
    alice.wait_until(server, f"/conversations/{c}/messages", is_half_said)
    server.process.send_signal(signal.SIGKILL)
    server.process.communicate()

    server = Started(home, **environment)
    plan = alice.wait_until(server, f"/conversations/{c}/plan", is_done)
    said = alice.get(server, f"/conversations/{c}/messages")["items"]
    events = alice.get(server, f"/conversations/{c}/events?after=0")["items"]
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


def is_half_said(messages):
    return any("Half a sentence" in message["text"] for message in messages["items"])


def checked_script():
    """One subtask with three checks, which is claimed as soon as it begins."""
    checks = [
        {"kind": "command", "command": "echo x >> one"},
        # The first time it leaves its number and hangs.
        {"kind": "command", "command": "test -f pid || { echo $$ > pid; sleep 300; }"},
        {"kind": "command", "command": "echo x >> three"},
    ]
    subtasks = [{"name": "Write", "checks": checks}]
    rules = [
        rule(call("create_plan", title="One file", subtasks=subtasks), only="create_plan"),
        rule(call("finish_subtask", outcome="wrote it"), user="is s1"),
        rule(call("finish_plan", state="done", outcome="One file."), only="finish_plan"),
    ]
    return {"rules": rules}


def test_a_killed_server_repeats_only_the_check_without_a_result(tmp_path):
    home = tmp_path / "home"
    with FakeModelServer(checked_script()) as model:
        environment = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "k",
            "PLANSIDE_MODEL": "openai/scripted",
        }
        server = Started(home, **environment)
        alice = Script(home)
        alice.patch(server, "/agents/docs-writer", {"tools": {"shell": "allow"}})
        c = alice.post(server, "/conversations", {"agent": "docs-writer"})["id"]
        alice.post(server, f"/conversations/{c}/messages", {"text": "/plan make one file"})
        plan = alice.wait_until(server, f"/conversations/{c}/plan", bool)
        alice.post(server, f"/plans/{plan['id']}/approve", {"version": 1})
        files = home / "workspaces" / "docs-writer" / "files"
        alice.wait_until(server, f"/plans/{plan['id']}", lambda _: (files / "pid").exists())
        server.process.send_signal(signal.SIGKILL)
        server.process.communicate()
        hung = int((files / "pid").read_text())

        server = Started(home, **environment)
        plan = alice.wait_until(server, f"/conversations/{c}/plan", is_done)
        server.end()

    [subtask] = plan["subtasks"]
    assert (subtask["verified"], subtask["attempts"]) == (True, 1)
    assert [check["result"]["passed"] for check in subtask["checks"]] == [True, True, True]
    # Asked once, and twice more as they change files; not once more for the kill.
    assert [(files / name).read_text() for name in ("one", "three")] == ["x\n" * 3] * 2
    with pytest.raises(ProcessLookupError):
        os.kill(hung, 0)
