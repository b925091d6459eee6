"""What axe finds on a page in both themes at both widths; and forms and menus on a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE

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


def test_the_commands_say_what_they_do_on_a_phone(site, open_tab):
    tab = open_tab(f"/c/{site.conversation()}/", viewport=PHONE)
    tab.message.press_sequentially("/")
    options = tab.page.get_by_role("listbox", name="Commands").get_by_role("option")
    expect(options.first).to_be_visible()
    cut = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((it) => it.innerText)"
    assert options.locator("span").evaluate_all(cut) == []


def test_the_demo_model_says_whole_that_it_is_scripted(site, open_tab):
    tab = open_tab(f"/c/{site.conversation('docs-writer')}/", viewport=DESK)
    said = tab.page.get_by_role("button", name="Model: Demo model").get_by_text(
        "(scripted, offline)"
    )
    expect(said).to_be_visible()
    assert said.evaluate("(it) => it.scrollWidth - it.clientWidth") <= 0
