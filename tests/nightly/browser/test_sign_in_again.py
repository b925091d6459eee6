"""A session that ends under an open page: editors, dialogs and files of agents."""

from playwright.sync_api import expect

from tests.browser.test_sign_in_again import AGAIN, come_back, open_here, sign_in, sign_out
from tests.tab import LIVE

__all__ = ["open_here"]


def hears_nothing(tab):
    """A poll would learn of the end first, and the page leave by itself."""
    tab.hold("**/file?*since=*")
    tab.hears_nothing_until_it_asks()


def test_a_message_that_was_being_edited_is_being_edited_again(site, open_here):
    tab = open_here(f"/c/{site.conversation()}/")
    with tab.sends():
        tab.say("hello")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    tab.log.locator(".own-message").hover()
    tab.button("Edit message").click()
    tab.page.get_by_role("textbox", name="Your message").fill("hello again")
    sign_out(tab)
    come_back(tab, site)
    field = tab.page.get_by_role("textbox", name="Your message")
    expect(field).to_have_value("hello again")


def test_an_open_dialog_is_open_again(site, open_here):
    tab = open_here(f"/c/{site.conversation()}/")
    tab.sees_connection(LIVE)
    tab.page.get_by_label("Conversation menu").click()
    tab.button("Rename").click()
    tab.page.get_by_label("Title").fill("Another title")
    sign_out(tab)
    come_back(tab, site)
    dialog = tab.page.get_by_role("dialog", name="Rename conversation")
    expect(dialog.get_by_label("Title")).to_have_value("Another title")


def test_the_file_of_an_agent_is_being_edited_again(site, open_here):
    tab = open_here("/settings/agents/?agent=scripted")
    tab.button("Edit").click()
    text = tab.page.get_by_role("textbox", name="agent.json")
    typed = text.inner_text().replace('"Scripted"', '"Scripted, by me"')
    with tab.page.expect_response("**/check"):  # or it is the first to learn of the end
        text.fill(typed)
    hears_nothing(tab)
    sign_out(tab)
    tab.button("Save").click()
    come_back(tab, site)
    expect(tab.page.get_by_role("textbox", name="agent.json")).to_contain_text("Scripted, by me")
    expect(tab.page.get_by_text(AGAIN)).to_be_visible()


def test_an_answer_to_nobody_is_the_sign_in_page_and_no_fragment(site, open_here):
    tab = open_here("/settings/agents/?agent=scripted")
    hears_nothing(tab)
    sign_out(tab)
    tab.page.get_by_role("switch", name="Plan Mode").first.click()
    expect(tab.page.get_by_role("heading", name="Sign in to Planside")).to_be_visible()
    expect(tab.page.get_by_role("heading")).to_have_count(1)


def test_a_page_from_before_the_last_sign_in_loads_itself_and_keeps_the_message(site, open_here):
    tab = open_here(f"/c/{site.conversation()}/", blocked=True)
    tab.hold("**/sidebar*")
    tab.hears_nothing_until_it_asks()
    sign_out(tab)
    sign_in(tab, site)
    tab.say("still here")
    expect(tab.alerts).to_have_text(AGAIN)
    expect(tab.message).to_have_value("still here")
    with tab.sends():
        tab.button("Send").click()
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
