"""The whole flow against an OpenAI-compatible server that is not ours (npm: aimock)."""

import json

import pytest

from tests.console.serving import Script, Started, free_port
from tests.peers import programs, serving

pytestmark = [pytest.mark.server("aimock"), pytest.mark.shows("the whole flow on a running server")]


def calls(*named, **match):
    made = [
        {
            "id": f"call_{match['userMessage'][:6].strip()}_{n}",
            "name": name,
            "arguments": json.dumps(arguments),
        }
        for n, (name, arguments) in enumerate(named)
    ]
    return {"match": match, "response": {"toolCalls": made}}


def says(text, **match):
    return {"match": match, "response": {"content": text}}


SUBTASKS = [{"name": "Write one"}, {"name": "Write two"}, {"name": "Write three"}]
FIXTURES = [
    calls(
        ("create_plan", {"title": "Files", "subtasks": SUBTASKS}),
        userMessage="make files",
        toolName="create_plan",
        hasToolResult=False,
    ),
    says("Here is the plan.", userMessage="make files", hasToolResult=True),
    calls(
        (
            "revise_current_plan",
            {"subtasks": [{"key": "s3", "remove": True}], "explanation": "as asked"},
        ),
        userMessage="drop the third",
        toolName="revise_current_plan",
        hasToolResult=False,
    ),
    says("Two steps now.", userMessage="drop the third", hasToolResult=True),
    calls(
        ("write_file", {"path": "one.txt", "content": "1"}),
        ("report_progress", {"text": "half"}),
        userMessage="is s1",
        hasToolResult=False,
    ),
    calls(
        ("finish_subtask", {"outcome": "wrote one.txt"}), userMessage="is s1", hasToolResult=True
    ),
    calls(
        ("write_file", {"path": "two.txt", "content": "2"}),
        userMessage="is s2",
        hasToolResult=False,
    ),
    calls(
        ("finish_subtask", {"outcome": "wrote two.txt"}), userMessage="is s2", hasToolResult=True
    ),
    calls(
        ("finish_plan", {"state": "done", "outcome": "Two files."}),
        userMessage="Every subtask",
        toolName="finish_plan",
    ),
]


@pytest.fixture
def aimock(tmp_path):
    (tmp_path / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}))
    port = free_port()
    command = [programs() / "llmock", "-p", str(port), "-f", tmp_path / "fixtures.json"]
    url = f"http://127.0.0.1:{port}"
    with serving(command, url):
        yield url


def test_plan_revision_approval_work_and_end_against_a_server_that_is_not_ours(aimock, tmp_path):
    home = tmp_path / "home"
    server = Started(
        home, OPENAI_BASE_URL=f"{aimock}/v1", OPENAI_API_KEY="k", PLANSIDE_MODEL="openai/gpt-4.1"
    )
    try:
        alice = Script(home)
        c = alice.post(server, "/conversations", {"agent": "docs-writer"})["id"]
        plan = f"/conversations/{c}/plan"
        say = f"/conversations/{c}/messages"
        alice.post(server, say, {"text": "/plan make files"})
        alice.wait_until(server, plan, lambda now: now and len(now["subtasks"]) == 3)
        alice.post(server, say, {"text": "drop the third"})
        now = alice.wait_until(server, plan, lambda now: now["version"] == 2)
        assert [s["name"] for s in now["subtasks"]] == ["Write one", "Write two"]
        assert now["attention"] == "confirm"
        alice.wait_until(
            server,
            say,
            lambda found: any(
                m["text"] == "Two steps now." and not m["streaming"] for m in found["items"]
            ),
        )
        alice.post(server, say, {"text": "Go ahead.", "plan": now["id"], "plan_version": 2})
        now = alice.wait_until(server, plan, lambda now: now["state"] == "done")
        assert now["outcome"] == "Two files."
        files = home / "workspaces" / "docs-writer" / "files"
        assert ((files / "one.txt").read_text(), (files / "two.txt").read_text()) == ("1", "2")
        assert now["tokens"] > 0
    finally:
        server.end()
