"""Several tabs, no socket, a phone: every reader sees the same rows."""

import re
from threading import Event

from playwright.sync_api import expect

from tests.browser.conftest import FIREFOX
from tests.fake_model import call, rule, say
from tests.tab import A_MOMENT, LIVE, POLLING, wait_for

BETWEEN_POLLS = 5_000  # ms


def test_two_tabs_show_the_same_rows_live(site, open_tab, clock):
    chat = site.proposed()
    one, other = open_tab().chat(chat), open_tab().chat(chat)
    for tab in (one, other):
        tab.sees_connection(LIVE)

    one.rename(1, "Renamed in one tab")
    other.sees_plan(version=2)
    expect(other.row(1)).to_contain_text("Renamed in one tab")
    other.remove(5)
    one.sees_plan(version=3)
    expect(one.rows).to_have_count(4)
    clock.fast_forward(A_MOMENT)
    with one.sends():
        one.button("Start v3").click()
    other.sees_plan(approved_version=3)
    site.drive()
    for tab in (one, other):
        tab.sees_plan(state="done", run="idle")
    # The one may have the closing words a moment before the other.
    wait_for(one, lambda: (drawer(one), said(one)) == (drawer(other), said(other)))


def test_a_conversation_that_was_deleted_elsewhere_is_said_to_be_gone(site, open_tab):
    chat = site.started("hang")
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    expect(tab.plan.get_by_text("Thinking", exact=True)).to_be_visible()
    site.delete(f"/conversations/{chat}")
    tab.sees_connection("Deleted")
    expect(tab.plan.get_by_text("Thinking", exact=True)).to_be_hidden()
    expect(tab.plan.get_by_text(re.compile(r"Last seen running at \d"))).to_be_visible()
    tab.button("Leave").click()
    expect(tab.page).not_to_have_url(re.compile(f"/c/{chat}/"))


def test_an_open_editor_is_never_overwritten_by_another_tab(site, open_tab):
    chat = site.proposed()
    one, other = open_tab().chat(chat), open_tab().chat(chat)
    polls = re.compile("/drawer$")
    other.page.route(polls, lambda route: route.abort())  # no poll helps
    other.expects("Failed to load resource")
    editor, said = other.editor("Edit subtask 2"), other.row(2).get_by_role("alert")
    for name, version in (("Renamed over there", 2), ("And once more", 3)):
        field = other.edit(2, "Typed here and not saved")
        one.rename(2, name)
        other.sees_plan(version=version)
        expect(field).to_have_value("Typed here and not saved")
        expect(field).to_be_focused()
        expect(said).to_have_text("Changed elsewhere. Your text is kept.")
        if version == 2:
            editor.get_by_role("button", name="Cancel").click()
            expect(other.row(2)).to_contain_text("Renamed over there")
    editor.get_by_role("button", name="Save").click()
    one.sees_plan(version=4)
    expect(one.row(2)).to_contain_text("Typed here and not saved")


def test_of_a_subtask_removed_elsewhere_the_text_is_kept_if_anything_was_typed(site, open_tab):
    chat = site.proposed()
    one, other = open_tab().chat(chat), open_tab().chat(chat)
    other.button("Edit subtask 2").click()
    one.rename(2, "Renamed over there")
    expect(other.row(2).get_by_role("alert")).to_have_text("Changed elsewhere.")
    one.remove(2)
    other.sees_plan(version=3)
    expect(other.plan.locator("form.editor")).to_have_count(0)
    expect(other.plan).not_to_contain_text("kept")
    field = other.edit(2, "Typed here and not saved")
    one.remove(2)
    other.sees_plan(version=4)
    expect(field).to_have_value("Typed here and not saved")
    expect(other.plan.get_by_text("This was removed elsewhere. Your text is kept.")).to_be_visible()


def test_a_message_and_its_streamed_reply_reach_the_other_tab(site, open_tab):
    goes_on = Event()
    halves = say("Paragraph 1", hang=goes_on, then=say(", and Paragraph 8"))
    site.plays(rule(halves, user="in two halves"))
    chat = site.conversation()
    one, other = open_tab().chat(chat), open_tab().chat(chat)
    other.sees_connection(LIVE)
    with one.sends():
        one.say("tell me in two halves")
    site.drive()
    for tab in (one, other):
        expect(tab.log).to_contain_text("Paragraph 1")
        expect(tab.button("Stop the reply")).to_be_visible()
    goes_on.set()
    site.drive()
    for tab in (one, other):
        expect(tab.log).to_contain_text("Paragraph 8")
        expect(tab.button("Stop the reply")).to_be_hidden()
    expect(one.message).to_have_value("")
    wait_for(one, lambda: said(one) == said(other))


def test_clearing_empties_the_drawer_in_every_tab(site, open_tab):
    chat = site.scripted("quick")
    one, other = open_tab().chat(chat), open_tab().chat(chat)
    other.sees_plan(state="todo")
    one.say("/clear")
    for tab in (one, other):
        expect(tab.rows).to_have_count(0)
        expect(tab.plan).to_contain_text("No open plan here.")


def test_a_press_in_the_moment_in_which_the_plan_changes_is_no_yes(site, open_tab, clock):
    chat = site.proposed()
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    tab.page.evaluate(PRESSED_AS_IT_CHANGES)
    add_subtask(site, chat, "Nobody has read this")
    tab.sees_plan(version=2)
    tab.has_sent_all()
    assert site.plan(chat)["approved_version"] is None
    clock.fast_forward(A_MOMENT)
    tab.button("Start v2").click()
    tab.sees_plan(approved_version=2)


