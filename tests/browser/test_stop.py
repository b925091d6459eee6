"""Stopping a reply with messages behind it: all of them come back to the box, and what was typed."""

from playwright.sync_api import expect

from tests.tab import LIVE, wait_for


def test_what_was_queued_and_what_is_typed_before_and_after_a_stop_is_in_the_box(site, open_tab):
    tab = answering(site, open_tab, "second")
    for text in ("third", "fourth"):
        tab.say(text)
    expect(tab.log).to_contain_text("fourth")
    held = tab.hold("**/stop")
    tab.message.press_sequentially("half a wo")
    tab.button("Stop the reply").click()
    tab.message.press_sequentially("rd and mo")
    wait_for(tab, lambda: held)
    held[0].continue_()
    queued = "second\n\nthird\n\nfourth\n\n"
    expect(tab.message).to_have_value(f"{queued}half a word and mo")
    expect(tab.log).not_to_contain_text("fourth")
    expect(tab.log).to_contain_text("3 messages were not sent: they are back in the message box.")
    tab.page.keyboard.type("re")  # the caret is where it was
    expect(tab.message).to_have_value(f"{queued}half a word and more")
    tab.page.reload()
    expect(tab.message).to_have_value(f"{queued}half a word and more")


def test_a_stop_in_another_tab_gives_back_to_what_is_typed_in_this_one(site, open_tab):
    tab = answering(site, open_tab, "second")
    other = open_tab(tab.page.url.removeprefix(site.address))
    tab.message.press_sequentially("typed here")
    other.button("Stop the reply").click()
    expect(other.message).to_have_value("second")
    expect(tab.message).to_have_value("second\n\ntyped here")


def answering(site, open_tab, queued, deaf=False):
    """A tab in which a message waits behind a reply; a deaf one hears of nothing after that."""
    tab = open_tab()
    tab.expects("WebSocket", "ERR_FAILED", "409")
    sockets = []

    def route(socket):
        sockets.append(socket)
        server = socket.connect_to_server()
        server.on_message(lambda frame: socket.send(frame) if sockets else None)

    tab.page.route_web_socket("**/ws/**", route)
    tab.chat(site.conversation())
    tab.sees_connection(LIVE)
    with tab.sends():
        tab.say("say half of it")
    site.drive()
    expect(tab.log).to_contain_text("Half of an answer")
    tab.say(queued)
    expect(tab.log.get_by_text("Waiting to send")).to_be_visible()
    if deaf:
        sockets.clear()
        tab.page.route("**/changes*", lambda route: route.abort())
    return tab
