"""The message box: what is typed is sent once, or stays."""

import re
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import FIREFOX
from tests.tab import LIVE, wait_for

READS_WHAT_IS_SENT = pytest.mark.skipif(
    bool(FIREFOX), reason="Firefox does not tell its driver what a page sends"
)
pytestmark = pytest.mark.usefixtures("working")  # what is said is answered
A_PAUSE = 800  # ms after the last key, until what was typed is saved
TRIED_AGAIN = 3000  # ms in which a message that got no answer would have been sent again


@READS_WHAT_IS_SENT
def test_the_box_empties_at_send_and_what_is_typed_on_is_not_glued_to_it(site, open_tab, clock):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.sees_connection(LIVE)
    held = tab.hold("**/say")
    tab.message.press_sequentially("first one")
    tab.page.keyboard.press("Enter")
    expect(tab.message).to_have_value("")
    tab.message.press_sequentially("second")
    tab.page.keyboard.press("Enter")
    tab.message.press_sequentially("and a third")
    wait_for(tab, lambda: held)
    assert len(held) == 1, "the second waits for the first"
    held[0].continue_()
    expect(tab.log.locator(".own-message")).to_have_text(["first one"])
    expect(tab.log).to_contain_text("Understood.")
    wait_for(tab, lambda: len(held) == 2)
    held[1].continue_()
    expect(tab.log.locator(".own-message")).to_have_text(["first one", "second"])
    expect(tab.message).to_have_value("and a third")
    expect(tab.log.get_by_text("Waiting to send")).to_have_count(0)
    with tab.page.expect_response(lambda answer: saves(answer, "and a third!")):
        tab.message.press_sequentially("!")
        clock.fast_forward(A_PAUSE)
    tab.page.reload()
    expect(tab.message).to_have_value("and a third!")


def saves(answer, text):
    """Whether it is the answer to saving this draft; an earlier one may still be under way."""
    return answer.url.endswith("/draft") and quote_plus(text) in answer.request.post_data


def test_a_failed_send_brings_the_text_back_beside_what_was_typed_meanwhile(site, open_tab, clock):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.expects("status of 500")
    held = tab.hold("**/say")
    tab.say("lost on the way")
    tab.message.press_sequentially("written since")
    wait_for(tab, lambda: held)
    held[0].fulfill(status=500)
    expect(tab.alerts).to_have_text("Not sent: “lost on the way”. Try again / Discard")
    expect(tab.message).to_have_value("written since")
    clock.fast_forward(TRIED_AGAIN)
    tab.has_sent_all()
    assert len(held) == 1, "what was answered with an error is not sent again by itself"
    tab.page.unroute("**/say")
    tab.button("Try again").click()
    expect(tab.log).to_contain_text("Understood.")
    expect(tab.log.locator(".own-message")).to_have_text(["lost on the way"])
    expect(tab.message).to_have_value("written since")


def test_a_message_that_got_no_answer_goes_by_itself_before_what_was_typed_since(
    site, open_tab, clock
):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.expects("ERR_FAILED")
    held = tab.hold("**/say")
    tab.say("lost on the way")
    tab.message.press_sequentially("written since")
    wait_for(tab, lambda: held)
    held.pop(0).abort()
    held.release()  # it may have been tried again by now
    expect(tab.page.get_by_label("Message that waits")).to_contain_text("Waiting to send")
    expect(tab.message).to_have_value("written since")
    tab.page.keyboard.press("Enter")
    clock.fast_forward(TRIED_AGAIN)
    expect(tab.log.locator(".own-message")).to_have_text(["lost on the way", "written since"])
    expect(tab.page.get_by_label("Message that waits")).to_have_count(0)
    expect(tab.alerts).to_have_count(0)


def test_a_refused_message_comes_back_with_the_reason(site, open_tab):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.expects("422")
    tab.say("x" * 200_001)
    expect(tab.alerts).to_have_text(re.compile("200,000 is the most"))
    expect(tab.message).to_have_value(re.compile("^x{200001}$"))


