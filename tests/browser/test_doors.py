"""What is decided on a page is about the plan and version that were on the screen, even when the
drawer has changed underneath."""

import pytest
from playwright.sync_api import expect

from tests.tab import A_MOMENT, LIVE

SENT_AGAIN = 2_100  # ms after which what did not get through is sent again
REFUSED = r"/c/\d+/plan/\S+ 4|\b4\d\d\b"


def put_beside(site, chat, title="Another"):
    """Another plan gets the drawer; the one before stays open."""
    subtasks = [{"name": "One"}, {"name": "Two"}]
    return site.post("/plans", conversation=chat, title=title, subtasks=subtasks)


@pytest.fixture
def chat(site):
    return site.scripted("hang")


@pytest.fixture
def cut_off(open_tab, chat):
    """A page that shows the plan, and hears of no change before it sends something."""
    tab = open_tab(blocked=True)
    tab.expects("WebSocket", "ERR_FAILED", REFUSED)
    tab.hears_nothing_until_it_asks()
    tab.chat(chat)
    tab.sees_plan(version=1)
    return tab


def test_a_page_that_fell_behind_never_starts_another_plan(site, clock, cut_off, chat):
    other = put_beside(site, chat)
    cut_off.button("Start plan").click()
    expect(cut_off.plan.get_by_role("alert")).to_contain_text(
        "“Another” (v1) is in the drawer now."
    )
    assert site.plan(chat)["approved_version"] is None
    clock.fast_forward(A_MOMENT)  # who presses now has read it
    with cut_off.sends():
        cut_off.button("Start plan").click()
    plan = site.plan(chat)
    assert (plan["id"], plan["approved_version"]) == (other["id"], 1)


def test_what_was_typed_on_a_page_that_fell_behind_stays_and_says_why(site, cut_off, chat):
    field = cut_off.edit(1, "Typed here")
    put_beside(site, chat)
    field.press("Enter")
    expect(cut_off.alerts.first).to_contain_text("“Another” (v1) is in the drawer now.")
    kept = "() => [...document.querySelectorAll('textarea')].map((field) => field.value)"
    assert "Typed here" in cut_off.page.evaluate(kept)


def another_plan(site, chat, plan):
    put_beside(site, chat, "A third")


def another_version(site, chat, plan):
    site.post(f"/plans/{plan}/subtasks", name="Three")


@pytest.mark.parametrize("replace", [another_plan, another_version])
def test_a_refusal_goes_with_the_plan_or_version_it_was_about(site, cut_off, chat, replace):
    other = put_beside(site, chat)["id"]
    cut_off.button("Start plan").click()
    alert = cut_off.plan.locator("#plan-alert")
    expect(alert).to_contain_text("“Another” (v1) is in the drawer now.")
    cut_off.say("/help")
    expect(cut_off.log).to_contain_text("/clear")
    expect(alert).to_contain_text("“Another” (v1) is in the drawer now.")
    replace(site, chat, other)
    cut_off.say("/help")
    expect(alert).to_be_empty()


def test_a_refusal_in_a_dialog_is_gone_when_it_is_opened_again(site, open_tab):
    tab = open_tab()
    tab.expects(REFUSED)
    tab.chat(site.started("hang"))
    tab.button("New plan beside this one").click()
    dialog = tab.page.get_by_role("dialog", name="New plan beside this one")
    dialog.get_by_role("textbox").fill(" ")
    dialog.get_by_role("button", name="Ask for a plan").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Say what you want")
    dialog.get_by_role("button", name="Back").click()
    tab.button("New plan beside this one").click()
    expect(dialog.locator("[role=alert]")).to_be_empty()


def test_an_ok_on_a_page_that_fell_behind_starts_nothing(site, cut_off, chat):
    put_beside(site, chat)
    cut_off.say("ok")
    expect(cut_off.log).to_contain_text("“Another” (v1) is in the drawer now. Nothing was started.")
    assert site.plan(chat)["approved_version"] is None


@pytest.mark.parametrize(
    ("replace", "says"),
    [
        (another_plan, "“A third” (v1) is in the drawer now. Nothing was started."),
        (another_version, "The plan is now v2, not v1."),
    ],
)
def test_an_ok_that_waited_is_about_what_was_seen_when_it_was_typed(
    site, open_tab, clock, chat, replace, says
):
    tab = open_tab().chat(chat)
    tab.expects("ERR_FAILED")
    tab.sees_connection(LIVE)
    shown = site.plan(chat)["id"]
    tab.page.route("**/say", lambda route: route.abort())
    tab.say("ok")
    expect(tab.page.get_by_label("Message that waits")).to_contain_text("Waiting to send")
    replace(site, chat, shown)
    now = site.plan(chat)
    tab.sees_plan(plan_id=now["id"], version=now["version"])
    tab.page.unroute("**/say")
    clock.fast_forward(SENT_AGAIN)
    expect(tab.log).to_contain_text(says)
    assert site.get(f"/plans/{shown}")["approved_version"] is None
    assert site.plan(chat)["approved_version"] is None


