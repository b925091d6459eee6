"""What is decided on a page is about the plan and version that were on the screen, even when the
drawer has changed underneath."""

import pytest
from playwright.sync_api import expect

from tests.tab import A_MOMENT, LIVE

REFUSED = r"/c/\d+/plan/\S+ 4|\b4\d\d\b"


def put_beside(product, chat, title="Another"):
    """Another plan gets the drawer; the one before stays open."""
    subtasks = [{"name": "One"}, {"name": "Two"}]
    return product.post("/plans", conversation=chat, title=title, subtasks=subtasks)


@pytest.fixture
def chat(product):
    return product.scripted("hang")


@pytest.fixture
def cut_off(open_tab, chat):
    """A page that shows the plan, and hears of no change before it sends something."""
    tab = open_tab(blocked=True)
    tab.expects("WebSocket", "ERR_FAILED", REFUSED)
    tab.hears_nothing_until_it_asks()
    tab.chat(chat)
    tab.sees_plan(version=1)
    return tab


def test_a_page_that_fell_behind_never_starts_another_plan(product, cut_off, chat):
    other = put_beside(product, chat)
    cut_off.button("Start plan").click()
    expect(cut_off.plan.get_by_role("alert")).to_contain_text(
        "“Another” (v1) is in the drawer now."
    )
    assert product.plan(chat)["approved_version"] is None
    cut_off.page.wait_for_timeout(A_MOMENT)
    cut_off.button("Start plan").click()
    product.wait(chat, lambda plan: plan["id"] == other["id"] and plan["approved_version"] == 1)


def test_what_was_typed_on_a_page_that_fell_behind_stays_and_says_why(product, cut_off, chat):
    field = cut_off.edit(1, "Typed here")
    put_beside(product, chat)
    field.press("Enter")
    expect(cut_off.alerts.first).to_contain_text("“Another” (v1) is in the drawer now.")
    kept = "() => [...document.querySelectorAll('textarea')].map((field) => field.value)"
    assert "Typed here" in cut_off.page.evaluate(kept)


def another_plan(product, chat, plan):
    put_beside(product, chat, "A third")


def another_version(product, chat, plan):
    product.post(f"/plans/{plan}/subtasks", name="Three")


@pytest.mark.parametrize("replace", [another_plan, another_version])
def test_a_refusal_goes_with_the_plan_or_version_it_was_about(product, open_tab, replace):
    chat = product.started("question")
    product.wait(chat, lambda plan: plan["question"])
    other = put_beside(product, chat)["id"]
    tab = open_tab()
    tab.expects(REFUSED)
    tab.chat(chat)
    tab.sees_connection(LIVE)
    tab.button("Start plan").click()
    alert = tab.plan.locator("#plan-alert")
    expect(alert).to_contain_text("is paused in the midst of a subtask: stop it first.")
    product.post(f"/conversations/{chat}/messages", text="/help")
    expect(tab.log).to_contain_text("/clear")
    expect(alert).to_contain_text("is paused in the midst of a subtask")
    replace(product, chat, other)
    expect(alert).to_be_empty()


def test_a_refusal_in_a_dialog_is_gone_when_it_is_opened_again(product, open_tab):
    tab = open_tab()
    tab.expects(REFUSED)
    tab.chat(product.started("hang"))
    tab.button("New plan beside this one").click()
    dialog = tab.page.get_by_role("dialog", name="New plan beside this one")
    dialog.get_by_role("textbox").fill(" ")
    dialog.get_by_role("button", name="Ask for a plan").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Say what you want")
    dialog.get_by_role("button", name="Back").click()
    tab.button("New plan beside this one").click()
    expect(dialog.locator("[role=alert]")).to_be_empty()


def test_an_ok_on_a_page_that_fell_behind_starts_nothing(product, cut_off, chat):
    put_beside(product, chat)
    cut_off.say("ok")
    expect(cut_off.log).to_contain_text("“Another” (v1) is in the drawer now. Nothing was started.")
    assert product.plan(chat)["approved_version"] is None


