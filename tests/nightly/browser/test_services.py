"""A plan whose subtasks use the shell and an MCP server, from the first message to the end."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.fake_model import call, rule, say
from tests.tab import armed

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


def test_shell_and_mcp_tools_in_a_plan_from_the_first_message_to_the_end(site, open_tab):
    pytest.importorskip("mcp")
    site.plays(*RULES)
    site.post("/tools", name="small", kind="mcp", command=f"{sys.executable} {SERVER}")
    site.change_agent(tools={"shell": "ask", "small": "allow"})
    chat = site.conversation()
    tab = open_tab(f"/c/{chat}/")
    page = tab.page
    with tab.sends():
        tab.say("/plan use the tools")
    site.drive()
    with tab.sends():
        tab.button("Start plan").click()
    site.drive()

    question = page.get_by_role("group", name="Run this shell command?")
    expect(question).to_contain_text("echo one > made.txt")
    assert not site.file("made.txt").exists(), "it waits for a yes"
    expect(page.get_by_role("complementary", name="Plan")).to_contain_text("Waiting for you:")
    with tab.sends():
        armed(question.get_by_role("button", name="Allow once")).click()
    site.drive()

    expect(page.locator("#plan")).to_have_attribute("data-state", "done")
    assert site.file("made.txt").read_text() == "one\n"
    calls = [
        made
        for m in site.get(f"/conversations/{chat}/messages")["items"]
        for made in m["tool_calls"]
    ]
    results = {made["tool"]: made["result"] for made in calls}
    assert results["small__echo"] == "hello from far"
    assert results["shell"].strip() == "1"
