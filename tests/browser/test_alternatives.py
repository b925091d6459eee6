"""Asking again, editing and walking in the page; the model of the conversation."""

from playwright.sync_api import expect

from tests.browser.test_focus import focused
from tests.tab import wait_for


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


def test_the_walker_stays_where_it_was_pressed(site, open_tab):
    chat = site.answered("say beta")
    tab = open_tab().chat(chat)
    ask_again(site, tab)
    walker(tab, "2 of 2").get_by_role("button", name="Earlier alternative").click()
    expect(walker(tab, "1 of 2")).to_be_visible()
    site.says(chat, "and then", "and after that")
    site.drive()
    expect(tab.button("Copy reply")).to_have_count(3)
    # Not all of it fits any more, while the walker, that is pressed, is still in view.
    tab.page.set_viewport_size({"width": 1200, "height": 560})
    walker(tab, "1 of 2").get_by_role("button", name="Later alternative").click()
    earlier = walker(tab, "2 of 2").get_by_role("button", name="Earlier alternative")
    earlier.click(trial=True)  # when it stands still
    stood = earlier.bounding_box()["y"]
    earlier.click()
    later = walker(tab, "1 of 2").get_by_role("button", name="Later alternative")
    later.click(trial=True)
    assert abs(later.bounding_box()["y"] - stood) <= 1


def test_the_keys_ask_again_and_walk(site, open_tab):
    tab = open_tab().chat(site.answered("say gamma"))
    button = tab.button("Ask again")
    button.focus()
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("menuitem", name="Ask again")).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(button).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("menuitem", name="Another model")).to_be_visible()
    expect(tab.page.get_by_role("menuitem", name="Ask again")).to_be_focused()
    with tab.sends():
        tab.page.keyboard.press("Enter")
    site.drive()
    sees(tab, "say gamma", "Gamma two.")
    earlier = walker(tab, "2 of 2").get_by_role("button", name="Earlier alternative")
    expect(earlier).to_be_enabled()  # not before the reply is whole
    earlier.focus()
    tab.page.keyboard.press("ArrowLeft")
    sees(tab, "say gamma", "Gamma one.")
    focused(tab, "walker-first-earlier BUTTON")
    tab.page.keyboard.press("ArrowLeft")
    tab.page.keyboard.press("ArrowRight")
    sees(tab, "say gamma", "Gamma two.")
    focused(tab, "walker-first-later BUTTON")


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


def test_the_model_of_the_conversation_is_found_and_chosen(site, open_tab):
    chat = site.conversation()
    tab = open_tab().chat(chat)
    button = tab.button("Model: scripted")
    button.focus()
    tab.page.keyboard.press("Enter")
    field = tab.page.get_by_role("combobox", name="Find a model")
    expect(field).to_be_focused()
    options = tab.page.get_by_role("listbox", name="Models").get_by_role("option")
    own, another = (
        options.and_(tab.page.locator(f"[data-model='openai/{name}']"))
        for name in ("scripted", "another-model")
    )
    expect(another).to_be_visible()
    expect(own).to_have_attribute("aria-selected", "true")
    field.fill("OPENAI ANOTHER")
    expect(options).to_have_count(1)
    tab.page.keyboard.press("Enter")
    expect(tab.button("Model: another-model")).to_be_focused()
    expect(tab.page.locator("#status")).to_have_text("another-model answers from now on.")
    site.says(chat, "hello")
    site.drive()
    expect(tab.log.locator(".message-foot .tag")).to_have_text("another-model")
    tab.button("Model: another-model").click()
    tab.button("Back to the agent’s model").click()
    expect(tab.button("Model: scripted")).to_be_visible()


def test_the_menu_of_ask_again_covers_no_reply_while_there_is_room_below(site, open_tab):
    tab = open_tab().chat(site.answered("say iota"))
    for height in (900, 320):
        tab.page.set_viewport_size({"width": 1440, "height": height})
        tab.button("Ask again").click()
        expect(tab.page.get_by_role("menuitem", name="Another model")).to_be_visible()
        wait_for(tab, lambda height=height: is_where_there_is_room(tab, height))
        tab.page.keyboard.press("Escape")


def is_where_there_is_room(tab, height):
    """Below the button, unless it does not fit there; it is placed when it has its height."""
    box, menu = tab.button("Ask again").bounding_box(), tab.page.get_by_role("menu").bounding_box()
    end = box["y"] + box["height"]
    is_below = menu["y"] >= end
    return is_below == (height - end > menu["height"]) and (height < 900 or is_below)
