"""Every page in both themes, at a desk and on a phone: axe-core finds nothing to complain about."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE
from tests.tab import A_RUN

THEMES = ("light", "dark")
# That rule takes a label further down in a pane that scrolls for a hidden one; `label` asks for names.
RULES = {"label-title-only": False, "label-content-name-mismatch": True}
OPTIONS = {
    "resultTypes": ["violations"],
    "rules": {name: {"enabled": is_on} for name, is_on in RULES.items()},
}


def violations(tab):
    """What axe finds in both themes at both widths."""
    return [fault for size in (DESK, PHONE) for fault in at_width(tab, size)]


def at_width(tab, size):
    tab.page.set_viewport_size(size)
    for theme in THEMES:
        tab.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        width = tab.page.evaluate("document.documentElement.scrollWidth")
        if width > size["width"]:
            yield f"{theme} {size['width']}: the page is {width} px wide"
        for found in Axe().run(tab.page, options=OPTIONS).response["violations"]:
            nodes = "; ".join(node["html"][:160] for node in found["nodes"][:4])
            yield f"{theme} {size['width']}: {found['id']}: {found['help']}: {nodes}"


def with_plan(tab):
    """On a phone the sheet is what there is to see."""
    expect(tab.plan).to_be_visible()
    desk = list(at_width(tab, DESK))
    tab.page.set_viewport_size(PHONE)
    if not tab.plan.is_visible():
        tab.drawer_toggle.click()
        expect(tab.plan).to_be_visible()
    sheet = list(at_width(tab, PHONE))
    tab.page.keyboard.press("Escape")
    expect(tab.plan).to_be_hidden()
    return desk + sheet + list(at_width(tab, PHONE))


@pytest.mark.parametrize(
    "path",
    [
        *("/settings/agents/", "/settings/models/", "/settings/tools/", "/settings/chains/"),
        *("/settings/approvals/", "/settings/appearance/", "/settings/account/"),
        *("/settings/people/", "/plans/", "/nowhere/at/all"),
    ],
)
def test_a_page_without_a_conversation(product, open_tab, path):
    product.proposed()
    tab = open_tab()
    tab.expects("404")
    tab.open(path)
    expect(tab.page.get_by_role("main")).to_be_visible()
    assert violations(tab) == []


def test_the_page_to_sign_in(open_tab):
    tab = open_tab("/", signed_in=False)
    expect(tab.page.get_by_role("heading", name="Sign in to Planside")).to_be_visible()
    assert violations(tab) == []


def test_the_refusal_of_a_used_link(product, open_tab):
    open_tab("/")
    tab = open_tab(signed_in=False)
    tab.expects("403")
    tab.page.goto(product.server.link)
    expect(tab.alerts).to_have_count(1)
    assert violations(tab) == []


def test_the_front_page_and_an_empty_conversation(product, open_tab):
    tab = open_tab().chat(product.conversation())
    expect(tab.page.get_by_role("heading", name="What should")).to_be_visible()
    assert violations(tab) == []
    tab.open("/")
    expect(tab.message).to_be_visible()


def test_a_proposed_plan(product, open_tab):
    tab = open_tab().chat(product.proposed())
    assert with_plan(tab) == []


def test_a_plan_with_an_open_editor(product, open_tab):
    tab = open_tab().chat(product.proposed())
    tab.edit(2, "Another name")
    assert violations(tab) == []


def test_a_running_plan(product, open_tab):
    tab = open_tab().chat(product.started("hang"))
    expect(tab.row(2)).to_have_attribute("data-state", "in_progress")
    assert with_plan(tab) == []


def test_a_failed_run(product, open_tab):
    tab = open_tab().chat(product.started("fail"))
    expect(tab.button("Retry subtask 2")).to_be_visible(timeout=A_RUN)
    assert with_plan(tab) == []


def test_a_question_in_mid_run(product, open_tab):
    tab = open_tab().chat(product.started("question"))
    expect(tab.plan.get_by_text("Which tone?")).to_be_visible()
    assert with_plan(tab) == []


def test_a_call_that_waits_for_approval(product, open_tab, careful):
    tab = open_tab().chat(product.started("approve"))
    expect(tab.button("Allow once")).to_be_visible()
    assert with_plan(tab) == []


def test_a_finished_plan(product, open_tab):
    chat = product.started("quick")
    tab = open_tab().chat(chat)
    tab.sees_plan(within=A_RUN, state="done")
    assert with_plan(tab) == []


def test_a_model_that_refuses_the_key(product, open_tab):
    tab = open_tab().chat(product.conversation("scripted"))
    tab.say("refuse the key")
    expect(tab.alerts).to_have_count(1)
    assert violations(tab) == []


def test_a_reply_while_it_is_written(product, open_tab):
    tab = open_tab().chat(product.conversation("scripted"))
    tab.say("tell me slowly")
    expect(tab.log).to_contain_text("Paragraph")
    assert violations(tab) == []


def test_what_is_shown_once_and_the_list_of_keys(product, open_tab):
    tab = open_tab("/settings/account/")
    tab.button("Make a sign-in link").click()
    expect(tab.button("Copy link")).to_be_focused()
    tab.button("New token").click()
    tab.page.get_by_label("Name, after what uses it").fill("Nightly build")
    tab.page.keyboard.press("Enter")
    expect(tab.button("Copy token")).to_be_focused()
    assert violations(tab) == []
    tab.page.keyboard.press("?")
    expect(tab.page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert violations(tab) == []
    tab.page.keyboard.press("Escape")
    tab.button("Revoke Nightly build").click()
    expect(tab.page.get_by_role("dialog", name="Revoke “Nightly build”?")).to_be_visible()
    assert violations(tab) == []
    tab.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(tab.button("Revoke Nightly build")).to_have_count(0)


@pytest.mark.parametrize(
    ("path", "opener"),
    [("/settings/tools/", "Add service"), ("/settings/models/", "Add provider")],
)
def test_a_form_in_a_dialog_is_as_wide_as_a_phone_lets_it_be(open_tab, path, opener):
    tab = open_tab(path, viewport=PHONE)
    tab.button(opener).click()
    dialog = tab.page.get_by_role("dialog", name=opener)
    expect(dialog).to_be_visible()
    over = dialog.evaluate("(it) => it.scrollWidth - it.clientWidth")
    assert over == 0, f"it scrolls sideways by {over} px"


def test_the_commands_say_what_they_do_on_a_phone(product, open_tab):
    tab = open_tab(f"/c/{product.conversation('scripted')}/", viewport=PHONE)
    tab.message.press_sequentially("/")
    options = tab.page.get_by_role("listbox", name="Commands").get_by_role("option")
    expect(options.first).to_be_visible()
    cut = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((it) => it.innerText)"
    assert options.locator("span").evaluate_all(cut) == []


def test_the_demo_model_says_whole_that_it_is_scripted(product, open_tab):
    tab = open_tab(f"/c/{product.conversation()}/", viewport=DESK)
    said = tab.page.get_by_role("button", name="Model: Demo model").get_by_text(
        "(scripted, offline)"
    )
    expect(said).to_be_visible()
    assert said.evaluate("(it) => it.scrollWidth - it.clientWidth") <= 0
