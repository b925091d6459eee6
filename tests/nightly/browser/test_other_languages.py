"""What scripts write on a page in another language: each text is translated, each date is of it.

Chinese stands for the other language and brackets for its catalog, so latin letters outside of
brackets are a text that went past it.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_offline import GONE

# What a script of ours writes into elements, titles, names for screen readers and notifications.
CATALOG = """
(() => {
  Object.defineProperty(HTMLElement.prototype, "lang", { get: () => "zh-hans" });
  const bracketed = (text) => `⟦${text}⟧`;
  window.django = { gettext: bracketed, ngettext: (one, several, n) => bracketed(n === 1 ? one : several) };
  const written = (window.written = []);
  const scripts = () => new Error().stack.split("\\n").slice(1).filter((line) => !line.includes("<anonymous>"));
  const isOurs = () => scripts()[0]?.includes("/js/");
  const note = (place, value) => { if (typeof value === "string" && isOurs()) written.push([place, value]); };
  const watch = (type, name) => {
    const { get, set } = Object.getOwnPropertyDescriptor(type.prototype, name);
    const write = function (value) { note(name, value); set.call(this, value); };
    Object.defineProperty(type.prototype, name, { get, set: write, configurable: true });
  };
  watch(Node, "textContent");
  for (const name of ["ariaLabel", "ariaDescription"]) watch(Element, name);
  for (const name of ["title", "innerText"]) watch(HTMLElement, name);
  for (const type of [HTMLInputElement, HTMLTextAreaElement]) watch(type, "placeholder");
  watch(Document, "title");
  const { setAttribute, append, replaceChildren } = Element.prototype;
  Element.prototype.setAttribute = function (name, value) {
    if (/^(title|placeholder|aria-(label|description|valuetext))$/.test(name)) note(name, value);
    setAttribute.call(this, name, value);
  };
  Element.prototype.append = function (...parts) {
    parts.forEach((part) => note("append", part));
    append.apply(this, parts);
  };
  Element.prototype.replaceChildren = function (...parts) {
    parts.forEach((part) => note("replaceChildren", part));
    replaceChildren.apply(this, parts);
  };
  window.Notification = class {
    static permission = "granted";
    constructor(title, { body }) { note("notification", body); }
    addEventListener() {}
  };
})();
"""
# What a script takes from the page as the server has drawn it.
DRAWN = (
    *("Start plan", "Start v2", "Ask for changes to the plan", "· Planside"),
    *("Message Scripted, or type / for commands", "Plans in this conversation"),
)
TITLES = ("New chat", "hello", "lost on the way")
BRACKETED = re.compile("⟦[^⟦⟧]*⟧")


@pytest.fixture
def foreign_tab(open_tab):
    """A tab whose pages are in that language, as far as scripts speak."""

    tab = open_tab(viewport={"width": 1440, "height": 900}, permissions=["clipboard-write"])
    tab.page.add_init_script(CATALOG)
    return tab


def written(tab):
    return tab.page.evaluate("window.written")


def untranslated(tab, *names):
    """What was written in letters of ours, without these names and what the server has drawn."""
    found = []
    for place, value in written(tab):
        text = value
        while BRACKETED.search(text):
            text = BRACKETED.sub("", text)
        for each in (*DRAWN, *names):
            text = text.replace(each, "")
        if re.search("[A-Za-z]", text):
            found.append((place, value))
    return found


def was_written(tab, *texts):
    heard = [value for _, value in written(tab)]
    assert [text for text in texts if not any(f"⟦{text}⟧" in value for value in heard)] == []


def sees(tab, text):
    expect(tab.page.get_by_text(f"⟦{text}⟧").first).to_be_visible()


def test_what_scripts_say_of_a_plan_is_translated(site, foreign_tab):
    tab = foreign_tab.chat(site.scripted("quick"))
    rows = tab.page.locator("#subtasks > li")
    sees(tab, "Fold")
    rows.first.locator("[data-edit]").first.click()
    tab.page.locator("form.editor textarea").first.fill("")
    tab.page.locator("form.editor [data-save]").click()
    sees(tab, "Give the subtask a name.")
    tab.page.keyboard.press("Escape")
    rows.first.locator(".step-row").focus()
    tab.page.keyboard.press("Alt+ArrowDown")
    expect(tab.page.locator("#status")).to_have_text("⟦Moved to 2 of 3⟧")
    rows.first.locator("[data-comments]").first.click()
    tab.page.locator("form.editor textarea").first.fill("Twice.")
    sees(tab, "Start without")
    sees(tab, "1 comment goes to the agent.")
    tab.page.keyboard.press("Escape")
    tab.page.locator("[data-edit-plan]").click()
    tab.page.locator("form.editor textarea, form.editor input").first.fill("Another title")
    sees(tab, "Start with my edits")
    tab.page.keyboard.press("Escape")
    tab.page.locator("#ask-changes").click()
    expect(tab.page.locator("#say")).to_have_attribute(
        "placeholder", "⟦Ask for changes to the plan⟧"
    )
    assert untranslated(tab, "I want to quick") == []
    was_written(tab, "Edit subtask 1", "Move subtask 1 up", "Remove subtask 1")


def test_what_scripts_say_of_messages_and_files_is_translated(site, foreign_tab):
    tab = foreign_tab.chat(site.conversation())
    tab.message.fill("hello")
    with tab.sends():
        tab.message.press("Enter")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    tab.page.locator("[data-edits]").first.click()
    sees(tab, "The reply below stays and becomes one of several.")
    tab.page.keyboard.press("Escape")
    tab.page.locator("[data-copy-from]").last.click()
    expect(tab.page.locator("#copied")).to_have_text("⟦Copied⟧")
    none = {"name": "none.txt", "mimeType": "text/plain", "buffer": b""}
    tab.page.locator("#files").set_input_files([none])
    sees(tab, "none.txt is empty.")
    tab.page.route("**/attachments?*", lambda route: route.abort())
    tab.expects("ERR_FAILED")
    tab.page.locator("#files").set_input_files([none | {"buffer": b"x" * 2000}])
    sees(tab, "Not uploaded")
    tab.message.press_sequentially("/")
    sees(tab, "Every command")
    assert untranslated(tab, "none.txt", "/plan", "/clear", "/new", "/help", *TITLES) == []
    was_written(tab, "0 of ⟦2 kB⟧", "Uploading none.txt", "Remove none.txt")


def test_what_scripts_say_without_a_connection_is_translated(site, foreign_tab):
    tab = foreign_tab.chat(site.conversation())
    tab.expects(*GONE)
    expect(tab.page.locator("#connection")).to_be_attached()
    tab.page.context.set_offline(True)
    sees(tab, "You are offline.")
    tab.message.fill("lost on the way")
    tab.message.press("Enter")
    sees(tab, "Waiting to send")
    tab.page.keyboard.press("Control+k")
    sees(tab, "The search did not get through. Check the connection.")
    tab.page.keyboard.press("Escape")
    tab.page.context.set_offline(False)
    sees(tab, "Back online. Sent 1 message.")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    assert untranslated(tab, *TITLES) == []
    was_written(tab, "Offline", "No connection", "Try now", "Write a message to send later")


def test_what_scripts_say_of_a_message_that_was_answered_with_an_error_is_translated(
    site, foreign_tab
):
    tab = foreign_tab.chat(site.conversation())
    tab.expects("status of 500")
    tab.page.route("**/say", lambda route: route.fulfill(status=500))
    tab.message.fill("lost on the way")
    tab.message.press("Enter")
    sees(tab, "Not sent.")
    tab.page.unroute("**/say")
    with tab.sends():
        tab.page.locator("#say-alert [data-again]").click()
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    assert untranslated(tab, *TITLES) == []
    was_written(tab, "Try again", "Discard")


def test_a_notification_that_is_tried_is_translated(foreign_tab):
    foreign_tab.open("/settings/notifications/")
    foreign_tab.page.locator("[data-send-test]").click()
    assert ["notification", "⟦Notifications arrive here.⟧"] in written(foreign_tab)
    assert untranslated(foreign_tab, "Notifications") == []


def test_times_are_those_of_the_pages_language(site, foreign_tab):
    tab = foreign_tab.chat(site.answered("hello"))
    time = tab.page.locator("time[datetime]").first
    expect(time).to_have_attribute("title", re.compile(r"^\d{4}年\d+月\d+日 \d\d:\d\d:\d\d$"))


def test_a_page_in_english_keeps_the_readers_way_to_write_dates(site, open_tab):
    chat = site.answered("hello")
    for locale, title in ("en-GB", r"^\d+ \w+ \d{4}, "), ("en-US", r"^\w+ \d+, \d{4}, "):
        tab = open_tab(locale=locale).chat(chat)
        time = tab.page.locator("time[datetime]").first
        expect(time).to_have_attribute("title", re.compile(title))
