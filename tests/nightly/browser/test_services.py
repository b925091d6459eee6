"""A plan whose subtasks use the shell and an MCP server, from the first message to the end."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.fake_model import FakeModelServer, call, rule, say

SERVER = Path(__file__).parents[2] / "agents" / "mcp_server.py"

NAMES = ["Ask the small server", "Count the files"]
RULES = [
    rule(
        call("create_plan", title="Use the tools", subtasks=[{"name": name} for name in NAMES]),
        only="create_plan",
        results=0,
    ),
    rule(say("Two steps."), user="^use the tools", results=1),
    rule(call("small__echo", text="hello from far"), user="is s1", results=0),
    rule(call("finish_subtask", outcome="It echoed."), user="is s1", results=1),
    rule(call("shell", command="echo one > made.txt && ls | wc -l"), user="is s2", results=0),
    rule(call("finish_subtask", outcome="Counted."), user="is s2", results=1),
    rule(call("finish_plan", state="done", outcome="Echoed and counted."), only="finish_plan"),
]


@pytest.fixture(scope="module")
def model():
    with FakeModelServer({"rules": RULES}) as server:
        yield server


@pytest.fixture
def small_server(product):
    pytest.importorskip("mcp")
    product.post("/tools", name="small", kind="mcp", command=f"{sys.executable} {SERVER}")
    product.change_agent("scripted", tools={"shell": "ask", "small": "allow"})


def test_shell_and_mcp_tools_in_a_plan_from_the_first_message_to_the_end(
    product, small_server, open_tab
):
    chat = product.conversation("scripted")
    tab = open_tab(f"/c/{chat}/")
    page = tab.page
    page.get_by_role("textbox", name="Message").fill("/plan use the tools")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Start plan").click()

    question = page.get_by_role("group", name="Run this shell command?")
    expect(question).to_contain_text("echo one > made.txt")
    assert not product.file("made.txt", "scripted").exists(), "it waits for a yes"
    expect(page.get_by_role("complementary", name="Plan")).to_contain_text("Waiting for you:")
    question.get_by_role("button", name="Allow once").click()

    expect(page.locator("#plan")).to_have_attribute("data-state", "done")
    assert product.file("made.txt", "scripted").read_text() == "one\n"
    calls = [
        made
        for m in product.get(f"/conversations/{chat}/messages")["items"]
        for made in m["tool_calls"]
    ]
    results = {made["tool"]: made["result"] for made in calls}
    assert results["small__echo"] == "hello from far"
    assert results["shell"].strip() == "1"
