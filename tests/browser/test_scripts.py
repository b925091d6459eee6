"""The scripts of the page: each module may fail without taking the others with it."""

import re

import pytest
from playwright.sync_api import expect

from tests.inner import static_files
from tests.lint.test_layers import ROOT
from tests.tab import LIVE

FOLDER = ROOT / "static" / "js"
FILES = sorted(path.name for path in FOLDER.glob("*.js"))
SCRIPTS = {name: modules for name, (_, modules) in static_files.scripts(FOLDER).items()}
MODULES = {name.removesuffix(".js") for name in SCRIPTS["planside.js"]} - {"planside"}
KINDS = ("composer", "notices", "swaps", "texts")
# What comes when it is used, and what uses it.
PARTS = {
    "palette": lambda tab: tab.page.keyboard.press("Control+k"),
    "model_picker": lambda tab: tab.page.locator("#model").click(),
    "attachments": lambda tab: tab.page.locator("#files").set_input_files(A_FILE),
    "editing": lambda tab: tab.page.locator("#subtasks [data-edit]").first.click(),
}
A_FILE = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"}
BROKEN = "throw new Error('broken on purpose');"
FAULT = "Part of this page does not work"
# What a module may do while it is read: declare, and register what will be called later.
AT_TOP = re.compile(
    r"(import |export (const|let|function|async function) |const |let |function |async function "
    r"|(on|always|atStart|useOutbox)\(|(\w+\.)?addEventListener\(|/[/*]| \*|[ })\]]|$)"
)


def test_a_module_only_declares_and_registers_while_it_is_read():
    for name in FILES:
        if name in ("early.js", "planside.js"):  # one function; a list
            continue
        lines = (FOLDER / name).read_text().splitlines()
        loose = [line for line in lines if not AT_TOP.match(line)]
        assert loose == [], name


# A leaf, what others need, what sends, and what keeps the older from taking the place of the newer.
@pytest.mark.parametrize("name", KINDS)
def test_a_module_that_fails_is_said_and_the_page_still_sends(site, open_tab, name):
    sends_although_it_fails(site, open_tab(), name)


def sends_although_it_fails(site, tab, name):
    tab.expects("broken on purpose", "Cannot destructure")
    beginning = f'$module("{name}", () => {{'

    def break_it(route):
        joined = route.fetch().text()
        assert beginning in joined
        body = joined.replace(beginning, beginning + BROKEN)
        route.fulfill(content_type="text/javascript", body=body)

    tab.page.route("**/js/planside.js", break_it)
    chat = site.conversation()
    tab.chat(chat)
    expect(tab.page.get_by_role("alert").filter(has_text=FAULT)).to_be_visible()
    with tab.sends():
        tab.say("hello")
    expect(tab.log).to_contain_text("hello")
    site.drive()
    assert "Understood." in site.texts(chat)
    if name != "swaps":  # without it, what comes late may take the place of what is newer
        expect(tab.log).to_contain_text("Understood.")
    tab.page.wait_for_load_state()
    tab.page.keyboard.press("Control+k")
    if name not in needed_by("palette_door"):
        expect(tab.page.get_by_role("combobox", name="Search everything")).to_be_focused()


def needed_by(name):
    """The module and all that it imports."""
    imported = re.findall(r'from "\./(\w+)\.js"', (FOLDER / f"{name}.js").read_text())
    return {name}.union(*map(needed_by, imported))


def test_a_part_is_asked_for_when_it_is_used_and_not_before(site, open_tab):
    tab = open_tab()
    asked = []
    tab.page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    tab.chat(site.proposed())
    tab.sees_connection(LIVE)
    tab.page.wait_for_load_state()
    tab.has_sent_all()
    assert [name for name in asked if name.removesuffix(".js") in PARTS] == []
    for part in ("model_picker", "palette"):
        with tab.page.expect_request(f"**/js/{part}.js"):
            PARTS[part](tab)
        tab.page.keyboard.press("Escape")
    expect(tab.page.get_by_text(FAULT)).to_be_hidden()


