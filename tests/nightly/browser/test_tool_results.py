"""What tools give while they run and when they are done: how far they are, and images."""

import pytest
from playwright.sync_api import expect

from tests.fake_model import call, rule, say
from tests.inner import mcp

RULES = [
    rule(call("small__steps", count=600, seconds=0.2), user="^sweep", results=0),
    rule(say("Swept."), user="^sweep", results=1),
    rule(call("small__picture"), user="^show", results=0),
    rule(say("A dot."), results=1),
]


@pytest.fixture
def chat(site, programs):
    pytest.importorskip("mcp")
    from tests.agents.mcp_server import serve

    site.plays(*RULES)
    site.post("/tools", name="small", kind="mcp", command=programs.add("small", serve))
    site.change_agent(tools={"small": "allow"}, plan={"enabled": False})
    yield site.conversation()
    site.wait_for(mcp.aclose_all())


def send(page, words):
    page.get_by_role("textbox", name="Message").fill(words)
    page.keyboard.press("Enter")


@pytest.mark.usefixtures("working")
def test_progress_is_live_survives_a_reload_and_images_open_at_full_size(site, chat, open_tab):
    page = open_tab(f"/c/{chat}/").page
    send(page, "sweep the floor")
    row = page.locator("p.call-progress")
    expect(row).to_contain_text("of 600 · Sweeping")
    first = row.text_content()
    expect(row).not_to_have_text(first)
    page.reload()
    expect(row).to_contain_text("of 600 · Sweeping")
    expect(row).to_have_attribute("aria-live", "off")
    page.get_by_role("button", name="Stop the reply").click()
    expect(row).to_have_count(0)

    send(page, "show me")
    image = page.get_by_role("img", name="Image 1 of 1 from small__picture, 1 × 1 pixels")
    expect(image).to_be_visible()
    expect(image).to_have_js_property("naturalWidth", 1)
    with page.context.expect_page() as opened:
        image.click()
    opened.value.wait_for_url("**/images/1")
    assert opened.value.evaluate("document.contentType") == "image/png"
    opened.value.close()
