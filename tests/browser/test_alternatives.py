"""Asking again, editing and walking in the page; the model of the conversation."""

from playwright.sync_api import expect


def said(tab):
    """What stands in the conversation."""
    return tab.log.locator(".own-message, .prose")


def sees(tab, *texts):
    expect(said(tab)).to_have_text(list(texts))


def ask_again(site, tab):
    tab.button("Ask again").last.click()
    with tab.sends():
        tab.page.get_by_role("menuitem", name="Ask again").click()
    site.drive()


def walker(tab, which):
    return tab.page.get_by_role("group", name=f"Alternative {which}", exact=True)


def test_a_reply_is_asked_for_again_and_walked_in_every_tab(site, open_tab):
    chat = site.answered("say alpha")
    tab, other = open_tab().chat(chat), open_tab().chat(chat)
    sees(tab, "say alpha", "Alpha one.")
    ask_again(site, tab)
    for each in (tab, other):
        sees(each, "say alpha", "Alpha two.")
        expect(walker(each, "2 of 2")).to_be_visible()
    walker(tab, "2 of 2").get_by_role("button", name="Earlier alternative").click()
    for each in (tab, other):
        sees(each, "say alpha", "Alpha one.")
    tab.page.reload()
    sees(tab, "say alpha", "Alpha one.")
    expect(walker(tab, "1 of 2")).to_be_visible()


def test_a_message_is_edited_by_the_keyboard_and_what_was_typed_survives_a_reload(site, open_tab):
    tab = open_tab().chat(site.answered("say delta"))
    tab.button("Edit message").focus()
    tab.page.keyboard.press("Enter")
    field = tab.page.get_by_role("textbox", name="Your message")
    expect(field).to_be_focused()
    expect(field).to_have_value("say delta")
    form = tab.page.get_by_role("form", name="Edit message")
    expect(form).to_contain_text("The reply below stays and becomes one of several.")
    tab.page.keyboard.type(", please")
    tab.page.keyboard.press("Escape")
    expect(form).to_have_count(0)
    expect(tab.button("Edit message")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(field).to_have_value("say delta, please")
    tab.page.reload()
    expect(field).to_have_value("say delta, please")
    expect(tab.page.locator("#message-editor-alert")).to_contain_text("not sent yet")
    with tab.sends():
        field.press("Control+Enter")
    site.drive()
    sees(tab, "say delta, please", "Delta two.")
    expect(tab.message).to_be_focused()
    expect(walker(tab, "2 of 2")).to_be_visible()


# The model
