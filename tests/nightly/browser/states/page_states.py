"""What `compare_pages` looks at: every state of the product, and every page, dialog and menu.

Each function brings a tab somewhere and yields a name at every place worth a look.
"""

import re

from playwright.sync_api import expect

from tests.browser.model import script
from tests.browser.test_approvals import ADDED, LONG, WIDE
from tests.fake_model import call, rule, say, think
from tests.nightly.browser.states.axe_states import AXE_LOOKS
from tests.nightly.browser.states.axe_states import RULES as AXE_RULES
from tests.nightly.browser.states.reader_states import CHANGED, READER_LOOKS
from tests.nightly.browser.states.test_states import STATES, State
from tests.tab import A_RUN, LIVE, POLLING

UNDECIDED = "Object.defineProperty(Notification, 'permission', { get: () => 'default' })"
DOCUMENT = {
    "openapi": "3.0.0",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets": {
            "get": {"operationId": "list_pets", "summary": "All the pets there are"},
            "post": {"operationId": "add_pet", "summary": "Add a pet"},
        }
    },
}
MARKDOWN = """\
# Heading one

Some *emphasis*, **strong words**, `code`, ~~gone~~ and [a link](https://example.com/).

- one
- two
  1. nested
- [x] ticked
- [ ] open

> Quoted, over
> two lines.

| left | right |
|:-----|------:|
| a    |     1 |

```python
def add(a, b):
    return a + b  # a comment
```

---

The end.
"""
TOLD = {"description": "Look at everything.\nThen look again.", "expected_outcome": "A list of it."}
DETAILED = call(
    "create_plan",
    title="A detailed plan",
    content="What it is about.\n\nIn two paragraphs.",
    expected_outcome="Everything is tidy.",
    subtasks=[{"name": "First look", **TOLD}, {"name": "Then write", **TOLD}, {"name": "Last"}],
)
COSTLY = {**call("finish_subtask", outcome="Did that."), "usage": [900, 200]}
RULES = [
    rule(say(MARKDOWN), user="show me markdown"),
    rule(think("I weigh it up.\n\nIt is simple.", "So it is."), user="think first"),
    rule(call("shell", command=LONG), user="run the long one", results=0),
    rule(call("shell", command=WIDE), user="run the wide one", results=0),
    rule(call("write_file", path="new.txt", content=ADDED), user="write the file", results=0),
    rule(call("edit_file", path="a.txt", old="one\ntwo", new="one\n2"), user="edit it", results=0),
    rule(call("write_file", path="a.txt", content=CHANGED), user="change the file", results=0),
    rule(say("It is changed."), user="change the file", results=1),
    rule(DETAILED, only="create_plan", user="in detail"),
    rule(say("Here is the plan."), user="in detail"),
    rule(COSTLY, offered="finish_subtask", system="You are thrifty"),
    *AXE_RULES,
]


def model_script():
    return {"rules": RULES + script()["rules"]}


def prepare(site):
    """The agents that the states need, beside the two that every browser test has."""
    scripted = {"provider": "openai", "model": "scripted"}
    asks = dict.fromkeys(("write_file", "edit_file", "shell"), "ask")
    more = {
        "careful": {"plan": {"enabled": True}, "tools": asks},
        "planless": {"plan": {"enabled": False}},
        "thrifty": {
            "plan": {"enabled": True},
            "budget": {"tokens": 1000},
            "instructions": "You are thrifty",
        },
    }
    for id, keys in more.items():
        site.post("/agents", id=id, name=id.capitalize())
        site.change_agent(id, **scripted, **keys)


def clean(site):
    """No conversation of an earlier state is seen in a later one."""
    for row in site.get("/conversations")["items"]:
        site.delete(f"/conversations/{row['id']}")


# Conversations


def state_of_the_tests(bring):
    def look(s):
        bring(s)
        yield ""
        s.tab.page.reload()
        s.tab.sees_connection(LIVE)
        s.tab.page.wait_for_timeout(300)
        yield "again"

    look.__name__ = bring.__name__
    return look


def replies(s):
    tab = s.chat()
    for words, answer in [("show me markdown", "The end."), ("think first", "So it is.")]:
        tab.say(words)
        expect(tab.log).to_contain_text(answer)
    expect(tab.button("Copy reply")).to_have_count(2)
    tab.page.get_by_text("Thought about it").click()
    yield ""