@pytest.mark.parametrize(
    ("replace", "says"),
    [
        (another_plan, "“A third” (v1) is in the drawer now. Nothing was started."),
        (another_version, "The plan is now v2, not v1."),
    ],
)
def test_an_ok_that_waited_is_about_what_was_seen_when_it_was_typed(
    product, open_tab, chat, replace, says
):
    tab = open_tab().chat(chat)
    tab.expects("ERR_FAILED")
    tab.sees_connection(LIVE)
    shown = product.plan(chat)["id"]
    tab.page.route("**/say", lambda route: route.abort())
    tab.say("ok")
    expect(tab.page.get_by_label("Message that waits")).to_contain_text("Waiting to send")
    replace(product, chat, shown)
    now = product.plan(chat)
    tab.sees_plan(plan_id=now["id"], version=now["version"])
    tab.page.unroute("**/say")
    expect(tab.log).to_contain_text(says)
    assert product.get(f"/plans/{shown}")["approved_version"] is None
    assert product.plan(chat)["approved_version"] is None


def test_an_open_dialog_is_about_the_plan_it_was_opened_for(product, open_tab, chat):
    tab = open_tab().chat(chat)
    shown = product.plan(chat)["id"]
    tab.button("Cancel plan").click()
    other = put_beside(product, chat)["id"]
    expect(tab.page.locator("#plan")).to_have_attribute("data-plan-id", str(other))
    tab.page.get_by_role("dialog").get_by_role("button", name="Cancel plan").click()
    product.wait(chat, lambda plan: product.get(f"/plans/{shown}")["state"] == "abandoned")
    assert product.get(f"/plans/{other}")["state"] == "todo"


@pytest.mark.parametrize("place", ["Edit subtask 1", "Edit the plan's title and description"])
def test_an_open_editor_is_never_saved_or_started_with_another_plan(product, open_tab, chat, place):
    tab = open_tab()
    tab.expects(REFUSED)
    tab.chat(chat)
    tab.button(place).click()
    field = tab.plan.locator("form.editor textarea").first
    field.fill("Typed for the first plan")
    expect(tab.button("Start with my edits")).to_be_visible()
    other = put_beside(product, chat)["id"]
    expect(tab.page.locator("#plan")).to_have_attribute("data-plan-id", str(other))
    expect(field).to_have_value("Typed for the first plan")
    expect(tab.plan.get_by_text("This belongs to another plan")).to_be_visible()
    tab.plan.locator("form.editor [data-save]").click()
    expect(tab.plan.get_by_text("is in the drawer now. Nothing was changed.")).to_be_visible()
    tab.page.wait_for_timeout(A_MOMENT)
    tab.button("Start plan").click()
    product.wait(chat, lambda plan: plan["approved_version"] == 1)
    plan = product.plan(chat)
    assert (plan["title"], [s["name"] for s in plan["subtasks"]]) == ("Another", ["One", "Two"])


def test_an_ok_beside_an_unsaved_edit_points_to_the_button(product, open_tab, chat):
    tab = open_tab().chat(chat)
    tab.edit(1, "Typed and not saved")
    tab.say("ok")
    expect(tab.log).to_contain_text("Press Start with my edits")
    assert product.plan(chat)["approved_version"] is None


def test_a_plan_is_asked_for_beside_the_one_that_is_shown(product, open_tab, chat):
    tab = open_tab().chat(chat)
    shown = product.plan(chat)["id"]
    tab.button("New plan beside this one").click()
    tab.page.get_by_label("What do you want to end up with?").fill("I want to quick")
    tab.button("Ask for a plan").click()
    product.wait(chat, lambda plan: plan["id"] != shown)
    before = product.get(f"/plans/{shown}")
    assert (before["state"], before["active"]) == ("todo", False)
