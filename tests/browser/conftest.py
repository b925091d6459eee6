"""A server per module on an empty home, and tabs that are signed in by the link it printed."""

import json
import os
import signal
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.model import script
from tests.console.serving import Script, Started
from tests.fake_model import FakeModelServer
from tests.tab import GOAL, Tab

HERE = Path(__file__).parent
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FIREFOX = os.environ.get("FIREFOX", "")  # its path, to run tests in Firefox instead
A_MOUSE = {"ui.primaryPointerCapabilities": 6, "ui.allPointerCapabilities": 6}
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
PATIENCE = 60_000  # ms; for what has to come some time, on a machine that may be slow
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium():
    """The browser of the tests."""
    if FIREFOX:
        yield from firefox()
        return
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no browser at {CHROMIUM}: install chromium, or set CHROMIUM to its path")
    # Chromium's sandbox cannot be had by root.
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else list(FLAGS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


def firefox():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_OPTIONS", f"--require {HERE / 'firefox_driver.cjs'}")
        with sync_playwright() as playwright:
            browser = playwright.firefox.launch(
                channel="moz-firefox", executable_path=FIREFOX, firefox_user_prefs=A_MOUSE
            )
            yield browser
            browser.close()


class Product:
    """The server of a module, and the API as a script of its owner sees it."""

    def __init__(self, home, **environment):
        self.home = home
        self.environment = environment
        self.start()
        self.script = Script(home)
        self.session = None

    def start(self):
        """At its second start it stays on its port, as a person's does."""
        self.server = Started(self.home, **self.environment)
        self.address = self.server.address
        self.environment["PLANSIDE_PORT"] = str(urlsplit(self.address).port)

    def end(self, how=signal.SIGTERM):
        return self.server.end(how)

    @property
    def is_up(self):
        return self.server.process.poll() is None

    def file(self, path, agent="docs-writer"):
        return self.home / "workspaces" / agent / "files" / path

    def agent_file(self, agent):
        return self.home / "workspaces" / agent / "agent.json"

    def change_agent(self, agent, **keys):
        """A hand edit of agent.json."""
        file = self.agent_file(agent)
        text = json.dumps(json.loads(file.read_text()) | keys, indent=2)
        whole = self.home / "agent.json.new"  # a poll never reads the half of it
        whole.write_text(text)
        whole.replace(file)

    def get(self, path):
        return self.script.get(self.server, path)

    def post(self, path, **body):
        return self.script.post(self.server, path, body)

    def conversation(self, agent="docs-writer"):
        return self.post("/conversations", agent=agent)["id"]

    def proposed(self, goal=GOAL, agent="docs-writer"):
        """A conversation whose plan waits to be started."""
        chat = self.post("/plans", agent=agent, goal=goal)["conversation"]
        self.wait(chat, lambda plan: plan is not None)
        return chat

    def scripted(self, word):
        """The same, with the scripted model."""
        return self.proposed(f"I want to {word}", "scripted")

    def started(self, word):
        chat = self.scripted(word)
        plan = self.plan(chat)
        self.post(f"/plans/{plan['id']}/approve", version=plan["version"])
        return chat

    def plan(self, chat):
        return self.get(f"/conversations/{chat}/plan")

    def wait(self, chat, is_so):
        return self.script.wait_until(self.server, f"/conversations/{chat}/plan", is_so)


@pytest.fixture(scope="session")
def model():
    with FakeModelServer(script()) as server:
        yield server


@pytest.fixture(scope="module")
def product(tmp_path_factory, model):
    """The shipped agent with the demo model, and one beside it whose model is scripted here."""
    product = Product(
        tmp_path_factory.mktemp("browser") / "home",
        PLANSIDE_DEMO_PACE="0.02",
        PLANSIDE_MODEL="demo/docs",
        OPENAI_BASE_URL=model.url,
        OPENAI_API_KEY="key",
    )
    write, plan = {"write_file": "allow", "list_files": "allow"}, {"enabled": True}
    product.post("/agents", id="scripted", name="Scripted", tools=write, plan=plan)
    product.change_agent("scripted", provider="openai", model="scripted")
    yield product
    if product.is_up:
        product.end()


@pytest.fixture
def careful(product):
    """The scripted agent asks before it writes."""
    product.change_agent("scripted", tools={"write_file": "ask", "list_files": "allow"})
    yield
    product.change_agent("scripted", tools={"write_file": "allow", "list_files": "allow"})


@pytest.fixture(scope="module")
def contexts(chromium, product):
    """One signed-in context for a module's ordinary tabs: they share the browser's cache."""
    made = []

    def context_for(signed_in, options):
        if signed_in and product.session is None:
            product.session = sign_in(chromium, product)
        if signed_in and not options and made:
            return made[0]
        state = product.session if signed_in else None
        context = chromium.new_context(storage_state=state, **({"viewport": DESK} | options))
        context.set_default_timeout(PATIENCE)
        if signed_in and not options:
            made.append(context)
        return context

    yield context_for
    for context in made:
        context.close()


@pytest.fixture
def open_tab(contexts, product):
    """Open tabs of one person; in the end none may have complained."""
    tabs = []

    def open_one(path=None, blocked=False, signed_in=True, **options):
        tab = Tab(contexts(signed_in, options).new_page(), product.address)
        if blocked:
            tab.page.route_web_socket("**/ws/**", lambda socket: socket.close())
        tabs.append(tab)
        return tab if path is None else tab.open(path)

    yield open_one
    faults = [fault for tab in tabs for fault in tab.faults()]
    for tab in tabs:
        tab.page.context.set_offline(False)  # whatever a test has left: others share the context
        tab.page.close()
    assert faults == []


def sign_in(chromium, product):
    context = chromium.new_context()
    context.new_page().goto(product.server.link)
    state = context.storage_state()
    context.close()
    return state