def calls_that_ask(s):
    for name in ("long", "wide"):
        s.chat("careful").say(f"run the {name} one")
        expect(s.tab.button("Allow once")).to_be_visible()
        yield name
    for words in ("write the file", "edit it"):
        s.chat("careful").say(words)
        expect(s.tab.button("Allow once")).to_be_visible()
        yield words.replace(" ", "_")
    s.tab.button("Deny").click()
    yield "why"
    s.chat("careful").say("run the long one")
    s.tab.button("Show all").click()
    yield "all"


def calls_that_were_made(s):
    tab = s.chat("careful")
    tab.say("write it down")
    tab.button("Allow once").click()
    expect(tab.log).to_contain_text("allowed once")
    expect(tab.log).to_contain_text("Understood.")
    tab.log.locator("details summary").first.click()
    yield ""


def a_run_unfolded(s):
    s.started("quick").sees_plan(within=A_RUN, state="done")
    for summary in s.tab.log.locator("details > summary").all():
        if summary.is_visible():
            summary.click()
    yield ""


def cleared_shown(s):
    tab = s.asked("quick")
    tab.say("/clear")
    expect(tab.rows).to_have_count(0)
    tab.page.get_by_role("link", name="Show what was cleared").click()
    expect(tab.log).to_contain_text("Hide it")
    tab.sees_connection(LIVE)
    yield ""


def menus(s):
    tab = s.chat()
    tab.message.press_sequentially("/")
    expect(tab.page.get_by_role("listbox")).to_be_visible()
    yield "commands"
    tab.message.fill("")
    tab.page.get_by_label("Conversation menu").click()
    yield "conversation"
    tab.page.get_by_role("heading", level=1).click()
    tab.page.locator("#new-chat").click()
    yield "new_chat"
    tab.page.get_by_role("heading", level=1).click()
    tab.button("Search").click()
    expect(tab.page.get_by_role("option").first).to_be_visible()
    yield "search"
    tab.page.get_by_role("combobox", name="Search everything").fill("nothing like it")
    expect(tab.page.get_by_text("Nothing matches")).to_be_visible()
    yield "search_nothing"
    tab.page.keyboard.press("Escape")
    with tab.page.expect_response("**/sidebar*"):
        tab.page.get_by_text("By date").click()
    yield "by_date"
    tab.page.get_by_text("By agent").click()


def beginnings(s):
    tab = s.chat("docs-writer")
    expect(tab.button("Use it for Docs writer").first).to_be_visible()
    yield ""
    tab.page.locator("[data-start]").first.click()
    yield "begun"
    tab.message.fill("")


def polling(s):
    s.tab.page.route_web_socket("**/ws/**", lambda socket: socket.close())
    s.tab.expects("WebSocket")
    s.tab.chat(s.site.conversation("scripted"))
    s.tab.sees_connection(POLLING)
    yield ""


def broken_agent(s):
    file = s.site.agent_file("careful")
    before = file.read_text()
    file.write_text("{")
    s.chat("careful")
    yield "conversation"
    s.tab.open("/settings/agents/?agent=careful")
    yield "settings"
    file.write_text(before)


# The drawer


def detailed(s):
    tab = s.asked("have it in detail")
    yield ""
    tab.page.get_by_role("complementary").get_by_role("button", name="Fold").click()
    yield "folded"
    tab.button("Close plan").click()
    yield "card"
    tab.log.get_by_role("button", name="Fold").click()
    yield "card_folded"
    tab.drawer_toggle.click()
    tab.button("Start plan").click()
    tab.sees_plan(within=A_RUN, state="done")
    tab.page.get_by_text("About this plan").or_(tab.plan.get_by_text("Outcome")).first.click()
    yield "done"


def editors(s):
    tab = s.asked("quick")
    tab.edit(2, "Typed and not saved")
    yield "subtask"
    s.site.patch(f"/plans/{s.site.plan(s.id)['id']}/subtasks/s2", name="Elsewhere")
    expect(tab.plan.get_by_role("alert").filter(has_text="Your text is kept")).to_be_visible()
    yield "clash"
    tab.button("Cancel").click()
    tab.button("Edit the plan's title and description").click()
    yield "plan"
    tab.button("Cancel").click()
    tab.button("Add a subtask").click()
    yield "add"
    tab.button("Cancel").click()
    tab.remove(3)
    expect(tab.button("Undo")).to_be_visible()
    yield "removed"
    tab.button("Comment on subtask 1").click()
    tab.plan.get_by_role("textbox", name="Comment on subtask 1").fill("Twice.")
    yield "comment"
    tab.button("Keep comment").click()
    expect(tab.button("Ask for changes 1, comment")).to_be_visible()
    yield "commented"


