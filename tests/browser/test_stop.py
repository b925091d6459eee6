"""Stopping a reply with messages behind it: all of them come back to the box, and what was typed."""

from playwright.sync_api import expect


def test_what_was_queued_and_what_is_being_typed_is_in_the_box_after_a_stop(product, open_tab):
    chat = product.conversation("scripted")
    tab = open_tab().chat(chat)
    tab.say("tell me slowly")
    expect(tab.button("Stop the reply")).to_be_visible()
    for text in ("second", "third", "fourth"):
        tab.say(text)
    expect(tab.log).to_contain_text("fourth")
    tab.message.fill("half a wo")
    tab.button("Stop the reply").click()
    expect(tab.message).to_have_value("second\n\nthird\n\nfourth\n\nhalf a wo")
    expect(tab.log).not_to_contain_text("fourth")
    tab.page.reload()
    expect(tab.message).to_have_value("second\n\nthird\n\nfourth\n\nhalf a wo")
    assert tab.faults() == []