@READS_WHAT_IS_SENT
def test_what_a_stop_gives_back_is_kept_although_an_earlier_draft_arrives_later(
    site, open_tab, clock
):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.expects("409")
    tab.sees_connection(LIVE)
    tab.say("say half of it")
    expect(tab.log).to_contain_text("Half of an answer")
    tab.say("the first behind it")
    expect(tab.log).to_contain_text("the first behind it")
    held = []
    tab.page.route("**/draft", lambda route: route.continue_() if held else held.append(route))
    tab.message.press_sequentially("my draft")
    clock.fast_forward(A_PAUSE)
    wait_for(tab, lambda: held)
    tab.button("Stop the reply").click()
    expect(tab.message).to_have_value(re.compile("the first behind it.*my draft", re.DOTALL))
    with tab.page.expect_response(lambda answer: saves(answer, "the first behind it")):
        clock.fast_forward(A_PAUSE)
        held[0].continue_()
    tab.page.reload()
    expect(tab.message).to_have_value(re.compile("the first behind it.*my draft", re.DOTALL))


def test_a_draft_saved_before_sending_does_not_come_back(site, open_tab, clock):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.sees_connection(LIVE)
    with tab.page.expect_response("**/draft"):
        tab.message.press_sequentially("said once")
        clock.fast_forward(A_PAUSE)
    held = tab.hold("**/say")
    tab.page.keyboard.press("Enter")
    expect(tab.message).to_have_value("")
    # News from the server while the message is under way still carry the draft.
    chat = tab.page.url.rstrip("/").rpartition("/")[2]
    site.post(f"/conversations/{chat}/messages", text="/help")
    expect(tab.log).to_contain_text("begins a new conversation")
    expect(tab.message).to_have_value("")
    wait_for(tab, lambda: held)
    held[0].continue_()
    expect(tab.log.get_by_text("said once")).to_be_visible()


@READS_WHAT_IS_SENT
def test_what_was_typed_just_before_a_reload_is_there_after_it(site, open_tab, clock):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.expects("ERR_FAILED")
    tab.page.route("**/draft", lambda route: route.abort())
    tab.message.press_sequentially("typed a moment ago")
    tab.page.reload()
    expect(tab.message).to_have_value("typed a moment ago")
    tab.page.unroute("**/draft")
    with tab.page.expect_response(lambda answer: saves(answer, "typed a moment ago!")):
        tab.message.press_sequentially("!")
        clock.fast_forward(A_PAUSE)


def test_what_was_not_sent_is_still_named_after_something_else_was(site, open_tab):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.expects("status of 500")
    held = tab.hold("**/say")
    tab.say("lost on the way")
    tab.message.press_sequentially("written since")
    wait_for(tab, lambda: held)
    held[0].fulfill(status=500)
    expect(tab.alerts).to_have_text("Not sent: “lost on the way”. Try again / Discard")
    tab.page.unroute("**/say")
    tab.page.keyboard.press("Enter")
    expect(tab.log.locator(".own-message")).to_have_text(["written since"])
    expect(tab.alerts).to_have_text("Not sent: “lost on the way”. Try again / Discard")
    tab.button("Try again").click()
    expect(tab.log.locator(".own-message")).to_have_text(["written since", "lost on the way"])
    expect(tab.alerts).to_have_count(0)


@READS_WHAT_IS_SENT
def test_a_message_of_another_tab_takes_no_draft_away(site, open_tab, clock):
    chat = site.conversation("scripted")
    tab, other = open_tab().chat(chat), open_tab().chat(chat)
    tab.sees_connection(LIVE)
    with tab.page.expect_response(lambda answer: saves(answer, "typed here")):
        tab.message.press_sequentially("typed here")
        clock.fast_forward(A_PAUSE)
    with tab.page.expect_response(lambda answer: saves(answer, "typed here")):
        other.say("said there")
        clock.fast_forward(A_PAUSE)
    expect(tab.message).to_have_value("typed here")


def test_the_list_of_commands_goes_when_the_message_does(site, open_tab):
    tab = open_tab().chat(site.conversation("scripted"))
    tab.message.press_sequentially("/help")
    expect(tab.page.get_by_role("listbox", name="Commands")).to_be_visible()
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_role("listbox", name="Commands")).to_be_hidden()
    expect(tab.log).to_contain_text("begins a new conversation")
    expect(tab.message).to_be_focused()
