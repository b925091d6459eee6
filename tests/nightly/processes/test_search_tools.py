"""A search for tools beyond kill -9."""

import signal

import pytest

from tests.console.serving import Script, Started
from tests.fake_model import FakeModelServer, call, rule, say

pytestmark = pytest.mark.django_db(transaction=True)


def search(query):
    return call("search_tools", query=query)


def test_after_a_kill_9_the_turn_goes_on_with_what_it_had_found(tmp_path):
    rules = [
        rule(search("pin issues"), role="user"),
        rule({**say("x"), "wait": "forever"}, offered="forge__repo_pin_issues", times=1),
        rule(
            call("forge__repo_pin_issues"), offered="forge__repo_pin_issues", after="search_tools"
        ),
        rule(say("Tried to pin."), after="forge__repo_pin_issues"),
    ]
    with FakeModelServer({"rules": rules}) as model:
        variables = {
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "k",
            "PLANSIDE_MODEL": "openai/scripted",
        }
        server = Started(tmp_path, **variables)
        alice = Script(tmp_path)
        try:
            spec = {"openapi": "3.0.0", "paths": {}}
            for n in range(300):
                spec["paths"][f"/repo/thing{n}"] = {"get": {"operationId": f"repo_get_thing{n}"}}
            spec["paths"]["/repo/pin"] = {"get": {"operationId": "repo_pin_issues"}}
            alice.post(
                server,
                "/tools",
                {"name": "forge", "kind": "openapi", "url": "http://127.0.0.1:9", "spec": spec},
            )
            alice.patch(server, "/agents/docs-writer", {"tools": {"forge": "allow"}})
            c = alice.post(server, "/conversations", {"agent": "docs-writer"})["id"]
            alice.post(server, f"/conversations/{c}/messages", {"text": "pin it"})
            alice.wait_until(server, "/agents", lambda _: len(model.requests) == 2)
            server.process.send_signal(signal.SIGKILL)
            server.process.communicate()
            server = Started(tmp_path, **variables)
            said = alice.wait_until(
                server,
                f"/conversations/{c}/messages",
                lambda page: page["items"][-1]["text"] == "Tried to pin.",
            )
        finally:
            server.end()
    tools = [made["tool"] for message in said["items"] for made in message["tool_calls"]]
    assert tools == ["search_tools", "forge__repo_pin_issues"]
