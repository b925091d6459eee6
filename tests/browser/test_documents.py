"""A document from its proposal to its second version and out of force, as a person sees it."""

import os
from pathlib import Path

from playwright.sync_api import expect

from tests.tab import LIVE

TEXT = """For every page under docs/.

## Words

- Say “job”, never “run”.
- Name the option: `--dry-run`.

| What | Written as |
| --- | --- |
| Sizes | 20 MB |
"""


def look(tab, name):
    if folder := os.environ.get("SCREENSHOTS"):
        tab.page.screenshot(path=Path(folder) / f"{name}.png", caret="initial")  # sets no style


def test_a_document_is_read_approved_changed_and_taken_out_of_force(site, open_tab):
    chat = site.scripted("quick")
    site.post("/plans", conversation=chat, title="House style", content=TEXT, beside=False)
    tab = open_tab().chat(chat)
    tab.sees_connection(LIVE)
    document = tab.plan.get_by_role("region", name="The document")
    expect(document.get_by_role("heading", name="Words")).to_be_visible()
    expect(document.get_by_role("table")).to_be_visible()
    look(tab, "proposed")
    document.get_by_text("As written", exact=True).click()
    expect(document.get_by_text("## Words")).to_be_visible()
    expect(document.get_by_role("table")).to_be_hidden()
    look(tab, "written")
    document.get_by_text("Rendered", exact=True).click()

    tab.button("Approve").click()
    tab.sees_plan(state="done", approved_version=1)
    expect(tab.plan.locator("#plan-head")).to_contain_text("In force since")
    expect(tab.log).to_contain_text("You approved v1 at")
    look(tab, "in-force")

    tab.button("New version").click()
    editor = tab.plan.get_by_role("form", name="Edit the plan")
    editor.get_by_label("Description").fill("Say “task”.")
    editor.get_by_role("button", name="Save").click()
    tab.sees_plan(version=2, approved_version=1, state="todo")
    expect(tab.plan).to_contain_text("v1 stays in force until you approve this version.")
    expect(document).to_contain_text("Say “task”.")
    look(tab, "next")
    tab.button("Approve v2").click()
    tab.sees_plan(state="done", approved_version=2)

    tab.button("Take out of force").click()
    dialog = tab.page.get_by_role("dialog", name="Take this document out of force?")
    dialog.get_by_role("button", name="Take out of force").click()
    tab.sees_plan(state="abandoned")
    expect(tab.log).to_contain_text("You took v2 out of force at")
