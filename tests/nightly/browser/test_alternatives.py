"""Asking again and editing: what the buttons say, without a socket, of another model."""

import re

from playwright.sync_api import expect

from tests.browser.test_alternatives import ask_again, sees, walker
from tests.browser.test_focus import focused
from tests.tab import POLLING, wait_for


def test_a_plan_command_in_the_editor_says_what_comes_of_it(site, open_tab):
    tab = open_tab().chat(site.answered("hello"))
    tab.button("Edit message").click()
    form = tab.page.get_by_role("form", name="Edit message")
    form.get_by_role("textbox").fill("/plan I want to quick")
    expect(form).to_contain_text("Makes a new plan.")
    form.get_by_role("textbox").fill("/help")
    tab.expects(r"status of 409")
    form.get_by_role("button", name="Send again").click()
    expect(form.get_by_role("alert")).to_contain_text("type it in the message box")
    expect(form.get_by_role("textbox")).to_have_value("/help")
    form.get_by_role("button", name="Keep as it was").click()
    sees(tab, "hello", "Understood.")


def test_the_editor_says_which_files_stay_changed(site, open_tab):
    tab = open_tab().chat(site.answered("write it down"))
    tab.button("Edit message").click()
    form = tab.page.get_by_role("form", name="Edit message")
    expect(form).to_contain_text("The reply below stays, and so does the file it changed.")


def test_a_reply_is_copied_as_the_model_wrote_it(site, open_tab):
    tab = open_tab(permissions=["clipboard-read", "clipboard-write"])
    tab.chat(site.answered("say iota"))
    expect(tab.log.locator("strong")).to_have_text("Iota")
    tab.button("Copy reply").click()
    expect(tab.button("Copy reply").locator("use")).to_have_attribute(
        "href", re.compile("#i-check$")
    )
    assert tab.page.evaluate("navigator.clipboard.readText()") == "**Iota** one."
    tab.button("Copy message").click()
    expect(tab.button("Copy message").locator("use")).to_have_attribute(
        "href", re.compile("#i-check$")
    )
    assert tab.page.evaluate("navigator.clipboard.readText()") == "say iota"


def test_what_is_being_edited_outlasts_news(site, open_tab):
    chat = site.answered("say epsilon", "and then")
    tab = open_tab().chat(chat)
    tab.button("Edit message").first.click()
    field = tab.page.get_by_role("textbox", name="Your message")
    field.fill("half of it")
    site.says(chat, "from elsewhere")
    expect(tab.log).to_contain_text("from elsewhere")
    expect(field).to_have_value("half of it")
    expect(field).to_be_focused()


def test_while_a_reply_is_written_the_buttons_say_why_not(site, open_tab):
    tab = open_tab().chat(site.answered("hello", "say half of it"))
    expect(tab.button("Stop the reply")).to_be_visible()
    pencil = tab.button("Edit message").first
    expect(pencil).to_have_attribute("aria-disabled", "true")
    pencil.click(force=True)
    expect(tab.page.locator("#say-alert")).to_have_text("Stop the reply first.")
    expect(tab.page.get_by_role("form", name="Edit message")).to_have_count(0)
    with tab.sends():
        tab.button("Stop the reply").click()
    site.drive()
    expect(pencil).not_to_have_attribute("aria-disabled", "true")
    ask_again(site, tab)
    with tab.sends():
        tab.button("Stop the reply").click()
    site.drive()
    expect(walker(tab, "2 of 2")).to_be_visible()


def test_without_a_socket_the_walk_is_shown_as_well(site, open_tab):
    tab = open_tab(blocked=True)
    tab.expects("WebSocket")
    tab.chat(site.answered("say zeta")).sees_connection(POLLING)
    sees(tab, "say zeta", "Zeta one.")
    ask_again(site, tab)
    sees(tab, "say zeta", "Zeta two.")
    walker(tab, "2 of 2").get_by_role("button", name="Earlier alternative").click()
    sees(tab, "say zeta", "Zeta one.")


def test_a_reply_is_asked_for_again_of_another_model(site, open_tab):
    tab = open_tab().chat(site.answered("say eta"))
    tab.button("Ask again").click()
    tab.page.get_by_role("menuitem", name="Another model").click()
    options = tab.page.get_by_role("listbox", name="Models").get_by_role("option")
    with tab.sends():
        options.filter(has_text="another-model").first.click()
    site.drive()
    sees(tab, "say eta", "Eta two.")
    expect(tab.log.locator(".message-foot .tag")).to_have_text("another-model")
    expect(tab.button("Model: scripted")).to_be_visible()
    tab.button("Ask again").click()
    expect(tab.page.get_by_role("menuitem", name="another-model")).to_be_visible()


def test_what_an_approved_plan_came_out_of_cannot_be_pressed(site, open_tab):
    chat = site.post("/plans", agent="scripted", goal="I want to quick")["conversation"]
    site.drive()
    tab = open_tab().chat(chat)
    expect(tab.button("Edit message")).not_to_have_attribute("aria-disabled", "true")
    tab.button("Start plan").click()
    expect(tab.button("Edit message")).to_have_attribute("aria-disabled", "true")
    expect(tab.button("Ask again").first).to_have_attribute(
        "aria-description", re.compile("was approved")
    )


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