def versions(s):
    tab = s.asked("quick")
    tab.rename(2, "Then do it quickly")
    tab.sees_plan(version=2)
    plan = s.site.plan(s.id)["id"]
    s.site.post(f"/plans/{plan}/subtasks", name="Run it", expected_outcome="Passes", after="s1")
    tab.sees_plan(version=3)
    tab.plan.get_by_role("button", name=re.compile("^v3 ")).click()
    expect(tab.plan.get_by_role("list", name="Versions")).to_be_visible()
    yield "compared"
    tab.plan.get_by_role("list", name="Versions").get_by_role(
        "button", name=re.compile("^v1")
    ).click()
    expect(tab.button("Go back to v1")).to_be_visible()
    yield "first"
    tab.open(f"/plans/{plan}/")
    tab.page.get_by_text("What changed").first.click()
    expect(tab.page.get_by_role("list", name="What changed")).to_be_visible()
    yield "page"


def dialogs_of(tab, page):
    """Each dialog that a button which is in view opens."""
    openers = tab.page.locator("[data-opens]:visible")
    ids = openers.evaluate_all("all => [...new Set(all.map((one) => one.dataset.opens))]")
    for id in ids:
        yield from dialog(tab, page, id)


def dialog(tab, page, id):
    tab.page.locator(f"[data-opens='{id}']:visible").first.click()
    shown = tab.page.get_by_role("dialog")
    expect(shown).to_be_visible()
    expect(shown).not_to_contain_text("Looking…")
    yield f"{page}_{re.sub(r'[-0-9]+$', '', id)}"
    tab.page.keyboard.press("Escape")


def dialogs(s):
    yield from dialogs_of(s.asked("quick"), "proposed")
    for id in ("rename-dialog",):
        s.tab.page.get_by_label("Conversation menu").click()
        yield from dialog(s.tab, "menu", id)
    s.started("hang")
    expect(s.tab.log).to_contain_text("I am at it")
    yield from dialogs_of(s.tab, "running")
    yield from dialogs_of(s.failed(), "failed")


def deleting_a_plan(s):
    s.asked("quick")
    s.tab.button("Plans in this conversation").click()
    s.tab.page.get_by_role("button", name=re.compile("^Delete A plan")).click()
    yield ""


def budget(s):
    tab = s.started("quick", "thrifty")
    expect(tab.button("Raise and continue")).to_be_visible(timeout=A_RUN)
    yield ""


def checks(s):
    """A proposal with checks and the editor of each kind, a refusal, and what is no longer true."""
    site, tab = s.site, s.tab
    chat = s.made("quick")
    plan = site.plan(chat)
    notes = {"kind": "file", "path": "checked.md", "exists": True}
    path = f"/plans/{plan['id']}/subtasks/s1"
    site.patch(path, checks=[notes])
    tab.chat(chat)
    expect(tab.row(1)).to_contain_text("checked.md")
    yield "proposed"
    tab.button("Add a check to subtask 2").click()
    form = tab.editor("Add a check to subtask 2")
    for kind in ("File", "Command", "HTTP", "Tool", "Review"):
        form.get_by_role("radio", name=kind).check(force=True)
        yield f"editor_{kind.lower()}"
    form.get_by_role("button", name="Cancel").click()
    s.approve(chat)
    expect(tab.row(1)).to_contain_text("refused by its checks", timeout=A_RUN)
    yield "refused"
    file = site.file("checked.md")
    file.parent.mkdir(exist_ok=True)
    file.write_text("there")
    tab.button("Retry subtask 1").click()
    expect(tab.plan).to_have_attribute("data-state", "done", timeout=A_RUN)
    yield "finished"
    file.unlink()
    tab.button("Check all").click()
    expect(tab.row(1)).to_contain_text("No longer true since", timeout=A_RUN)
    yield "regressed"
    tab.button("I have looked at subtask 1").click()
    expect(tab.row(1)).to_contain_text("Looked at by you")
    yield "looked"


def check_that_could_not_run(s):
    """Its tool was taken from the agent after the plan was written."""
    tools = {"write_file": "allow", "list_files": "allow"}
    s.site.change_agent(tools={**tools, "shell": "allow"})
    chat = s.made("quick")
    path = f"/plans/{s.site.plan(chat)['id']}/subtasks/s1"
    lint = {"kind": "command", "command": "make lint"}
    s.site.patch(path, checks=[lint])
    s.site.change_agent(tools=tools)
    s.approve(chat)
    s.tab.chat(chat)
    expect(s.tab.plan.get_by_role("button", name="Try again")).to_be_visible(timeout=A_RUN)
    yield ""
    s.tab.open("/needs/")
    expect(s.tab.page.get_by_text("A check could not be run").first).to_be_visible()
    yield "card"