def test_an_open_dialog_is_about_the_plan_it_was_opened_for(site, open_tab, chat):
    tab = open_tab().chat(chat)
    shown = site.plan(chat)["id"]
    tab.button("Cancel plan").click()
    other = put_beside(site, chat)["id"]
    expect(tab.page.locator("#plan")).to_have_attribute("data-plan-id", str(other))
    with tab.sends():
        tab.page.get_by_role("dialog").get_by_role("button", name="Cancel plan").click()
    assert site.get(f"/plans/{shown}")["state"] == "abandoned"
    assert site.get(f"/plans/{other}")["state"] == "todo"


@pytest.mark.parametrize("place", ["Edit subtask 1", "Edit the plan's title and description"])
def test_an_open_editor_is_never_saved_or_started_with_another_plan(
    site, open_tab, clock, chat, place
):
    tab = open_tab()
    tab.expects(REFUSED)
    tab.chat(chat)
    tab.button(place).click()
    field = tab.plan.locator("form.editor textarea").first
    field.fill("Typed for the first plan")
    expect(tab.button("Start with my edits")).to_be_visible()
    other = put_beside(site, chat)["id"]
    expect(tab.page.locator("#plan")).to_have_attribute("data-plan-id", str(other))
    expect(field).to_have_value("Typed for the first plan")
    expect(tab.plan.get_by_text("This belongs to another plan")).to_be_visible()
    tab.plan.locator("form.editor [data-save]").click()
    expect(tab.plan.get_by_text("is in the drawer now. Nothing was changed.")).to_be_visible()
    clock.fast_forward(A_MOMENT)
    with tab.sends():
        tab.button("Start plan").click()
    plan = site.plan(chat)
    assert plan["approved_version"] == 1
    assert (plan["title"], [s["name"] for s in plan["subtasks"]]) == ("Another", ["One", "Two"])


def test_an_ok_beside_an_unsaved_edit_points_to_the_button(site, open_tab, chat):
    tab = open_tab().chat(chat)
    tab.edit(1, "Typed and not saved")
    tab.say("ok")
    expect(tab.log).to_contain_text("Press Start with my edits")
    assert site.plan(chat)["approved_version"] is None


def test_a_plan_is_asked_for_beside_the_one_that_is_shown(site, open_tab, chat):
    tab = open_tab().chat(chat)
    shown = site.plan(chat)["id"]
    tab.button("New plan beside this one").click()
    tab.page.get_by_label("What do you want to end up with?").fill("I want to quick")
    with tab.sends():
        tab.button("Ask for a plan").click()
    site.drive()
    assert site.plan(chat)["id"] != shown
    before = site.get(f"/plans/{shown}")
    assert (before["state"], before["active"]) == ("todo", False)


def test_a_start_that_waits_for_another_plan_says_why_until_it_does_not(site, open_tab):
    chat = site.started("question")
    tab = open_tab().chat(chat)
    first = site.plan(chat)["id"]
    put_beside(site, chat)
    start = tab.button("Start plan")
    start.click(force=True)  # of what is disabled Playwright waits for the end
    alert = tab.plan.locator("#plan-alert")
    expect(alert).to_contain_text("is paused in the midst of a subtask: stop it first.")
    expect(start).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    site.post(f"/plans/{first}/stop")
    expect(alert).to_be_empty()
    expect(start).to_be_enabled()


def test_a_question_of_a_plan_that_is_not_shown_is_answered_where_it_is_asked(site, open_tab):
    chat = site.started("question")
    tab = open_tab().chat(chat)
    first = site.plan(chat)["id"]
    put_beside(site, chat)
    line = tab.plan.locator(f"#beside-{first}")
    expect(line).to_contain_text("A plan to question · Which tone?")
    expect(tab.drawer_toggle).to_have_accessible_name("2 plans, waiting for your answer")
    expect(tab.drawer_toggle).to_contain_text("2 plans")
    row = tab.page.locator(f"#conversation-{chat}")
    expect(row.get_by_role("img", name="Waiting for your answer")).to_be_visible()
    line.get_by_role("link", name="Show").click()
    answer = tab.log.get_by_role("textbox", name="Your answer")
    expect(answer).to_be_focused()
    answer.press_sequentially("A dry")
    site.says(chat, "is it long?")  # what else happens leaves the field alone
    expect(tab.log).to_contain_text("is it long?")
    answer.press_sequentially(" one")
    expect(answer).to_have_value("A dry one")
    answer.press("Control+Enter")
    expect(answer).to_have_count(0)
    expect(line).to_have_count(0)
    assert site.get(f"/plans/{first}")["attention"] != "question"
    expect(tab.log).to_contain_text("A dry one")
