"""A session that ends under an open page: what was typed is there again after the sign-in."""

import json

import pytest
from django.conf import settings
from playwright.sync_api import expect

from tests.inner import local_owner, signin_path
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
A_LOOK = 2_000  # ms between two looks at what waits
AGAIN = "The page had to be loaded again. What you typed is here, and not sent yet."


@pytest.fixture
def open_here(open_tab, clock):
    """A tab whose session a test may end; its clock can be moved."""

    def open_one(path, **options):
        tab = open_tab(**options)
        tab.expects(*ENDED)
        return tab.open(path)

    return open_one


def sign_in(tab, site):
    """By a link, in another tab of the same browser."""
    tab.page.context.request.get(site.address + site.do(lambda: signin_path(local_owner())))


def sign_out(tab):
    """Likewise in another tab, by its button; the page looks for what is new, and learns of it."""
    cookies = tab.page.context.cookies()
    [token] = [each["value"] for each in cookies if each["name"] == settings.CSRF_COOKIE_NAME]
    headers = {"X-CSRFToken": token, "Referer": tab.address}
    assert tab.page.context.request.post(f"{tab.address}/signout/", headers=headers).ok
    tab.page.clock.fast_forward(A_LOOK)


def come_back(tab, site):
    """Signed in elsewhere by a link, the person looks at the sign-in page again."""
    expect(tab.page.get_by_role("heading", name="Sign in to Planside")).to_have_count(1)
    tab.page.wait_for_load_state()  # its script hears that it is looked at
    sign_in(tab, site)
    tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_what_stood_in_the_message_box_stands_there_again(site, open_here):
    chat = site.conversation()
    tab = open_here(f"/c/{chat}/")
    tab.sees_connection(LIVE)
    tab.message.fill("half a thought")
    sign_out(tab)
    come_back(tab, site)
    tab.sees_connection(LIVE)
    assert tab.page.url.endswith(f"/c/{chat}/")
    expect(tab.message).to_have_value("half a thought")


def test_a_message_that_was_sent_too_late_is_in_the_box_and_says_so(site, open_here):
    tab = open_here(f"/c/{site.conversation()}/", blocked=True)
    tab.hold("**/sidebar*")
    tab.hears_nothing_until_it_asks()
    sign_out(tab)
    tab.page.evaluate(TYPE_ON)
    come_back(tab, site)
    expect(tab.message).to_have_value("one\n\ntwo\n\nthree")
    expect(tab.alerts).to_have_text(AGAIN)
    expect(tab.log.locator(".own-message")).to_have_count(0)


def test_an_open_editor_is_open_again(site, open_here):
    chat = site.scripted("quick")
    tab = open_here(f"/c/{chat}/")
    tab.sees_connection(LIVE)
    tab.edit(1, "A better name")
    sign_out(tab)
    come_back(tab, site)
    editor = tab.editor("Edit subtask 1")
    expect(editor.get_by_role("textbox").first).to_have_value("A better name")
    expect(editor.get_by_role("alert")).to_have_text(AGAIN)
    editor.get_by_role("button", name="Save").click()
    expect(tab.row(1)).to_contain_text("A better name")
    expect(editor).to_have_count(0)


def test_a_key_is_not_kept(site, open_here):
    tab = open_here("/settings/models/")
    tab.button("Add provider").click()
    dialog = tab.page.get_by_role("dialog", name="Add provider")
    dialog.get_by_label("Name", exact=True).fill("mine")
    dialog.get_by_label("Key", exact=True).fill("sk-secret")
    sign_out(tab)
    expect(tab.page.get_by_role("heading", name="Sign in to Planside")).to_be_visible()
    assert tab.page.evaluate("JSON.stringify(sessionStorage)") == "{}"


def test_whoever_else_signs_in_is_given_nothing(site, open_here):
    tab = open_here(f"/c/{site.conversation()}/")
    tab.sees_connection(LIVE)
    tab.message.fill("between you and me")
    sign_out(tab)
    expect(tab.page.get_by_role("heading", name="Sign in to Planside")).to_be_visible()
    kept = json.loads(tab.page.evaluate("sessionStorage.getItem('planside-unsent')"))
    assert "between you and me" in json.dumps(kept)
    kept["person"] = "another"
    tab.page.evaluate("kept => sessionStorage.setItem('planside-unsent', kept)", json.dumps(kept))
    come_back(tab, site)
    tab.sees_connection(LIVE)
    expect(tab.alerts).to_have_count(0)
    assert tab.page.evaluate("sessionStorage.getItem('planside-unsent')") is None
