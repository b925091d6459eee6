"""With a finger: everything that is pressed is large enough, and subtasks are dragged."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.tab import LIVE

FINGER = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
SMALL = """(least) => [...document.querySelectorAll("button, select, summary, input, textarea, a[class]")]
  .filter((e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .filter((e) => !e.matches("p *, dd *, .prose *, .link, [type=hidden], [tabindex='-1']"))
  .map((e) => [e, (e.matches("label *") ? e.closest("label") : e).getBoundingClientRect()])
  .filter(([, box]) => box.width > 1 && Math.min(box.width, box.height) < least)
  .map(([e, box]) => `${e.outerHTML.slice(0, 90)} ${Math.round(box.width)}x${Math.round(box.height)}`)"""


@pytest.mark.parametrize("page", ["appearance", "account", "people", "models", "tools"])
def test_what_is_pressed_in_the_settings_is_large_enough(open_tab, page):
    tab = open_tab(f"/settings/{page}/", **FINGER)
    expect(tab.page.get_by_role("main")).to_be_visible()
    assert tab.page.evaluate(SMALL, 24) == []
    buttons = [each for each in tab.page.evaluate(SMALL, 40) if each.startswith("<button")]
    assert buttons == []


def test_what_is_pressed_in_a_conversation_is_large_enough(product, open_tab):
    tab = open_tab(**FINGER).chat(product.scripted("quick"))
    tab.sees_connection(LIVE)
    assert tab.page.evaluate(SMALL, 24) == []
    tab.drawer_toggle.click()
    expect(tab.button("Start plan")).to_be_visible()
    assert tab.page.evaluate(SMALL, 24) == []


def touch(client, type, x=None, y=None):
    points = [] if x is None else [{"x": x, "y": y}]
    client.send("Input.dispatchTouchEvent", {"type": type, "touchPoints": points})


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_subtask_is_dragged_with_a_finger(product, open_tab):
    tab = open_tab(**FINGER).chat(product.scripted("quick"))
    tab.sees_connection(LIVE)
    tab.drawer_toggle.click()
    expect(tab.rows).to_have_count(3)
    tab.page.wait_for_timeout(400)  # the sheet slides in
    first, *others = tab.names()
    client = tab.page.context.new_cdp_session(tab.page)
    x, y = middle(tab.row(1).locator(".grip"))
    _, to = middle(tab.row(3))
    touch(client, "touchStart", x, y)
    for step in range(1, 11):
        touch(client, "touchMove", x, y + (to - y) * step / 10)
    touch(client, "touchEnd")
    tab.sees_plan(version=2)
    tab.sees_rows(*others, first)