def test_without_a_socket_the_walk_reaches_its_end_by_polls(site, open_tab, clock):
    chat = site.proposed()
    tab = open_tab(blocked=True).chat(chat)
    tab.expects("WebSocket")
    tab.sees_connection(POLLING)
    answers = []
    tab.page.on("response", lambda response: answers.append((kind(response), response.status)))
    add_subtask(site, chat, "Added elsewhere")
    clock.fast_forward(BETWEEN_POLLS)
    tab.sees_plan(version=2)
    expect(tab.rows).to_have_count(6)
    tab.rename(1, "Renamed without a socket")
    tab.sees_plan(version=3)
    tab.remove(5)
    with tab.sends():
        tab.button("Start v4").click()
    site.drive()
    clock.fast_forward(BETWEEN_POLLS)
    tab.sees_plan(state="done", version=4)
    expect(tab.row(1)).to_contain_text("Renamed without a socket")
    wait_for(tab, lambda: ("changes", 200) in answers)
    tab.sees_connection(POLLING)

    def polls_bring():
        answers.clear()
        clock.fast_forward(BETWEEN_POLLS)
        wait_for(tab, lambda: {"changes", "drawer"} <= {name for name, _ in answers})
        return {status for name, status in answers if name in ("changes", "drawer")}

    wait_for(tab, lambda: polls_bring() == {304})


def test_attempts_that_failed_alike_since_the_last_poll_are_shown_in_the_last_of_them(
    site, open_tab, clock
):
    fails = call("fail_subtask", error="The disk is full.")
    site.change_agent(tools={"write_file": "ask"})
    asks = call("write_file", path="new.txt", content="new")
    site.plays(rule(fails, times=1), rule(asks, times=1), rule(fails))
    chat = site.ran("Write it down")
    tab = open_tab(blocked=True).chat(chat)
    tab.expects("WebSocket")
    groups = tab.log.locator(".turn-group")
    expect(groups).to_have_count(2)  # one failed, one waits
    tab.page.evaluate(GROUPS)
    [asked] = site.plan(chat)["approvals"]
    site.post(f"/tool-calls/{asked['id']}/decide", decision="deny")
    site.drive()
    clock.fast_forward(BETWEEN_POLLS)
    expect(tab.log).to_contain_text("3 attempts, the same error each time")
    expect(groups).to_have_count(3)
    assert 0 not in tab.page.evaluate("window.groups"), "another poll may have brought them back"


GROUPS = """() => {
  window.groups = [];
  const count = () => window.groups.push(document.querySelectorAll("#thread .turn-group").length);
  document.addEventListener("htmx:after:swap", count);
}"""


def add_subtask(site, chat, name):
    plan = site.plan(chat)
    return site.post(f"/plans/{plan['id']}/subtasks", name=name)


PRESSED_AS_IT_CHANGES = """() => {
  const press = () => {
    if (document.querySelector("#plan").dataset.version !== "2") return;
    document.removeEventListener("htmx:after:swap", press);
    document.querySelector("#start-button").click();
  };
  document.addEventListener("htmx:after:swap", press);
}"""


def kind(response):
    return re.sub(r"\?.*", "", response.url).rpartition("/")[2]


def drawer(tab):
    return tab.plan.inner_text()


def said(tab):
    return [re.sub(r"\s+", " ", article.text_content()) for article in tab.articles.all()]


def asks(site, chat):
    rows = site.get(f"/conversations/{chat}/messages")["items"]
    return any(call["state"] == "asked" for row in rows for call in row["tool_calls"])


def test_a_plan_deleted_meanwhile_is_said_to_be_gone_and_leaves_the_drawer(site, open_tab):
    chat = site.scripted("quick")
    tab = open_tab().chat(chat)
    tab.expects("404")
    gone = site.plan(chat)["id"]

    def delete_first(route):
        site.delete(f"/plans/{gone}")
        route.continue_()

    tab.page.route("**/plan/approve", delete_first)
    tab.button("Start plan").click()
    expect(tab.alerts).to_have_text("That plan is gone. Nothing was changed.")
    expect(tab.plan).to_contain_text("No plan here yet")


def test_a_finished_plan_is_marked_until_its_page_has_been_in_view(site, open_tab, clock):
    beside = open_tab("/plans/")
    chat = site.started("quick")
    assert site.plan(chat)["state"] == "done"
    clock.fast_forward(BETWEEN_POLLS)
    row = beside.page.locator(f"#conversation-{chat}")
    expect(row.get_by_role("img", name="Finished")).to_be_visible()
    seen = open_tab()
    with seen.page.expect_response("**/look"):
        seen.chat(chat).sees_plan(state="done")
    clock.fast_forward(BETWEEN_POLLS)
    expect(row.get_by_role("img", name="Finished")).to_have_count(0)
    expect(row.locator("time")).to_be_visible()


def test_what_was_deleted_in_one_tab_is_taken_back_in_another(site, open_tab):
    chat = site.conversation()
    tab, other = open_tab().chat(chat), open_tab().chat(chat)
    for each in (tab, other):
        each.sees_connection(LIVE)
    if FIREFOX:  # ends the socket of a page that is being left, which then asks once more
        tab.expects(f"GET /c/{chat}/changes, a status of 404")
    tab.page.get_by_label("Conversation menu").click()
    tab.button("Delete conversation").click()
    expect(tab.button("Undo")).to_be_visible()
    said = other.page.get_by_text("This conversation was deleted.", exact=False)
    expect(said).to_be_visible()
    other.button("Undo").focus()
    other.page.keyboard.press("Enter")
    expect(said).to_have_count(0)
    expect(other.message).to_be_focused()
    other.sees_connection(LIVE)
    with other.sends():
        other.say("Well?")
    site.drive()
    expect(other.log).to_contain_text("Understood.")
