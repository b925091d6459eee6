"""An agent as a form beside its agent.json, as a person types in it, alone and in two tabs."""

import json

import pytest
from playwright.sync_api import expect

from tests.tab import wait_for

LOOKS_AGAIN = 3_000  # ms from one look of the page at the file to the next


@pytest.fixture
def form(site, open_tab):
    site.change_agent(instructions="Be brief.")
    return Form(site, open_tab)


class Form:
    def __init__(self, site, open_tab):
        self.site, self.open_tab = site, open_tab
        self.tab = self.open()
        self.page = self.tab.page

    def open(self, **options):
        return self.open_tab("/settings/agents/?agent=scripted", **options)

    @property
    def file(self):
        return json.loads(self.site.agent_file("scripted").read_text())

    def __getitem__(self, label):
        return self.page.get_by_role("textbox", name=label, exact=True)

    @property
    def status(self):
        return self.page.locator("#file footer")


def test_a_field_is_saved_on_leaving_it_its_line_is_marked_and_undo_puts_both_back(form):
    before = form.file
    form["Description"].fill("Keeps it tidy")
    form.page.keyboard.press("Tab")
    expect(form.status).to_contain_text("The description is changed.")
    expect(form.page.locator("#agent-json mark")).to_have_text('  "description": "Keeps it tidy",')
    expect(form["Instructions"]).to_be_focused()
    assert form.file["description"] == "Keeps it tidy"
    form.tab.button("Undo").click()
    expect(form.status).to_contain_text("Undone.")
    expect(form["Description"]).to_have_value("")
    assert form.file == before


def test_what_is_not_valid_stays_with_the_reason_under_it_until_it_is_mended(form):
    form.tab.expects("422")
    form.page.get_by_label("Set", exact=True).check(force=True)
    box = form["Temperature, from 0 to 2"]
    expect(box).to_be_focused()
    box.fill("3")
    box.press("Enter")
    expect(form.tab.alerts).to_contain_text("“Temperature” must be less than or equal to 2")
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(box).to_have_value("3")
    assert form.file["temperature"] is None
    box.fill("0.3")
    box.press("Enter")
    expect(form.status).to_contain_text("Temperature is 0.3.")
    expect(form.tab.alerts).to_have_count(0)
    expect(box).not_to_have_attribute("aria-invalid", "true")
    form.page.get_by_label("The model’s own").check(force=True)
    expect(form.status).to_contain_text("Temperature is the model’s own.")
    expect(box).to_be_hidden()


def test_a_field_that_changed_on_disk_asks_whose_text_counts(form, clock):
    form.tab.expects("412")
    box = form["Description"]
    for choice, by_hand, value in (
        ("Reload", "By hand", "By hand"),
        ("Keep mine", "By another hand", "Mine"),
    ):
        box.fill("Mine")
        form.site.change_agent(description=by_hand)
        box.press("Enter")
        expect(form.tab.alerts).to_contain_text("agent.json changed on disk.")
        expect(box).to_have_value("Mine")
        assert form.file["description"] == by_hand
        form["Instructions"].fill("Half a thought")
        clock.fast_forward(LOOKS_AGAIN)
        expect(form.page.locator("#agent-json")).to_contain_text(by_hand)
        expect(box).to_have_value("Mine")
        expect(form.tab.alerts).to_contain_text("agent.json changed on disk.")
        form.page.get_by_role("button", name=choice).click()
        expect(box).to_have_value(value)
        expect(form.page.locator("#agent-json")).to_contain_text(f'"description": "{value}"')
        expect(form.tab.alerts).to_have_count(0)
        expect(form["Instructions"]).to_have_value("Half a thought")
        assert (form.file["description"], form.file["instructions"]) == (value, "Half a thought")


def test_what_a_poll_found_before_a_change_is_not_drawn_over_it(form, clock):
    held = []
    form.page.route("**/file?since=*", lambda route: held.append((route, route.fetch())))
    form.site.change_agent(description="By hand")
    clock.fast_forward(LOOKS_AGAIN)
    wait_for(form.tab, lambda: held)
    form["Name"].fill("Another")
    form.page.keyboard.press("Tab")
    expect(form.status).to_contain_text("The name is Another.")
    late = held[:]
    for route, response in late:
        route.fulfill(response=response)
    clock.fast_forward(LOOKS_AGAIN)
    wait_for(form.tab, lambda: len(held) > len(late))  # the next was sent, so this was read
    expect(form.status).to_contain_text("The name is Another.")
