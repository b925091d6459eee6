"""The first start, and Settings > Models, as a person without a model meets them."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESK, PHONE, Product
from tests.browser.test_pages import violations
from tests.images import PETROL, RED, png

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
    for look in (DESK, PHONE):
        tab.page.set_viewport_size(look)
        assert violations(tab) == []
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


def test_the_demo_is_one_of_them_and_looking_again_keeps_the_page(product, unnamed, open_tab):
    tab = open_tab(f"/c/{product.conversation()}/")
    tab.page.get_by_role("radio", name="Demo model").check()
    with tab.page.expect_response("**/found-models*"):
        tab.button("Look again").click()
    expect(tab.page.get_by_text("Found 34 models in 3 places")).to_be_visible()
    expect(tab.page.get_by_role("radio", name="Demo model")).to_be_checked()
    tab.button("Go on with Demo model").click()
    expect(tab.page.get_by_role("heading", name="What should Docs writer do?")).to_be_visible()


def test_a_key_is_shown_by_its_end_replaced_refused_and_put_right(product, open_tab):
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
    for look in (DESK, PHONE):
        tab.page.set_viewport_size(look)
        assert violations(tab) == []
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


def test_a_key_is_removed_and_the_card_asks_for_one(product, open_tab):
    tab = open_tab("/settings/models/?provider=vendor")
    card = tab.page.get_by_role("article", name="vendor", exact=True)
    card.get_by_role("button", name="Remove key").click()
    expect(card.get_by_role("button", name="Remove key")).to_have_count(0)
    expect(card.get_by_placeholder("Paste a key")).to_be_visible()
    product.script.patch(product.server, "/providers/vendor", {"key": GOOD_KEY})


def test_a_model_that_does_not_exist_is_said_before_anything_is_sent(product, unnamed, open_tab):
    product.change_agent("docs-writer", provider="vendor", model="model-eye")
    tab = open_tab(f"/c/{product.conversation()}/")
    sentence = "There is no model model-eye at vendor: choose another."
    note = tab.page.get_by_role("alert").filter(has_text=sentence)
    expect(note).to_be_visible()
    assert violations(tab) == []
    tab.expects("409")
    tab.message.fill("Are you there?")
    tab.page.keyboard.press("Enter")
    kept = "There is no model model-eye at vendor. Nothing was sent, and your message is kept."
    note = tab.page.get_by_role("alert").filter(has_text=kept)
    expect(note).to_be_visible()
    expect(tab.message).to_have_value("Are you there?")
    expect(tab.log.get_by_role("article")).to_have_count(0)
    assert violations(tab) == []
    note.get_by_role("button", name="Choose a model").click()
    expect(tab.page.get_by_role("combobox", name="Find a model")).to_be_focused()
    tab.page.keyboard.press("Escape")
    tab.page.set_viewport_size(DESK)
    note.get_by_role("link", name="Open the agent’s settings").click()
    expect(tab.page.get_by_role("article", name="Docs writer")).to_contain_text(sentence)
    assert violations(tab) == []


def test_a_model_that_sees_is_taken_beside_a_picture_before_the_list_was_ever_open(
    product, open_tab
):
    product.post("/agents", id="blind", name="Blind")
    product.change_agent("blind", provider="demo", model="docs")
    tab = open_tab("/settings/models/?provider=vendor")
    expect(tab.page.get_by_role("article", name="vendor", exact=True)).to_contain_text("30 models")
    tab.open(f"/c/{product.conversation('blind')}/")
    picture = {"name": "shot.png", "mimeType": "image/png", "buffer": png(90, 70, (RED, PETROL))}
    tab.page.locator("#files").set_input_files([picture])
    tab.button("Use model-eyes").click()
    expect(tab.page.get_by_role("status").filter(has_text="model-eyes answers")).to_be_visible()
    expect(tab.button("Model: model-eyes")).to_be_visible()
    expect(tab.page.get_by_text("does not see images")).to_have_count(0)
