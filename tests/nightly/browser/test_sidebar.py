"""What lies over the page: every other sheet, and menus that do not come."""

from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE
from tests.browser.test_focus import focused
from tests.browser.test_sidebar import menu_of, middle_of, named, opened
from tests.browser.test_workspace import let_go
from tests.tab import wait_for


def test_a_press_beside_the_plan_closes_it_and_reaches_nothing(site, open_tab):
    tab = open_tab(viewport=PHONE).chat(site.scripted("quick"))
    tab.drawer_toggle.click()
    expect(tab.plan).to_be_visible()
    tab.page.mouse.click(360, 10)
    expect(tab.plan).to_be_hidden()
    expect(tab.page.get_by_label("Conversation menu")).to_be_visible()
    expect(tab.page.locator("#menu")).to_be_hidden()


def test_a_press_beside_the_menu_of_the_settings_or_a_file_closes_it_alone(site, open_tab):
    tab = open_tab("/settings/agents/?agent=scripted", viewport=PHONE)
    file = tab.page.get_by_role("complementary", name="agent.json of Scripted")
    tab.page.locator("[data-toggle-drawer]").click()
    expect(file).to_be_visible()
    tab.page.mouse.click(*middle_of(tab.button("New agent").or_(tab.page.locator(".burger")).first))
    expect(file).to_be_hidden()
    expect(tab.page.get_by_role("dialog")).to_have_count(0)
    tab.page.get_by_role("link", name="Open settings menu").click()
    menu = tab.page.get_by_role("navigation", name="Settings")
    expect(menu).to_be_visible()
    tab.page.mouse.click(370, 400)
    expect(menu).to_be_hidden()


def test_a_press_beside_a_sheet_closes_it_and_sends_nothing(site, open_tab):
    tab = open_tab(viewport=PHONE).chat(site.conversation())
    with tab.sends():
        tab.say("Well?")
    site.drive()
    expect(tab.log).to_contain_text("Understood.")
    tab.message.fill("Not yet")
    tab.page.get_by_role("button", name="Ask again", exact=True).click()
    menu = tab.page.get_by_role("menu")
    expect(menu).to_be_visible()
    tab.page.mouse.click(*middle_of(tab.page.get_by_label("Conversation menu")))
    expect(menu).to_be_hidden()
    expect(tab.page.locator("#menu")).to_be_hidden()


def test_the_pages_own_row_is_deleted_like_the_page(site, open_tab):
    named(site, "Fern")
    here = named(site, "Moss")
    tab = open_tab().chat(here)
    with tab.page.expect_navigation():
        menu_of(tab, here).get_by_role("button", name="Delete conversation").click()
    expect(tab.page.get_by_text("Deleted “Moss”.")).to_be_visible()


def test_with_a_finger_the_button_is_there_and_the_menu_is_a_sheet(site, open_tab):
    chat = named(site, "Moss")
    tab = open_tab(viewport=PHONE, has_touch=True, is_mobile=True, reduced_motion="reduce")
    tab.chat(site.conversation())
    tab.page.get_by_role("link", name="Open conversations").tap()
    button = tab.page.locator(f"#row-{chat}")
    expect(button).to_be_visible()
    assert button.evaluate("e => getComputedStyle(e).opacity") == "1"
    box = button.bounding_box()
    assert round(min(box["width"], box["height"]), 2) >= 40
    button.tap()
    menu = tab.page.locator("#row-menu")
    expect(menu).to_be_visible()
    assert round(menu.bounding_box()["y"] + menu.bounding_box()["height"]) == PHONE["height"]
    tab.page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_visible()  # the list stays
    button.tap()
    menu.get_by_role("button", name="Delete conversation").tap()
    expect(tab.page.get_by_text("Deleted “Moss”.")).to_be_in_viewport()


def test_a_menu_that_cannot_be_fetched_says_so(site, open_tab):
    chat = named(site, "Moss")
    tab = open_tab("/plans/")
    tab.expects("ERR_FAILED", "Failed to fetch", "request")
    tab.page.route("**/menu?*", lambda route: route.abort())
    tab.page.locator(f"#row-{chat}").focus()
    tab.page.keyboard.press("Enter")
    expect(tab.alerts).to_contain_text("That did not get through.")


def test_of_two_rows_whose_menus_are_asked_for_the_last_one_counts(site, open_tab):
    first, last = named(site, "Moss"), named(site, "Fern")
    tab = open_tab("/plans/")
    held = tab.hold(f"**/c/{first}/menu?*")
    for chat in (first, last):
        tab.page.locator(f"#conversation-{chat}").hover()
        tab.page.locator(f"#row-{chat}").click()
    delete = tab.page.locator("#row-menu").get_by_role("button", name="Delete conversation")
    expect(delete).to_be_visible()
    wait_for(tab, lambda: held)
    let_go(tab, held[0])
    delete.click()
    expect(tab.page.get_by_text("Deleted “Fern”.")).to_be_visible()
    expect(tab.page.locator(f"#conversation-{first}")).to_be_visible()


