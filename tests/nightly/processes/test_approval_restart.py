"""A call that asks outlives the server, is allowed through the API, and runs once."""

from tests.console.serving import Script, Started
from tests.fake_model import FakeModelServer, call, rule, say

RULES = [
    rule(call("write_file", path="asked.txt", content="once"), user="please write", results=0),
    rule(say("Written."), user="please write", results=1),
]


def test_asked_restarted_allowed_from_the_api_and_carried_out_once(tmp_path):
    home = tmp_path / "home"
    with FakeModelServer({"rules": RULES}) as model:
        settings = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "k",
            "PLANSIDE_MODEL": "openai/m",
        }
        server = Started(home, **settings)
        alice = Script(home)
        alice.patch(server, "/agents/docs-writer", {"tools": {"write_file": "ask"}})
        c = alice.post(server, "/conversations", {"agent": "docs-writer"})["id"]
        said = f"/conversations/{c}/messages"
        alice.post(server, said, {"text": "please write"})
        asked = alice.wait_until(server, said, lambda found: calls_in(found, "asked"))
        [made] = calls_in(asked, "asked")
        server.process.kill()
        server.process.communicate()

        file = home / "workspaces" / "docs-writer" / "files" / "asked.txt"
        assert not file.exists()
        server = Started(home, **settings)
        assert calls_in(alice.get(server, said), "asked") == [made]
        for _ in range(2):  # deciding twice is harmless
            alice.post(server, f"/tool-calls/{made['id']}/decide", {"decision": "allow_once"})
        found = alice.wait_until(
            server, said, lambda found: found["items"][-1]["text"] == "Written."
        )
        server.end()
    assert file.read_text() == "once"
    assert len(calls_in(found, "done")) == 1


def calls_in(found, state):
    return [made for m in found["items"] for made in m["tool_calls"] if made["state"] == state]
