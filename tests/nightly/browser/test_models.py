"""The first start, and Settings > Models, as a person without a model meets them."""

import json
import re

import httpx
import pytest
from playwright.sync_api import expect

from agents import http
from tests.browser.conftest import DESK
from tests.fake_model import ScriptedTransport
from tests.images import PETROL, RED, png
from tests.inner import OWNER, ProviderEdit, add_provider

GOOD_KEY = "good-0123456789-4f2a"
OLLAMA = 11434
VENDOR = "vendor.invalid"


class Servers(ScriptedTransport):
    """Ollama on this machine, a vendor with 30 models that knows one key, and nobody else."""

    async def handle_async_request(self, request):
        if request.url.host == VENDOR:
            return listed(request.headers["Authorization"])
        if request.url.port != OLLAMA:
            raise httpx.ConnectError("Nobody is there.", request=request)
        return await super().handle_async_request(request)


def listed(key):
    if key != f"Bearer {GOOD_KEY}":
        refusal = {"error": {"message": "Incorrect API key provided"}}
        return httpx.Response(401, json=refusal)
    models = [{"id": f"model-{n}", "context_length": 128000} for n in range(29)]
    models.append({"id": "model-eyes", "architecture": {"input_modalities": ["image"]}})
    return httpx.Response(200, json={"data": models})


@pytest.fixture
def unnamed(site, settings):
    """At its first start the file of the shipped agent, which names no model."""
    settings.PLANSIDE_MODEL_IS_SET, settings.PROVIDER_KEYS = False, {}
    site.prepare()
    http.use(Servers())
    edit = ProviderEdit(base_url=f"https://{VENDOR}/v1", key=GOOD_KEY)
    site.do(add_provider, "vendor", edit, OWNER)
    file = site.agent_file("docs-writer")
    assert "provider" not in json.loads(file.read_text())
    return file


def test_the_first_page_offers_what_was_found_and_goes_on_by_keyboard(site, unnamed, open_tab):
    tab = open_tab().chat(site.conversation("docs-writer"))
    steps = tab.page.get_by_role("list", name="First steps")
    expect(steps).to_contain_text("Found 34 models in 3 places")
    expect(steps).to_contain_text(
        "LM Studio does not answer. Start it and look again, or add a key."
    )
    chosen = tab.page.get_by_role("radio", name="another-model")
    expect(chosen).to_be_checked()
    expect(chosen).to_be_focused()
    tab.page.keyboard.press("ArrowDown")
    expect(tab.button("Go on with fake-model")).to_be_visible()
    tab.page.keyboard.press("Enter")
    expect(tab.page.get_by_label("Message", exact=True)).to_be_visible()
    written = json.loads(unnamed.read_text())
    assert (written["provider"], written["model"]) == ("ollama", "fake-model")
    tab.page.reload()
    expect(tab.page.get_by_label("Message", exact=True)).to_be_visible()


def test_a_model_that_is_not_shown_is_found_by_its_name(site, unnamed, open_tab):
    tab = open_tab().chat(site.conversation("docs-writer"))
    expect(tab.page.get_by_text("27 more.")).to_be_visible()
    tab.page.get_by_label("Find a model at vendor").fill("eyes")
    tab.page.get_by_role("radio", name=re.compile("model-eyes.*sees images")).check()
    tab.button("Go on with model-eyes").click()
    expect(tab.page.get_by_label("Message", exact=True)).to_be_visible()
    assert json.loads(unnamed.read_text())["model"] == "model-eyes"


__all__ = ["unnamed"]

pytestmark = pytest.mark.usefixtures("unnamed")


def test_the_demo_is_one_of_them_and_looking_again_keeps_the_page(site, open_tab):
    tab = open_tab().chat(site.conversation("docs-writer"))
    tab.page.get_by_role("radio", name="Demo model").check()
    with tab.page.expect_response("**/found-models*"):
        tab.button("Look again").click()
    expect(tab.page.get_by_text("Found 34 models in 3 places")).to_be_visible()
    expect(tab.page.get_by_role("radio", name="Demo model")).to_be_checked()
    tab.button("Go on with Demo model").click()
    expect(tab.page.get_by_role("heading", name="What should Docs writer do?")).to_be_visible()


