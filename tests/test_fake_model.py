"""The fakes themselves, where other tests lean on them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.fake_model import FakeModelServer, ScriptedTransport, call, rule, say


def asking(text: str, *tools: str, **more: Any) -> dict[str, Any]:
    offered = [{"type": "function", "function": {"name": tool}} for tool in tools]
    return {"messages": [{"role": "user", "content": text}], "tools": offered, **more}


async def post(transport: httpx.AsyncBaseTransport, body: dict[str, Any]) -> str:
    async with httpx.AsyncClient(transport=transport) as client:
        return (await client.post("http://x.invalid/v1/chat/completions", json=body)).text


async def test_replies_are_used_up_in_order_and_then_the_script_ends() -> None:
    transport = ScriptedTransport([say("one"), say("two")])
    told = [await post(transport, asking(text)) for text in "abc"]
    assert "one" in told[0] and "two" in told[1] and "(end of script)" in told[2]
    assert [sent["messages"][0]["content"] for sent in transport.requests] == ["a", "b", "c"]


async def test_a_script_may_be_a_function_of_the_request() -> None:
    transport = ScriptedTransport(lambda asked: say(asked["messages"][0]["content"][::-1]))
    assert "olleh" in await post(transport, asking("hello"))


async def test_rules_go_before_replies_and_hold_again_after_a_restart() -> None:
    rules = [
        rule(call("create_plan", title="T"), only="create_plan"),
        rule([say("first"), say("later")], last="^how"),
        rule(say("once"), times=1, offered="read_file"),
    ]
    transport = ScriptedTransport({"rules": rules, "replies": [say("plain")]})
    assert "create_plan" in await post(transport, asking("x", "create_plan"))
    assert "create_plan" in await post(transport, asking("x", "create_plan"))
    assert "first" in await post(transport, asking("how?"))
    assert "later" in await post(transport, asking("how?"))
    assert "later" in await post(transport, asking("how?"))
    assert "once" in await post(transport, asking("x", "read_file", "create_plan"))
    assert "plain" in await post(transport, asking("x", "read_file", "create_plan"))


@pytest.mark.sockets
def test_the_server_takes_another_script_and_shows_what_was_asked() -> None:
    with FakeModelServer([say("one")]) as server, httpx.Client() as client:
        root = server.url.removesuffix("/v1")
        client.put(f"{root}/script", json=[say("other")])
        told = client.post(f"{server.url}/chat/completions", json=asking("x")).text
        assert "other" in told and told.rstrip().endswith("[DONE]")
        assert client.get(f"{root}/requests").json() == [asking("x")]
