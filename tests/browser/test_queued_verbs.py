"""Changes of the plan from one page: one after the other, and never in conflict with themselves."""

import re

from playwright.sync_api import expect

from tests.tab import wait_for

LOST_BEFORE = "htmx:error: A change before it was not saved"


def cell(tab, number):
    return tab.row(number).get_by_role("group", name=re.compile(f"^Subtask {number}"))


def test_three_quick_moves_move_three_places(site, open_tab):
    tab = open_tab().chat(site.proposed())
    name = tab.names()[4]
    cell(tab, 5).focus()
    for _ in range(3):
        tab.page.keyboard.press("Alt+ArrowUp")
    tab.sees_plan(version=4)
    assert tab.names()[1] == name
    expect(tab.alerts).to_have_count(0)
    expect(cell(tab, 2)).to_be_focused()


def test_different_quick_changes_all_arrive_and_the_start_waits_for_them(site, open_tab):
    chat = site.scripted("hang")
    tab = open_tab().chat(chat)
    held = tab.hold("**/plan/subtasks/**")
    cell(tab, 3).focus()
    tab.page.keyboard.press("Alt+ArrowUp")
    # Not `dispatch_event`, at which Firefox's page crashes under Playwright.
    tab.button("Remove subtask 1").evaluate("button => button.click()")
    tab.button("Start plan").click()
    wait_for(tab, lambda: len(held) == 1)
    held[0].continue_()
    wait_for(tab, lambda: len(held) == 2)
    held[1].continue_()
    tab.sees_plan(version=3, approved_version=3)
    site.drive()
    tab.sees_plan(state="in_progress")
    assert [row["name"] for row in site.plan(chat)["subtasks"]] == [
        "Say what came of it",
        "Then hang",
    ]


def test_a_start_behind_ones_own_change_still_refuses_what_another_changed(site, open_tab):
    chat = site.scripted("quick")
    tab = open_tab().chat(chat)
    tab.expects("409", LOST_BEFORE)
    held = tab.hold("**/plan/subtasks/**")
    cell(tab, 3).focus()
    tab.page.keyboard.press("Alt+ArrowUp")
    tab.button("Start plan").click()
    wait_for(tab, lambda: len(held) == 1)
    plan = site.plan(chat)
    site.post(f"/plans/{plan['id']}/subtasks", name="Added elsewhere")
    held[0].continue_()
    expect(tab.alerts).to_contain_text("The plan is now v2")
    expect(tab.alerts).to_contain_text("Nothing was started.")
    assert site.plan(chat)["approved_version"] is None


def test_a_start_behind_a_change_that_was_lost_starts_nothing_and_says_so(site, open_tab):
    """What was started would still have the subtask that was removed before."""
    chat = site.scripted("quick")
    tab = open_tab().chat(chat)
    tab.expects("ERR_FAILED", LOST_BEFORE)
    held = tab.hold("**/plan/subtasks/**")
    sent = []
    tab.page.on("request", lambda each: sent.append(each.url))
    cell(tab, 3).focus()
    tab.page.keyboard.press("Delete")
    tab.button("Start plan").click()
    wait_for(tab, lambda: held)
    held[0].abort()
    expect(tab.alerts).to_have_text(
        "That did not get through. Check the connection and try again. "
        "A change before it was not saved. Nothing was started."
    )
    assert not [each for each in sent if "/approve" in each]
    with tab.sends():
        tab.button("Start plan").click()
    tab.sees_plan(version=1, approved_version=1)


def test_what_ends_a_plan_never_waits_behind_another_change(site, open_tab):
    tab = open_tab().chat(site.scripted("quick"))
    held = tab.hold("**/plan/subtasks/**")
    cell(tab, 3).focus()
    tab.page.keyboard.press("Alt+ArrowUp")
    tab.button("Cancel plan").click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Cancel plan").click()
    tab.sees_plan(state="abandoned")
    tab.expects("409")
    wait_for(tab, lambda: held)
    held[0].continue_()


def test_a_stop_says_which_subtasks_will_not_run(site, open_tab):
    tab = open_tab().chat(site.started("hang"))
    expect(tab.log).to_contain_text("I am at it")
    for behind, rest in enumerate(("", " and 3", " and 3 and 4", " and 3 to 5")):
        tab.subtasks.evaluate(
            """(list, count) => {
  const [first, runs, next] = list.querySelectorAll(":scope > li");
  list.next ??= next;
  list.replaceChildren(first, runs, ...Array.from({ length: count }, () => list.next.cloneNode(true)));
}""",
            behind,
        )
        tab.button("Stop plan").click()
        dialog = tab.page.get_by_role("dialog")
        ends = f"Subtask 2 ends where it is{rest}{' will not run' if rest else ''}. Files already"
        expect(dialog).to_contain_text(f"{ends} written stay. You can start again from subtask 2.")
        tab.page.keyboard.press("Escape")


KNOW = "(list) => list.querySelectorAll('button').forEach((each) => (each.was = each.ariaLabel))"
BECAME = """(list) => [...list.querySelectorAll("button")]
  .filter(({ was }) => was)
  .map(({ was, ariaLabel }) => [was, ariaLabel].map((words) => words.replace(/\\d+/, "N")))
  .filter(([was, is]) => was !== is)"""


def test_no_button_of_a_subtask_becomes_another_one_while_subtasks_are_moved(site, open_tab):
    """A subtask that comes to be the next one of a plan that was stopped may be skipped."""
    tab = open_tab().chat(site.started("hang"))
    expect(tab.log).to_contain_text("I am at it")
    tab.button("Stop plan").click()
    with tab.sends():
        tab.page.get_by_role("dialog").get_by_role("button", name="Stop plan").click()
    site.drive()
    tab.sees_plan(run="idle")
    tab.button("Add a subtask").click()
    tab.editor("Add a subtask").get_by_role("textbox").first.fill("Ask again")
    tab.editor("Add a subtask").get_by_role("button", name="Save").click()
    expect(tab.rows).to_have_count(4)
    for number in (4, 3):
        tab.subtasks.evaluate(KNOW)
        cell(tab, number).focus()
        tab.page.keyboard.press("Alt+ArrowUp")
        expect(cell(tab, number - 1)).to_be_focused()
        assert tab.subtasks.evaluate(BECAME) == []
    expect(tab.button("Skip subtask 2")).to_have_count(1)
