"""The first start, and Settings > Models, as a person without a model meets them."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Product

GOOD_KEY = "good-0123456789-4f2a"


class Vendor(BaseHTTPRequestHandler):
    """A provider with 30 models that knows one key."""

    def do_GET(self):
        is_good = self.headers["Authorization"] == f"Bearer {GOOD_KEY}"
        models = [{"id": f"model-{n}", "context_length": 128000} for n in range(29)]
        models.append({"id": "model-eyes", "architecture": {"input_modalities": ["image"]}})
        refusal = {"error": {"message": "Incorrect API key provided"}}
        body = json.dumps({"data": models} if is_good else refusal).encode()
        self.send_response(200 if is_good else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def vendor():
    with ThreadingHTTPServer(("127.0.0.1", 0), Vendor) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.fixture(scope="module")
def product(tmp_path_factory, model, vendor):
    """A home at its first start: a model runs on this machine, a vendor has been added."""
    product = Product(tmp_path_factory.mktemp("browser") / "home", PLANSIDE_DEMO_PACE="0.02")
    product.post("/providers", name="ollama", base_url=model.url)
    product.post("/providers", name="vendor", base_url=vendor, key=GOOD_KEY)
    yield product
    if product.is_up:
        product.end()


@pytest.fixture
def unnamed(product):
    """The shipped agent, which names no model; given back as it was."""
    file = product.agent_file("docs-writer")
    before = file.read_text()
    assert "provider" not in json.loads(before)
    yield file
    file.write_text(before)


def test_the_first_page_offers_what_was_found_and_goes_on_by_keyboard(product, unnamed, open_tab):
    tab = open_tab(f"/c/{product.conversation()}/")
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


def test_a_model_that_is_not_shown_is_found_by_its_name(product, unnamed, open_tab):
    tab = open_tab(f"/c/{product.conversation()}/")
    expect(tab.page.get_by_text("27 more.")).to_be_visible()
    tab.page.get_by_label("Find a model at vendor").fill("eyes")
    tab.page.get_by_role("radio", name=re.compile("model-eyes.*sees images")).check()
    tab.button("Go on with model-eyes").click()
    expect(tab.page.get_by_label("Message", exact=True)).to_be_visible()
    assert json.loads(unnamed.read_text())["model"] == "model-eyes"
