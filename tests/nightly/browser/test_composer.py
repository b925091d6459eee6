"""The message box on a phone."""

import pytest
from playwright.sync_api import expect

from tests.tab import LIVE


@pytest.mark.parametrize("width", [360, 390])
def test_the_invitation_is_readable_to_its_end_on_a_phone(site, open_tab, width):
    tab = open_tab(viewport={"width": width, "height": 740}).chat(site.conversation())
    tab.sees_connection(LIVE)
    tab.page.evaluate("document.fonts.ready.then(() => {})")
    invited = tab.message.evaluate("e => e.clientHeight")
    tab.message.fill(tab.message.get_attribute("placeholder"))
    expect(tab.message).to_have_js_property("clientHeight", invited)