# Pages


def plans(s):
    done = s.begun("quick")
    s.wait(done, lambda plan: plan["state"] == "done")
    failed = s.begun("fail")
    s.wait(failed, lambda plan: plan["attention"] == "failed")
    s.made("have it in detail")
    pages = {
        "list": "",
        "nothing": "?q=nothing-like-that",
        "failed": "?state=failed",
        "sorted": "?sort=tokens",
    }
    for name, query in pages.items():
        s.tab.open(f"/plans/{query}")
        expect(s.tab.page.get_by_role("main")).to_be_visible()
        yield name
    for name, chat in [("page_done", done), ("page_failed", failed)]:
        s.tab.open(f"/plans/{s.site.plan(chat)['id']}/")
        alike = s.tab.page.locator("details[id^=alike-] > summary")
        if alike.count():
            alike.first.click()
        for attempt in s.tab.page.locator("details[id^=try-]:visible").all()[:2]:
            with s.tab.page.expect_response("**/attempts/**"):
                attempt.locator("summary").first.click()
        yield name


def needs(s):
    s.tab.open("/needs/")
    expect(s.tab.page.get_by_text("Nothing needs you.")).to_be_visible()
    yield "nothing"
    s.made("have it in detail")
    asks = s.begun("question")
    s.wait(asks, lambda plan: plan["attention"] == "question")
    failed = s.begun("fail")
    s.wait(failed, lambda plan: plan["attention"] == "failed")
    s.tab.open("/needs/")
    expect(s.tab.page.locator(".need-card")).to_have_count(3)
    yield "waiting"
    for name in ("Skip", "Ask for changes"):
        s.tab.button(name).click()
    yield "asked"
    s.tab.page.get_by_role("textbox", name="Your answer").fill("A dry one")
    s.tab.button("Send answer").click()
    expect(s.tab.page.locator("[data-need-settled]")).to_be_visible()
    yield "settled"
    s.tab.open("/settings/notifications/")
    yield "notifications"
    s.tab.page.add_init_script(UNDECIDED)
    s.tab.page.reload()
    expect(s.tab.button("Ask this browser")).to_be_visible()
    yield "notifications_undecided"


def no_plans(s):
    s.tab.open("/plans/")
    yield ""


def agents(s):
    s.site.change_agent(always_allow=[{"tool": "write_file", "arguments": {"path": "new.txt"}}])
    body = {"name": "petstore", "kind": "openapi", "url": "http://127.0.0.1:9/", "spec": DOCUMENT}
    s.site.post("/tools", **body, headers={"Authorization": "Bearer very-secret"})
    tab = s.tab.open("/settings/agents/")
    yield ""
    yield from dialogs_of(tab, "agents")
    tab.open("/settings/agents/?agent=scripted")
    tab.page.get_by_text("Operations of petstore").and_(tab.page.locator(":visible")).click()
    expect(tab.page.get_by_role("list", name="Operations of petstore")).to_be_visible()
    yield "open"
    yield from dialogs_of(tab, "agent")
    tab.open("/settings/agents/?agent=docs-writer")
    tab.page.get_by_role("complementary").get_by_role("button", name="Edit").click()
    expect(tab.page.get_by_role("textbox", name="agent.json")).to_be_visible()
    yield "edit"
    tab.open("/settings/tools/")
    yield "tools"
    tab.button("petstore tools").click()
    yield "source"
    yield from dialogs_of(tab, "tools")
    s.site.delete("/tools/petstore")


def agent_form(s):
    tab = s.tab.open("/settings/agents/?agent=scripted")
    tab.expects("412", "422")
    for summary in tab.page.locator("details.setting-more > summary:visible").all():
        summary.click()
    yield "unfolded"
    attempts = tab.page.get_by_label("Attempts", exact=True)
    attempts.fill("many")
    attempts.press("Enter")
    expect(tab.alerts).to_contain_text("This has to be a number")
    about = tab.page.get_by_label("Description")
    about.fill("Typed here")
    s.site.change_agent(description="By hand")
    about.press("Enter")
    expect(tab.page.get_by_text("agent.json changed on disk.", exact=False).last).to_be_visible()
    yield "refused"
    tab.page.get_by_role("button", name="Model: ").and_(tab.page.locator(":visible")).click()
    expect(tab.page.locator("#model-list").get_by_role("option").first).to_be_visible()
    yield "models"
    s.site.change_agent(description="")


