"""The first start, and Settings > Models, as a person without a model meets them."""

import json
import re

import httpx
import pytest
from playwright.sync_api import expect

from agents import http
from tests.fake_model import ScriptedTransport
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
