"""Where scrollbars take room of their own: message box and messages stand below each other."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import CHROMIUM, DESK, FIREFOX, FLAGS, sign_in
from tests.tab import Tab

EDGES = """() => ["#thread", ".foot"].map((part) => {
  const box = document.querySelector(part).getBoundingClientRect();
  return [box.left, box.right];
})"""


@pytest.fixture(params=["beside the text", "hidden"])
def tab(chromium, product, request):
    """Playwright hides scrollbars, unless it is told not to."""
    if FIREFOX:
        pytest.skip("Playwright hides no scrollbars in Firefox, nor shows them")
    shown = ["--hide-scrollbars"] if request.param == "beside the text" else None
    browser = chromium.browser_type.launch(
        executable_path=CHROMIUM, args=[*FLAGS, "--no-sandbox"], ignore_default_args=shown
    )
    product.session = product.session or sign_in(chromium, product)
    context = browser.new_context(storage_state=product.session, viewport=DESK)
    yield Tab(context.new_page(), product.address)
    browser.close()


def test_message_box_and_messages_have_the_same_edges_before_and_after_there_is_more_to_read(
    product, tab
):
    tab.chat(product.conversation("scripted"))
    tab.message.fill("tell me at length")
    before = tab.page.evaluate(EDGES)[1]
    tab.button("Send").click()
    expect(tab.log).to_contain_text("Paragraph 79")
    for width in (DESK["width"], 1024, 390):
        tab.page.set_viewport_size({"width": width, "height": 900})
        thread, foot = tab.page.evaluate(EDGES)
        assert thread == foot
        assert width != DESK["width"] or foot == before
