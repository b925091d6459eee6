"""The scripts of the page: each module may fail without taking the others with it."""

import re

import pytest
from playwright.sync_api import expect

from tests.lint.test_layers import ROOT
from tests.tab import LIVE, wait_for

FOLDER = ROOT / "static" / "js"
LIST = (ROOT / "templates" / "_scripts.html").read_text()
MODULES = re.findall(r"module. src=.\{% static .js/(\w+)", LIST)
HTMX = "htmx-with-ws.min.*.js"
KINDS = ("composer", "needs", "swaps", "dom")
BROKEN = "throw new Error('broken on purpose');\n"
FAULT = "Part of this page does not work"
# What a module may do while it is read: declare, and register what will be called later.
AT_TOP = re.compile(
    r"(import |export (const|let|function|async function) |const |let |function |async function "
    r"|(on|always|atStart|useOutbox)\(|(\w+\.)?addEventListener\(|/[/*]| \*|[ })\]]|$)"
)


def test_a_module_only_declares_and_registers_while_it_is_read():
    for path in sorted(FOLDER.glob("*.js")):
        loose = [line for line in path.read_text().splitlines() if not AT_TOP.match(line)]
        assert loose == [], path.name


# A leaf, what keeps the older from taking the place of the newer, what sends, and what all need.
@pytest.mark.parametrize("name", KINDS)
def test_a_module_that_fails_is_said_and_the_page_still_sends(site, open_tab, name):
    sends_although_it_fails(site, open_tab(), name)


def sends_although_it_fails(site, tab, name):
    tab.expects("broken on purpose")

    def break_it(route):
        route.fulfill(content_type="text/javascript", body=BROKEN + route.fetch().text())

    tab.page.route(f"**/js/{name}.*.js", break_it)
    chat = site.conversation()
    tab.chat(chat)
    expect(tab.page.get_by_role("alert").filter(has_text=FAULT)).to_be_visible()
    with tab.sends():
        tab.say("hello")
    expect(tab.log).to_contain_text("hello")
    site.drive()
    assert "Understood." in site.texts(chat)
    # Without what sorts them, or brings them, what is new may not come by itself.
    if name not in needed_by("swaps") | needed_by("live"):
        expect(tab.log).to_contain_text("Understood.")
    tab.page.wait_for_load_state()
    tab.page.keyboard.press("Control+k")
    if name not in needed_by("pickers"):
        expect(tab.page.get_by_role("combobox", name="Search everything")).to_be_focused()


def needed_by(name):
    """The module and all that it imports."""
    imported = re.findall(r'from "\./(\w+)\.js"', (FOLDER / f"{name}.js").read_text())
    return {name}.union(*map(needed_by, imported))


def test_a_conversation_takes_twenty_modules_and_the_files_panel_its_own(site, open_tab):
    tab = open_tab()
    asked = []
    tab.page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    tab.chat(site.proposed())
    tab.sees_connection(LIVE)
    modules = {name.partition(".")[0] for name in asked if name.endswith(".js")}
    assert modules == {*MODULES, "faults", "htmx-with-ws"}
    assert len(MODULES) == 20
    with tab.page.expect_request("**/js/workspace.*.js"):
        tab.button("Files").click()


def answers(site, tab):
    with tab.sends():
        tab.say("hello")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")


def test_a_script_that_comes_late_keeps_no_page_from_its_socket(site, open_tab, clock):
    late_but_live(site, open_tab(), clock, HTMX)


def late_but_live(site, tab, clock, name):
    held = tab.hold(f"**/{name}")
    with tab.page.expect_websocket():
        with tab.page.expect_request(f"**/{name}"):
            tab.page.goto(f"{tab.address}/c/{site.conversation()}/", wait_until="commit")
        clock.run_for(500)  # in which htmx would begin
        held.release()
    answers(site, tab)


def test_a_script_that_does_not_come_is_said(site, open_tab):
    tab = open_tab()
    tab.expects("ERR_FAILED")
    tab.page.route("**/js/composer.*.js", lambda route: route.abort())
    tab.chat(site.conversation())
    expect(tab.page.get_by_role("alert").filter(has_text=FAULT)).to_be_visible()
    answers(site, tab)  # as a form


def test_who_types_before_the_last_script_has_come_goes_on_there(site, open_tab):
    tab = open_tab()
    held = tab.hold("**/js/subtasks.*.js")
    tab.page.goto(f"{tab.address}/c/{site.proposed()}/", wait_until="commit")
    field = tab.editor("Edit subtask 1").get_by_role("textbox").first

    def is_opened():
        tab.button("Edit subtask 1").click()
        return field.count()

    wait_for(tab, is_opened)  # its script may come a moment later than its button
    field.press_sequentially("Typed")
    held.release()
    tab.page.wait_for_load_state()
    expect(field).to_be_focused()


def test_that_htmx_does_not_come_is_said(site, open_tab):
    tab = open_tab()
    tab.expects("ERR_FAILED", "htmx is not defined")
    tab.page.route(f"**/{HTMX}", lambda route: route.abort())
    tab.chat(site.conversation())
    expect(tab.page.get_by_role("alert").filter(has_text=FAULT)).to_be_visible()


def test_plan_alone_without_a_plan_outlives_a_reload(site, open_tab):
    chat = site.conversation()
    tab = open_tab().chat(chat)
    tab.say("/plan")
    expect(tab.log).to_contain_text("No plan here yet")
    tab.page.reload()
    tab.sees_connection(LIVE)
    tab.say("/help")
    expect(tab.log).to_contain_text("begins a new conversation")


def test_without_scripts_a_message_is_sent_as_a_form(site, open_tab):
    tab = open_tab(java_script_enabled=False).chat(site.conversation())
    tab.message.fill("hello")
    tab.button("Send").click()
    expect(tab.log.locator(".own-message")).to_have_text(["hello"])
    tab.message.fill("/new")
    before = tab.page.url
    tab.button("Send").click()
    tab.page.wait_for_url(lambda url: url != before)
