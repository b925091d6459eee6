"""Where scrollbars take room of their own: message box and messages stand below each other."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import CHROMIUM, DESK, FIREFOX, FLAGS
from tests.tab import Tab

EDGES = """() => ["#thread", ".foot"].map((part) => {
  const box = document.querySelector(part).getBoundingClientRect();
  return [box.left, box.right];
})"""


@pytest.fixture(params=["beside the text", "hidden"])
def tab(chromium, site, request):
    """Playwright hides scrollbars, unless it is told not to."""
    if FIREFOX:
        pytest.skip("Playwright hides no scrollbars in Firefox, nor shows them")
    shown = ["--hide-scrollbars"] if request.param == "beside the text" else None
    browser = chromium.browser_type.launch(
        executable_path=CHROMIUM, args=[*FLAGS, "--no-sandbox"], ignore_default_args=shown
    )
    context = browser.new_context(viewport=DESK)
    context.add_cookies([site.session()])
    yield Tab(context.new_page(), site.address)
    browser.close()


def test_message_box_and_messages_have_the_same_edges_before_and_after_there_is_more_to_read(
    site, tab
):
    tab.chat(site.conversation())
    tab.message.fill("tell me at length")
    before = tab.page.evaluate(EDGES)[1]
    with tab.sends():
        tab.button("Send").click()
    site.drive()
    expect(tab.log).to_contain_text("Paragraph 79")
    for width in (DESK["width"], 1024, 390):
        tab.page.set_viewport_size({"width": width, "height": 900})
        thread, foot = tab.page.evaluate(EDGES)
        assert thread == foot
        assert width != DESK["width"] or foot == before
