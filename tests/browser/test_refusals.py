"""What is refused because of one field stands at that field: red, with the reason, and the focus."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.usefixtures("site")

# The page, what opens the form, what is typed, the button, the field that is wrong, and why.
FORMS = {
    "a provider's name": (
        "models/", "Add provider", {"Name": "My server", "Base URL": "http://127.0.0.1:9/v1"},
        "Add provider", "Name", "A provider's name is 1 to 32 small letters and digits",
    ),
    "a provider's headers": (
        "models/", "Add provider",
        {"Name": "mine", "Base URL": "http://127.0.0.1:9/v1", "Headers": "no sign"},
        "Add provider", "Headers", "Line 1 of the headers",
    ),
    "a service's address": (
        "tools/", "Add service", {"Name": "pets", "Address": "nowhere"},
        "Add service", "Address", "starts with http:// or https://",
    ),
    "a person's name": (
        "people/", "Add person", {"Name": "no spaces"},
        "Add person", "Name", "letters, digits and",
    ),
    "the password once more": (
        "account/", "Set a password",
        {"New password": "long-enough-1", "Once more": "something-else-1"},
        "Set password", "Once more", "The two passwords are not the same.",
    ),
    "a chain's name": (
        "chains/", "New chain", {"Name": "planner"},
        "Make chain", "Name", "There is already a chain planner.",
    ),
}  # fmt: skip
WITH_A_RULE, WITH_A_PASSWORD = "a provider's name", "the password once more"


@pytest.mark.parametrize("form", [WITH_A_RULE, WITH_A_PASSWORD])
def test_a_refusal_stands_at_its_field_until_the_form_is_sent_again_or_closed(open_tab, form):
    is_refused_at_its_field(open_tab, form)


def is_refused_at_its_field(open_tab, form):
    page, opens, typed, sends, wrong, why = FORMS[form]
    tab = open_tab(f"/settings/{page}")
    tab.expects("422", "409")
    tab.page.get_by_role("button", name=opens, exact=True).first.click()
    dialog = tab.page.get_by_role("dialog")
    for label, value in typed.items():
        dialog.get_by_label(label).first.fill(value)
    dialog.get_by_role("button", name=sends).click()
    field = dialog.get_by_label(wrong).first
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile(re.escape(why)))
    expect(field).to_have_value(typed[wrong])
    note = dialog.locator(".field-refusal")
    assert note.bounding_box()["y"] > field.bounding_box()["y"]
    rule = dialog.locator("[id$=name-rule]")
    if wrong == "Name" and rule.count():
        expect(rule).to_be_hidden()
    expect(tab.alerts).to_have_count(0)
    dialog.get_by_role("button", name="Cancel").click()
    expect(note).to_have_count(0)
    tab.page.get_by_role("button", name=opens, exact=True).first.click()
    expect(field).not_to_have_attribute("aria-invalid", "true")
    if wrong == "Name" and rule.count():
        expect(rule).to_be_visible()
        expect(field).not_to_have_accessible_description("")


def test_a_field_that_was_folded_away_is_unfolded(open_tab):
    tab = open_tab("/settings/tools/")
    tab.expects("409", "422")
    tab.button("Add service").click()
    dialog = tab.page.get_by_role("dialog")
    dialog.get_by_text("MCP server").click()
    dialog.get_by_label("Name", exact=True).fill("signs-in")
    dialog.get_by_label("Address, or the command").fill("http://127.0.0.1:9/mcp")
    dialog.get_by_text("Client ID for its sign-in").click()
    dialog.get_by_label("Client secret").fill("alone")
    dialog.get_by_text("Client ID for its sign-in").click()
    dialog.get_by_role("button", name="Add service").click()
    expect(dialog.get_by_label("Client ID, if")).to_be_focused()
    expect(dialog.locator(".field-refusal")).to_have_text("A client secret goes with a client ID.")
