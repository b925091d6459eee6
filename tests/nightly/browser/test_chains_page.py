"""Settings > Chains as an admin uses it: edited under the linter's eyes, and run."""

import json

from playwright.sync_api import expect

A_PAUSE = 600  # ms after the last key, until the file is checked
LOOKS_AGAIN = 1_000  # ms from one look of the page at a run to the next


def test_a_chain_is_copied_edited_with_its_faults_saved_run_and_deleted(site, open_tab, clock):
    tab = open_tab("/settings/chains/?chain=default-chain")
    tab.expects("422")
    tab.page.get_by_role("article", name="default-chain").get_by_role(
        "button", name="Copy chain"
    ).click()
    card = tab.page.get_by_role("article", name="default-chain-copy", exact=True)
    expect(card.get_by_role("button", name="Run")).to_be_visible()
    tab.button("Edit").click()
    box = tab.page.get_by_role("textbox", name="default-chain-copy.json")
    good = box.text_content()
    box.fill(good.replace('"handler": "chat_completion"', '"handler": "chat"', 1))
    clock.fast_forward(A_PAUSE)
    faults = tab.page.get_by_role("list", name="What is wrong")
    expect(faults).to_contain_text("Input should be")
    tab.page.get_by_role("button", name="Save").click()
    expect(tab.alerts).to_contain_text("Not saved: the last good version stays in use.")
    go = faults.get_by_role("button", name="Go to line").first
    go.click()
    expect(box).to_be_focused()
    assert '"handler": "chat"' in tab.page.evaluate("getSelection().toString()")
    box.fill(good.replace('"description": "', '"description": "My own. ', 1))
    clock.fast_forward(A_PAUSE)
    expect(faults).not_to_contain_text("Input should be")
    box.press("Control+Enter")
    expect(tab.page.locator("#file footer")).to_contain_text("Saved.")
    expect(card).to_contain_text("My own.")
    saved = site.home / "chains" / "default-chain-copy.json"
    assert json.loads(saved.read_text())["description"].startswith("My own.")

    card.get_by_label("Input").fill("hello there")
    card.get_by_label("With the tools").select_option("Scripted")
    with tab.sends():
        card.get_by_role("button", name="Run").click()
    site.drive()
    clock.fast_forward(LOOKS_AGAIN)
    run = card.locator(".chain-run")
    expect(run.get_by_role("status")).to_contain_text("Done")
    expect(run.get_by_role("list", name="Tasks")).to_contain_text("chat_completion")
    expect(run.get_by_role("group", name="Result")).to_contain_text("Understood.")
    card.get_by_role("button", name="Delete chain").click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Delete chain").click()
    expect(card).to_have_count(0)
    assert not saved.exists()