def test_a_key_is_shown_by_its_end_replaced_refused_and_put_right(open_tab):
    tab = open_tab("/settings/models/?provider=vendor")
    card = tab.page.get_by_role("article", name="vendor", exact=True)
    key = card.get_by_label("Key", exact=True)
    expect(key).to_have_value("•••• •••• •••• 4f2a")
    expect(key).to_have_attribute("readonly", "")
    expect(card).to_contain_text("Answered in")
    expect(card).to_contain_text("30 models")
    card.get_by_role("button", name="Replace key").click()
    field = card.get_by_label("New key of vendor")
    expect(field).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(card.get_by_role("button", name="Replace key")).to_be_focused()
    tab.page.keyboard.press("Enter")
    field.fill("wrong-0123456789")
    tab.page.keyboard.press("Enter")
    expect(card).to_contain_text("Key refused")
    expect(card).to_contain_text("vendor answered 401 at")
    expect(card).to_contain_text("“Incorrect API key provided”")
    card.get_by_label("Key", exact=True).fill(GOOD_KEY)
    card.get_by_role("button", name="Save and test").click()
    expect(card).to_contain_text("30 models")
    assert GOOD_KEY not in tab.page.content()


def test_the_models_of_a_card_are_searched_and_say_what_they_can(open_tab):
    tab = open_tab("/settings/models/?provider=vendor")
    card = tab.page.get_by_role("article", name="vendor", exact=True)
    expect(card).to_contain_text("20 of 30, type to find more")
    card.get_by_label("Find a model at vendor").fill("eyes")
    expect(card.get_by_role("row", name="model-eyes sees images")).to_be_visible()
    expect(card.get_by_role("row")).to_have_count(2)
    expect(card.get_by_label("Find a model at vendor")).to_be_focused()


def test_a_model_that_does_not_exist_is_said_before_anything_is_sent(site, open_tab):
    site.change_agent("docs-writer", provider="vendor", model="model-eye")
    tab = open_tab().chat(site.conversation("docs-writer"))
    sentence = "There is no model model-eye at vendor: choose another."
    note = tab.page.get_by_role("alert").filter(has_text=sentence)
    expect(note).to_be_visible()
    tab.expects("409")
    tab.message.fill("Are you there?")
    tab.page.keyboard.press("Enter")
    kept = "There is no model model-eye at vendor. Nothing was sent, and your message is kept."
    note = tab.page.get_by_role("alert").filter(has_text=kept)
    expect(note).to_be_visible()
    expect(tab.message).to_have_value("Are you there?")
    expect(tab.log.get_by_role("article")).to_have_count(0)
    note.get_by_role("button", name="Choose a model").click()
    expect(tab.page.get_by_role("combobox", name="Find a model")).to_be_focused()
    tab.page.keyboard.press("Escape")
    tab.page.set_viewport_size(DESK)
    note.get_by_role("link", name="Open the agent’s settings").click()
    expect(tab.page.get_by_role("article", name="Docs writer")).to_contain_text(sentence)


def test_a_model_that_sees_is_taken_beside_a_picture_before_the_list_was_ever_open(site, open_tab):
    site.do(site.make_agent, "blind", name="Blind", provider="demo", model="docs")
    tab = open_tab("/settings/models/?provider=vendor")
    expect(tab.page.get_by_role("article", name="vendor", exact=True)).to_contain_text("30 models")
    tab.chat(site.conversation("blind"))
    picture = {"name": "shot.png", "mimeType": "image/png", "buffer": png(90, 70, (RED, PETROL))}
    tab.page.locator("#files").set_input_files([picture])
    tab.button("Use model-eyes").click()
    expect(tab.page.get_by_role("status").filter(has_text="model-eyes answers")).to_be_visible()
    expect(tab.button("Model: model-eyes")).to_be_visible()
    expect(tab.page.get_by_text("does not see images")).to_have_count(0)