def approvals(s):
    rules = [
        {
            "tool": "shell",
            "arguments": {"command": LONG},
            "by": "owner",
            "at": "2026-01-02T03:04:05Z",
        },
        {"tool": "pets__get", "arguments": {"id": 1}, "identity": "as it was"},
    ]
    s.site.change_agent(always_allow=rules)
    s.tab.open("/settings/approvals/")
    yield ""
    s.site.change_agent(always_allow=[])
    s.tab.page.reload()
    yield "none"


def chains(s):
    tab = s.tab.open("/settings/chains/?chain=executor")
    yield ""
    yield from dialogs_of(tab, "chains")
    card = tab.page.get_by_role("article", name="executor", exact=True)
    card.get_by_label("Input").fill("hello there")
    card.get_by_label("With the tools").select_option("Docs writer")
    card.get_by_role("button", name="Run").click()
    expect(
        card.locator(".chain-run [data-state=done], .chain-run [data-state=failed]")
    ).to_be_visible()
    yield "run"
    tab.page.get_by_role("complementary").get_by_role("button", name="Edit").click()
    box = tab.page.get_by_role("textbox", name="executor.json")
    box.fill(box.text_content().replace('"handler": "', '"handler": "no_such_', 1))
    expect(tab.page.get_by_role("list", name="What is wrong")).to_contain_text("Input should be")
    yield "edit"


def tools(s):
    tab = s.tab.open("/settings/tools/")
    yield "none"
    tab.button("Add service").click()
    tab.page.get_by_text("MCP server", exact=True).click()
    yield "mcp"


def models(s):
    tab = s.tab.open("/settings/models/")
    tab.page.wait_for_timeout(500)
    yield ""
    yield from dialogs_of(tab, "models")
    tab.button("LM Studio settings").click()
    tab.button("Test LM Studio").click()
    expect(tab.page.get_by_text("Start LM Studio's server")).to_be_visible()
    tab.button("OpenAI settings").click()
    tab.button("Test OpenAI").click()
    openai = tab.page.get_by_role("article", name="OpenAI", exact=True)
    expect(openai).to_contain_text("Answered in")
    yield "tested"
    tab.button("Add provider").click()
    dialog = tab.page.get_by_role("dialog", name="Add provider")
    dialog.get_by_label("Name", exact=True).fill("mine")
    dialog.get_by_label("Base URL").fill(s.site.model.url)
    dialog.get_by_label("Key").fill("sk-typed-once")
    dialog.get_by_role("button", name="Add provider").click()
    card = tab.page.get_by_role("article", name="mine", exact=True)
    expect(card.get_by_role("table")).to_contain_text("fake-model")
    yield "own"
    yield from dialogs_of(tab, "own")
    s.site.delete("/providers/mine")


def own_settings(s):
    tab = s.tab.open("/settings/appearance/")
    yield "appearance"
    tab.button("Show the list").click()
    expect(tab.page.get_by_role("dialog", name="Keys")).to_be_visible()
    yield "keys"
    tab.open("/settings/account/")
    yield "account"
    yield from dialogs_of(tab, "account")
    tab.open("/settings/people/")
    yield "people"
    yield from dialogs_of(tab, "people")


def pages_apart(s):
    s.tab.expects("404")
    for name, path in [("not_found", "/nowhere/"), ("api_docs", "/api/docs")]:
        s.tab.open(path)
        yield name
    s.tab.page.context.clear_cookies()
    s.tab.open("/")
    yield "signin"
    s.tab.page.get_by_label("Username").fill("nobody")
    s.tab.page.get_by_label("Password").fill("nothing")
    s.tab.button("Sign in").click()
    yield "signin_refused"


LOOKS = (
    *map(state_of_the_tests, STATES),
    *(replies, calls_that_ask, calls_that_were_made, a_run_unfolded, cleared_shown, menus),
    *(beginnings, polling, broken_agent, detailed, editors, versions, dialogs, deleting_a_plan),
    *(
        budget,
        checks,
        check_that_could_not_run,
        needs,
        no_plans,
        plans,
        agents,
        agent_form,
        approvals,
        chains,
        tools,
        models,
    ),
    *(own_settings, pages_apart),
    *READER_LOOKS,
    *AXE_LOOKS,
)

__all__ = ["LOOKS", "State", "clean", "model_script", "prepare"]
