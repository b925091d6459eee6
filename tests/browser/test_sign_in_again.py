"""A session that ends under an open page: what was typed is there again after the sign-in."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.console.serving import run
from tests.tab import LIVE

ENDED = ("status of 40[13]", "WebSocket", "ws:error", "ERR_ABORTED", "ERR_FAILED")
TYPE_ON = """() => {
  const box = document.getElementById("say");
  for (const text of ["one", "two"]) {
    box.value = text;
    box.form.requestSubmit();
  }
  box.value = "three";
}"""
AGAIN = "The page had to be loaded again. What you typed is here, and not sent yet."


@pytest.fixture
def open_alone(open_tab, product):
    """A tab with a session of its own, which a test may end."""

    def open_one(path, **options):
        tab = open_tab(signed_in=False, locale="en-GB", **options)
        tab.expects(*ENDED)
        sign_in(tab, product)
        return tab.open(path)

    return open_one


def sign_in(tab, product):
    page = tab.page.context.new_page()
    page.goto(run(product.home, "signin-link"))
    page.close()


def sign_out(tab):
    page = tab.page.context.new_page()
    page.goto(f"{tab.address}/settings/agents/")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(re.compile("/signin/"))
    page.close()


def hears_nothing(tab):
    """A poll would learn of the end first, and the page leave by itself."""
    tab.hears_nothing_until_it_asks()
    tab.hold("**/file?*since=*")


def come_back(tab, product):
    """Signed in elsewhere by a link, the person looks at the sign-in page again."""
    expect(tab.page.get_by_role("heading", name="Sign in to Planside")).to_have_count(1)
    sign_in(tab, product)
    tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_what_stood_in_the_message_box_stands_there_again(product, open_alone):
    chat = product.conversation("scripted")
    tab = open_alone(f"/c/{chat}/")
    tab.sees_connection(LIVE)
    tab.message.fill("half a thought")
    sign_out(tab)
    come_back(tab, product)
    tab.sees_connection(LIVE)
    assert tab.page.url.endswith(f"/c/{chat}/")
    expect(tab.message).to_have_value("half a thought")


def test_a_message_that_was_sent_too_late_is_in_the_box_and_says_so(product, open_alone):
    tab = open_alone(f"/c/{product.conversation('scripted')}/", blocked=True)
    tab.hears_nothing_until_it_asks()
    tab.hold("**/sidebar*")
    sign_out(tab)
    tab.page.evaluate(TYPE_ON)
    come_back(tab, product)
    expect(tab.message).to_have_value("one\n\ntwo\n\nthree")
    expect(tab.alerts).to_have_text(AGAIN)
    expect(tab.log.locator(".own-message")).to_have_count(0)


def test_an_open_editor_is_open_again(product, open_alone):
    chat = product.scripted("quick")
    tab = open_alone(f"/c/{chat}/")
    tab.sees_connection(LIVE)
    tab.edit(1, "A better name")
    sign_out(tab)
    come_back(tab, product)
    editor = tab.editor("Edit subtask 1")
    expect(editor.get_by_role("textbox").first).to_have_value("A better name")
    expect(editor.get_by_role("alert")).to_have_text(AGAIN)
    editor.get_by_role("button", name="Save").click()
    expect(tab.row(1)).to_contain_text("A better name")
    expect(editor).to_have_count(0)


def test_a_message_that_was_being_edited_is_being_edited_again(product, open_alone):
    tab = open_alone(f"/c/{product.conversation('scripted')}/")
    tab.say("hello")
    expect(tab.log).to_contain_text("Understood.")
    tab.log.locator(".own-message").hover()
    tab.button("Edit message").click()
    tab.page.get_by_role("textbox", name="Your message").fill("hello again")
    sign_out(tab)
    come_back(tab, product)
    field = tab.page.get_by_role("textbox", name="Your message")
    expect(field).to_have_value("hello again")


def test_an_open_dialog_is_open_again(product, open_alone):
    tab = open_alone(f"/c/{product.conversation('scripted')}/")
    tab.sees_connection(LIVE)
    tab.page.get_by_label("Conversation menu").click()
    tab.button("Rename").click()
    tab.page.get_by_label("Title").fill("Another title")
    sign_out(tab)
    come_back(tab, product)
    dialog = tab.page.get_by_role("dialog", name="Rename conversation")
    expect(dialog.get_by_label("Title")).to_have_value("Another title")


def test_the_file_of_an_agent_is_being_edited_again(product, open_alone):
    tab = open_alone("/settings/agents/?agent=scripted")
    tab.button("Edit").click()
    text = tab.page.get_by_role("textbox", name="agent.json")
    typed = text.inner_text().replace('"Scripted"', '"Scripted, by me"')
    text.fill(typed)
    hears_nothing(tab)
    sign_out(tab)
    tab.button("Save").click()
    come_back(tab, product)
    expect(tab.page.get_by_role("textbox", name="agent.json")).to_contain_text("Scripted, by me")
    expect(tab.page.get_by_text(AGAIN)).to_be_visible()


def test_a_key_is_not_kept(product, open_alone):
    tab = open_alone("/settings/models/")
    tab.button("Add provider").click()
    dialog = tab.page.get_by_role("dialog", name="Add provider")
    dialog.get_by_label("Name", exact=True).fill("mine")
    dialog.get_by_label("Key", exact=True).fill("sk-secret")
    sign_out(tab)
    expect(tab.page.get_by_role("heading", name="Sign in to Planside")).to_be_visible()
    assert tab.page.evaluate("JSON.stringify(sessionStorage)") == "{}"


def test_whoever_else_signs_in_is_given_nothing(product, open_alone):
    tab = open_alone(f"/c/{product.conversation('scripted')}/")
    tab.sees_connection(LIVE)
    tab.message.fill("between you and me")
    sign_out(tab)
    expect(tab.page.get_by_role("heading", name="Sign in to Planside")).to_be_visible()
    kept = json.loads(tab.page.evaluate("sessionStorage.getItem('planside-unsent')"))
    assert "between you and me" in json.dumps(kept)
    kept["person"] = "another"
    tab.page.evaluate("kept => sessionStorage.setItem('planside-unsent', kept)", json.dumps(kept))
    come_back(tab, product)
    tab.sees_connection(LIVE)
    expect(tab.alerts).to_have_count(0)
    assert tab.page.evaluate("sessionStorage.getItem('planside-unsent')") is None


def test_an_answer_to_nobody_is_the_sign_in_page_and_no_fragment(product, open_alone):
    tab = open_alone("/settings/agents/?agent=scripted")
    hears_nothing(tab)
    sign_out(tab)
    tab.page.get_by_role("switch", name="Plan Mode").first.click()
    expect(tab.page.get_by_role("heading", name="Sign in to Planside")).to_be_visible()
    expect(tab.page.get_by_role("heading")).to_have_count(1)


def test_a_page_from_before_the_last_sign_in_loads_itself_and_keeps_the_message(
    product, open_alone
):
    tab = open_alone(f"/c/{product.conversation('scripted')}/", blocked=True)
    tab.hears_nothing_until_it_asks()
    tab.hold("**/sidebar*")
    sign_out(tab)
    sign_in(tab, product)
    tab.say("still here")
    expect(tab.alerts).to_have_text(AGAIN)
    expect(tab.message).to_have_value("still here")
    tab.button("Send").click()
    expect(tab.log).to_contain_text("Understood.")
