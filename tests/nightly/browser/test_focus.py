"""A dialog on a phone."""

from tests.browser.conftest import PHONE
from tests.browser.test_focus import dialog


def test_the_three_ways_of_retrying_stand_below_each_other_on_a_phone(site, open_tab):
    tab = open_tab(viewport=PHONE).chat(site.scripted("quick"))
    tab.page.locator("#retry-dialog").evaluate("(each) => each.showModal()")
    buttons = dialog(tab).get_by_role("button").all()
    boxes = [each.bounding_box() for each in buttons]
    assert len(boxes) == 3
    assert len({(box["x"], box["width"]) for box in boxes}) == 1
    assert len({box["y"] for box in boxes}) == 3
