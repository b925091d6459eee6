"""A key that saved in one place is no yes in the next one: neither while it is held, nor
pressed again in the same breath."""

import pytest
from playwright.sync_api import expect

from plans.models import Plan
from tests.tab import LIVE

MOMENT = 500  # ms from a change that an Enter made to the next one that counts
STAND_STILL = """() => {
  let now = performance.now();
  performance.now = () => now;
  window.later = (ms) => (now += ms);
}"""


@pytest.fixture
def tab(site, open_tab, clock):
    tab = open_tab().chat(site.scripted("hang"))
    tab.sees_connection(LIVE)
    return tab


def posts(tab):
    """The addresses to which the page sends something from now on."""
    sent = []
    tab.page.on("request", lambda each: sent.append(each.url) if each.method == "POST" else None)
    return sent


def sees_version_after(tab):
    version = int(tab.plan.get_attribute("data-version")) + 1
    return lambda: tab.sees_plan(version=version)


def rename(tab):
    return tab.edit(1, f"{tab.names()[0]}, renamed"), sees_version_after(tab)


def rename_the_plan(tab):
    tab.button("Edit the plan's title and description").click()
    field = tab.plan.locator("form.editor textarea").first
    field.fill("Renamed")
    return field, sees_version_after(tab)


def comment(tab):
    tab.button("Comment on subtask 1").click()
    field = tab.plan.get_by_role("textbox", name="Comment on subtask 1")
    field.fill("Why?")
    kept = tab.row(1).locator(".subtask-comment-place").get_by_role("group")
    return field, lambda: expect(kept).to_contain_text("Why?")


def add(tab):
    tab.button("Add a subtask").click()
    field = tab.editor("Add a subtask").get_by_role("textbox").first
    field.fill("One more")
    return field, sees_version_after(tab)


def hold_both(keys, sees):
    keys.down("Control")
    for _ in range(20):
        keys.down("Enter")  # a repeated one, from the second on
    sees()
    for _ in range(20):
        keys.down("Enter")


def hold_control(keys, sees):
    keys.down("Control")
    keys.press("Enter")
    sees()
    keys.press("Enter")
    keys.press("Enter")


def press_it_again(keys, sees):
    keys.press("Control+Enter")
    sees()
    keys.press("Control+Enter")


def press_it_again_at_once(keys, sees):
    keys.press("Control+Enter")
    keys.press("Control+Enter")
    sees()
    keys.press("Control+Enter")


TRIES = [
    (rename, hold_both),
    (rename, hold_control),
    (add, press_it_again_at_once),
    (comment, hold_both),
]


def test_the_keys_that_save_never_start_and_save_once(tab):
    for write, press in TRIES:
        saves_once_and_starts_nothing(tab, write, press)


def saves_once_and_starts_nothing(tab, write, press):
    keys, sent, rows = tab.page.keyboard, posts(tab), tab.rows.count()
    version = Plan.objects.get().version
    field, sees = write(tab)
    opened = len(sent)
    field.focus()
    press(keys, sees)
    expect(tab.plan.locator("form.editor")).to_have_count(0)
    keys.up("Enter")
    keys.up("Control")
    tab.page.clock.fast_forward(MOMENT)
    tab.has_sent_all()
    plan = Plan.objects.get()
    assert (len(sent) - opened, plan.approved_version) == (1, None), sent
    assert plan.version == version + (write is not comment)
    assert plan.subtasks.count() == rows + (write is add)


def test_enter_in_the_name_and_then_the_chord_of_the_form_never_starts(tab):
    field, sees = rename(tab)
    field.press("Enter")
    sees()
    sent = posts(tab)
    tab.page.keyboard.press("Control+Enter")
    tab.has_sent_all()
    assert sent == []
    tab.page.clock.fast_forward(MOMENT)
    tab.page.keyboard.press("Control+Enter")
    tab.sees_plan(approved_version=2)


def test_only_a_pause_after_the_last_chord_makes_the_next_one_a_yes(tab):
    """Who taps save again and again means save, however long it goes on."""
    keys, sent = tab.page.keyboard, posts(tab)
    tab.page.evaluate(STAND_STILL)
    field, sees = rename(tab)
    field.focus()
    keys.press("Control+Enter")
    sees()
    for _ in range(6):
        tab.page.evaluate("later(400)")
        keys.press("Control+Enter")
    tab.has_sent_all()
    assert [each.rpartition("/")[2] for each in sent] == ["edit"]
    tab.page.evaluate("later(500)")
    keys.press("Control+Enter")
    tab.sees_plan(approved_version=2)


def test_a_chord_on_a_row_opens_no_editor(tab):
    expect(tab.button("Start plan")).to_be_visible()
    tab.row(1).locator(".step-row").focus()
    tab.page.keyboard.press("Meta+Enter")
    tab.sees_plan(approved_version=1)
    expect(tab.plan.locator("form.editor")).to_have_count(0)


def test_a_key_that_stays_on_and_never_goes_up_takes_no_later_yes(tab):
    """macOS tells of caps lock once when it goes on."""
    keys = tab.page.keyboard
    keys.down("CapsLock")
    field, sees = rename(tab)
    field.press("Enter")
    sees()
    tab.page.clock.fast_forward(MOMENT)
    keys.press("Control+Enter")
    tab.sees_plan(approved_version=2)


def test_a_button_is_pressed_once_however_long_enter_is_held(tab):
    sent = posts(tab)
    tab.button("Ask for changes").focus()
    for _ in range(20):
        tab.page.keyboard.down("Enter")
    tab.page.keyboard.up("Enter")
    tab.edit(1, "Renamed")
    tab.editor("Edit subtask 1").get_by_role("button", name="Save").focus()
    for _ in range(20):
        tab.page.keyboard.down("Enter")
    tab.sees_plan(version=2)
    tab.page.keyboard.up("Enter")
    tab.has_sent_all()
    assert len([each for each in sent if "/edit" in each]) == 1
    assert not [each for each in sent if "/approve" in each]