@pytest.mark.parametrize("part", ["editing", "palette"])
def test_what_uses_a_part_is_done_once_it_is_there_or_said_not_to_have_got_through(
    site, open_tab, part
):
    waits_for_its_part(site, open_tab(), part)


def waits_for_its_part(site, tab, part):
    tab.expects(f"{part}.js", "ERR_FAILED")
    file = f"**/js/{part}.js"
    tab.page.route(file, lambda route: route.abort())
    tab.chat(site.proposed())
    tab.sees_connection(LIVE)
    tab.has_sent_all()
    PARTS[part](tab)
    expect(tab.page.get_by_text(LOST).first).to_be_visible()
    if part == "palette":
        tab.page.keyboard.press("Escape")
    held = tab.hold(file)
    with tab.page.expect_request(file):
        PARTS[part](tab)
    expect(done_by(tab, part)).to_be_hidden()
    held.release()
    expect(done_by(tab, part)).to_be_visible()


def test_a_file_that_is_pasted_goes_with_the_message_that_is_sent_at_once(site, open_tab):
    tab = open_tab()
    held = tab.hold("**/js/attachments.js")
    tab.chat(site.conversation())
    tab.sees_connection(LIVE)
    PARTS["attachments"](tab)
    tab.message.press_sequentially("look at it")
    tab.page.keyboard.press("Enter")
    expect(tab.message).to_have_value("look at it")
    held.release()
    sent = tab.log.locator("section.turn", has_text="look at it")
    expect(sent).to_contain_text("a.txt")


LOST = re.compile("did not get through")


def done_by(tab, part):
    return {
        "palette": tab.page.get_by_role("option").first,
        "model_picker": tab.page.locator("#find-model"),
        "attachments": tab.page.locator(".attachment").first,
        "editing": tab.page.locator("form.editor").first,
    }[part]


# The first thing that the first script does.
FIRST_BROKEN = """{
  const real = window.addEventListener;
  window.addEventListener = () => {
    window.addEventListener = real;
    throw new Error("broken on purpose");
  };
}"""


def test_without_the_script_that_comes_first_the_page_works(site, open_tab):
    tab = open_tab()
    tab.expects("broken on purpose")
    tab.page.add_init_script(FIRST_BROKEN)
    answers(site, tab.chat(site.conversation()))


def answers(site, tab):
    with tab.sends():
        tab.say("hello")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")


def test_a_script_that_comes_late_keeps_no_page_from_its_socket(site, open_tab, clock):
    late_but_live(site, open_tab(), clock, "htmx-with-ws.min.js")


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
    tab.expects("planside.js", "ERR_FAILED")
    tab.page.route("**/js/planside.js", lambda route: route.abort())
    tab.chat(site.conversation())
    expect(tab.page.get_by_role("alert").filter(has_text=FAULT)).to_be_visible()
    answers(site, tab)  # as a form


def test_plan_alone_without_a_plan_outlives_a_reload(site, open_tab):
    chat = site.conversation()
    tab = open_tab().chat(chat)
    tab.say("/plan")
    expect(tab.log).to_contain_text("No plan here yet")
    tab.page.reload()
    tab.sees_connection(LIVE)
    tab.say("/help")
    expect(tab.log).to_contain_text("begins a new conversation")


def test_what_is_sent_before_the_scripts_have_come_is_sent_once(site, open_tab):
    tab = open_tab()
    held = tab.hold("**/js/planside.js")
    tab.page.goto(f"{tab.address}/c/{site.conversation()}/", wait_until="commit")
    tab.message.press_sequentially("hello")
    tab.page.keyboard.press("Enter")
    tab.message.press_sequentially("typed on")
    with tab.sends():
        held.release()
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    expect(tab.log.locator(".own-message")).to_have_text(["hello"])
    expect(tab.message).to_have_value("typed on")


def test_without_scripts_a_message_is_sent_as_a_form(site, open_tab):
    tab = open_tab(java_script_enabled=False).chat(site.conversation())
    tab.message.fill("hello")
    tab.button("Send").click()
    expect(tab.log.locator(".own-message")).to_have_text(["hello"])
    tab.message.fill("/new")
    before = tab.page.url
    tab.button("Send").click()
    tab.page.wait_for_url(lambda url: url != before)