TABLET = {"width": 768, "height": 900}


def test_a_press_beside_the_conversations_closes_them_and_sends_nothing(site, open_tab):
    tab = open_tab(viewport=PHONE).chat(site.conversation())
    tab.message.fill("Not yet")
    send = middle_of(tab.button("Send"))
    conversations = opened(tab)
    tab.page.mouse.click(*send)
    expect(conversations).to_be_hidden()
    focused(tab, "^main A")
    expect(tab.message).to_have_value("Not yet")
    expect(tab.articles).to_have_count(0)
    opened(tab)
    tab.page.keyboard.press("Escape")
    expect(conversations).to_be_hidden()
    focused(tab, "^main A")
    opened(tab)
    tab.page.set_viewport_size(DESK)
    tab.button("Send").click()
    expect(tab.articles.first).to_contain_text("Not yet")


def test_a_new_chat_by_keyboard_asks_with_whom_where_it_is_seen(site, open_tab):
    tab = open_tab(viewport=TABLET).chat(site.conversation())
    tab.page.keyboard.press("Control+Shift+O")
    first = tab.button("Docs writer")
    expect(first).to_be_focused()
    expect(first).to_be_in_viewport()
    tab.page.keyboard.press("Escape")
    expect(first).to_be_hidden()
    tab.page.keyboard.press("Control+Shift+O")
    with tab.page.expect_navigation():
        tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#heading")).to_contain_text("Docs writer")


def test_a_row_is_deleted_and_taken_back_by_keyboard(site, open_tab):
    chats = [named(site, title) for title in ("Fern", "Moss", "Lichen")]
    here = site.conversation()
    tab = open_tab().chat(here)
    rows = [tab.page.locator(f"#conversation-{chat}") for chat in chats]
    rows[1].focus()
    tab.page.keyboard.press("Shift+F10")
    expect(tab.button("Rename").first).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(rows[1]).to_be_focused()
    tab.page.keyboard.press("ContextMenu")
    expect(tab.button("Rename").first).to_be_focused()
    tab.page.keyboard.press("End")
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_text("Deleted “Moss”.")).to_be_visible()
    expect(rows[1]).to_have_count(0)
    expect(rows[0]).to_be_focused()  # the one below
    press_undo = tab.button("Undo")
    press_undo.focus()
    tab.page.keyboard.press("Enter")
    expect(rows[1]).to_be_focused()
    expect(press_undo).to_have_count(0)


def test_a_row_is_renamed_pinned_and_archived_where_it_stands(site, open_tab):
    here, chat = site.conversation(), named(site, "Moss")
    tab = open_tab().chat(here)
    row = tab.page.locator(f"#conversation-{chat}")
    before = row.bounding_box()
    menu = menu_of(tab, chat)
    assert row.bounding_box() == before, "nothing moves"
    tab.page.keyboard.press("Enter")
    title = tab.page.get_by_role("dialog").get_by_label("Title")
    expect(title).to_have_value("Moss")
    title.fill("Fern")
    title.press("Enter")
    expect(row).to_contain_text("Fern")
    expect(tab.page.locator(f"#row-{chat}")).to_be_focused()
    expect(tab.page.get_by_role("heading", level=1)).not_to_have_text("Fern")
    menu_of(tab, chat).get_by_role("button", name="Pin").click()
    expect(tab.page.get_by_role("heading", name="Pinned")).to_be_visible()
    menu_of(tab, chat).get_by_role("button", name="Unpin").click()
    expect(tab.page.get_by_role("heading", name="Pinned")).to_have_count(0)
    with tab.page.expect_download() as download:
        menu_of(tab, chat).get_by_role("link", name="Export as Markdown").click()
    assert download.value.suggested_filename.endswith(".md")
    expect(menu).to_be_hidden()
    menu_of(tab, chat).get_by_role("button", name="Archive").click()
    expect(row).to_have_count(0)
    expect(tab.page.get_by_text("Archived. Search still finds it.")).to_be_visible()
    tab.button("Undo").click()
    expect(row).to_be_focused()
    assert tab.page.url.endswith(f"/c/{here}/")
    menu_of(tab, chat)


def test_an_undo_stays_while_the_page_notes_that_its_finished_plan_was_seen(site, open_tab):
    moss = named(site, "Moss")
    tab = open_tab()
    tab.expects("503", "/look net::ERR_ABORTED")
    tab.page.route("**/look", lambda route: route.fulfill(status=503))  # so it is tried again
    tab.chat(site.started("quick"))
    menu_of(tab, moss).get_by_role("button", name="Delete").click()
    expect(tab.button("Undo")).to_be_visible()
    with tab.page.expect_request("**/look"):
        pass
    expect(tab.button("Undo")).to_be_visible()
