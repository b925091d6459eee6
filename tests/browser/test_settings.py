"""Models, tools and grants in Settings, and the questions they lead to, as a person meets them."""

import json

import httpx
import pytest
from playwright.sync_api import expect

from tests.tab import A_POLL, A_RUN

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


@pytest.fixture
def asking(product, careful):
    """A chat with a question in it, and the file of the agent that asks."""
    return product.started("approve"), product.agent_file("scripted")


@pytest.fixture
def service(product):
    """A service with two operations; its document is given, so nobody has to serve it."""
    body = {"name": "petstore", "kind": "openapi", "url": "http://127.0.0.1:9/", "spec": DOCUMENT}
    product.post("/tools", **body, headers={"Authorization": "Bearer very-secret"})
    yield "petstore"
    httpx.delete(f"{product.address}/api/tools/petstore", headers=product.script.headers)


def test_a_card_is_loaded_when_it_is_opened_and_stays_as_it_is(product, open_tab):
    tab = open_tab("/settings/agents/?agent=docs-writer")
    card = tab.page.get_by_role("article", name="Scripted", exact=True)
    expect(card.get_by_label("Description")).to_have_count(0)
    fold = tab.button("Scripted settings")
    fold.press("Enter")
    field = card.get_by_role("textbox", name="Description")
    expect(field).to_have_value("")
    expect(tab.page.get_by_role("complementary", name="agent.json")).to_contain_text("scripted")
    expect(fold).to_be_focused()
    field.press_sequentially("another")  # what is filled in is no change to Firefox
    fold.click()
    expect(tab.page.get_by_text("The description is changed.")).to_be_visible()
    expect(field).to_be_hidden()
    fold.click()
    expect(field).to_have_value("another")
    product.change_agent("scripted", description="")
    card.get_by_role("button", name="Delete agent").click()
    expect(tab.page.get_by_role("dialog", name="Delete Scripted?")).to_be_visible()


def test_the_keys_allow_once_and_the_focus_goes_on(asking, product, open_tab):
    chat, _ = asking
    tab = open_tab().chat(chat)
    tab.plan.get_by_role("link", name="write_file", exact=True).click()
    expect(tab.page.get_by_role("group", name="Let it use write_file?")).to_be_focused()
    tab.page.keyboard.press("Control+Enter")
    expect(tab.log.get_by_text("allowed once")).to_be_attached()
    tab.sees_plan(within=A_RUN, state="done")
    assert product.file("new.txt", "scripted").read_text() == "new"


def test_a_no_tells_the_agent_why(asking, model, open_tab):
    chat, _ = asking
    tab = open_tab().chat(chat)
    tab.button("Deny").click()
    reason = tab.page.get_by_label("Tell the agent why (optional)")
    expect(reason).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(tab.button("Allow once")).to_be_visible()
    tab.button("Deny").click()
    reason.fill("not into this folder")
    tab.button("Deny").click()
    expect(tab.log.get_by_text("Denied by you")).to_be_attached()
    tab.sees_plan(within=A_RUN, state="done")
    assert "not into this folder" in json.dumps(model.requests)


def test_what_another_tab_decides_ends_the_question_here(asking, open_tab):
    chat, _ = asking
    here, there = open_tab().chat(chat), open_tab().chat(chat)
    here.button("Deny").click()
    reason = here.page.get_by_label("Tell the agent why (optional)")
    reason.press_sequentially("half a ")
    there.button("Allow once").click()
    expect(here.log.get_by_text("allowed once")).to_be_attached()
    expect(here.page.get_by_role("group", name="Let it use write_file?")).to_have_count(0)
    expect(here.alerts).to_have_text("Settled elsewhere. Your text is kept.")
    here.page.bring_to_front()  # only there Firefox has a focus
    expect(reason).to_be_focused()
    here.page.keyboard.type("thought")
    here.sees_plan(within=A_RUN, state="done")
    expect(reason).to_have_value("half a thought")
    expect(here.button("Deny")).to_have_count(0)
    reason.press("Control+Enter")
    expect(here.message).to_have_value("half a thought")
    expect(here.message).to_be_focused()
    expect(here.alerts).to_have_count(0)


def choose(tab, tool, grant):
    group = tab.page.get_by_role("group", name=tool, exact=True).and_(tab.page.locator(":visible"))
    with tab.page.expect_response("**/tool"):
        group.get_by_label(grant).check(force=True)


def tools_of(product):
    return json.loads(product.agent_file("scripted").read_text())["tools"]


def test_a_file_changed_by_hand_is_shown_on_the_open_page(product, open_tab):
    product.post("/agents", id="by-hand", name="By hand")
    tab = open_tab("/settings/agents/?agent=by-hand")
    pane = tab.page.get_by_role("complementary", name="agent.json of By hand")
    expect(pane).to_contain_text("This is the file as it is on disk.")
    product.change_agent("by-hand", description="Changed by hand")
    card = tab.page.get_by_role("article", name="By hand", exact=True)
    expect(card).to_contain_text("agent.json was changed on disk.", timeout=A_POLL)
    expect(pane).to_contain_text("Changed by hand")
    pane.get_by_role("button", name="Edit").click()
    box = pane.get_by_role("textbox", name="agent.json")
    typed = box.inner_text().replace("Changed by hand", "Typed here")
    box.fill(typed)
    product.change_agent("by-hand", description="Changed again")
    expect(tab.alerts).to_contain_text("agent.json changed on disk", timeout=A_POLL)
    expect(box).to_contain_text("Typed here")
