"""A server, and tabs in which its owner is signed in.

The server is a thread of this process (tests/site.py), emptied for each test that names `site`, and
for each file whose tests name `product`. With PLANSIDE_TEST_SERVER=process, `product` is a server in
a process of its own, as a person starts it.
"""

from contextlib import nullcontext
from pathlib import Path

import pytest
from django.test import override_settings
from playwright.sync_api import expect

from tests.browser import browsers
from tests.browser.browsers import CHROMIUM, DESK, FIREFOX, FLAGS, PHONE, sign_in
from tests.browser.model import script
from tests.browser.product import ENVIRONMENT, Product, as_settings, on_site
from tests.browser.scripted_site import ScriptedSite
from tests.browser.windows import Windows
from tests.fake_model import FakeModelServer
from tests.site import settings_for
from tests.tab import IS_PROCESS, PATIENCE, Tab

__all__ = ["CHROMIUM", "DESK", "FIREFOX", "FLAGS", "PATIENCE", "PHONE", "Product", "sign_in"]

HERE = Path(__file__).parent
# WhiteNoise's own way of answering, of which only a server in this process makes an error.
SENT_IN_PIECES = "ignore:StreamingHttpResponse must consume synchronous iterators"
A_FIRST_PAGE = 60_000  # ms; until a browser whose cache is empty has one, beside busy others
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.filterwarnings(SENT_IN_PIECES))


@pytest.fixture(scope="session")
def chromium():
    """The browser of the tests."""
    yield from browsers.firefox() if FIREFOX else browsers.chromium()


@pytest.fixture(scope="session")
def model():
    with FakeModelServer(script()) as server:
        yield server


@pytest.fixture(scope="session")
def _rows_may_be_read():
    """Also in the thread in which Playwright's loop runs, which is that of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield


@pytest.fixture(scope="session")
def whole_site(tmp_path_factory, _rows_may_be_read, django_db_setup, django_db_blocker):
    """The one server of this process."""
    folder = tmp_path_factory.mktemp("site")
    with django_db_blocker.unblock(), override_settings(**settings_for(folder), **as_settings()):
        site = ScriptedSite()
        site.start()
        yield site
        site.end()


@pytest.fixture
def site(whole_site):
    """The server with nothing in it but its owner and the scripted agent."""
    whole_site.prepare()
    return whole_site


@pytest.fixture
def working(site):
    """A worker runs beside the test, where what a page does goes on by itself."""
    with site.working():
        yield


@pytest.fixture(scope="module")
def product(request, tmp_path_factory, model):
    """The shipped agent with the demo model, and one beside it whose model is scripted here."""
    with served(request, tmp_path_factory, model) as product:
        write, plan = {"write_file": "allow", "list_files": "allow"}, {"enabled": True}
        product.post("/agents", id="scripted", name="Scripted", tools=write, plan=plan)
        product.change_agent("scripted", provider="openai", model="scripted")
        yield product
        if product.is_up:
            product.end()


def served(request, tmp_path_factory, model):
    environment = ENVIRONMENT | {"OPENAI_BASE_URL": model.url}
    if IS_PROCESS or getattr(request.module, "NEEDS_A_PROCESS", False):
        home = tmp_path_factory.mktemp("browser") / "home"
        return nullcontext(Product(home, **environment))
    return on_site(request.getfixturevalue("whole_site"), **environment)


@pytest.fixture
def careful(request):
    """The scripted agent asks before it writes."""
    product = request.getfixturevalue("site" if "site" in request.fixturenames else "product")
    product.change_agent("scripted", tools={"write_file": "ask", "list_files": "allow"})
    yield
    product.change_agent("scripted", tools={"write_file": "allow", "list_files": "allow"})


@pytest.fixture(scope="session")
def windows(chromium):
    """Contexts of the browser that are kept from test to test, for the sake of their cache."""
    windows = Windows(chromium)
    yield windows
    windows.close()


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
        be_patient(context)
        if signed_in and not options:
            made.append(context)
        return context

    yield context_for
    for context in made:
        context.close()


@pytest.fixture
def site_contexts(request, site, windows, chromium):
    """The same for one test, on the site."""
    own, with_clock = [], "clock" in request.fixturenames

    def context_for(signed_in, options):
        if signed_in and not options:
            return request.getfixturevalue("window")
        context = chromium.new_context(**({"viewport": DESK} | options))
        own.append(context)
        if signed_in:
            context.add_cookies([site.session()])
        if with_clock:
            context.clock.install()
        be_patient(context)
        return context

    yield context_for
    for context in own:
        context.close()


@pytest.fixture
def window(request, site, windows):
    """The context of a test's ordinary tabs."""
    context = windows.context_for(site, with_clock="clock" in request.fixturenames)
    be_patient(context)
    return context


def be_patient(context):
    context.set_default_timeout(PATIENCE)
    context.set_default_navigation_timeout(A_FIRST_PAGE)


@pytest.fixture
def clock(window):
    """The time of every page of this test: it goes on, and can be moved."""
    return window.clock


@pytest.fixture
def open_tab(request):
    """Open tabs of one person; in the end none may have complained."""
    on_site = "site" in request.fixturenames
    product = request.getfixturevalue("site" if on_site else "product")
    contexts = request.getfixturevalue("site_contexts" if on_site else "contexts")
    tabs = []

    def open_one(path=None, blocked=False, signed_in=True, **options):
        tab = Tab(contexts(signed_in, options).new_page(), product.address)
        if blocked:
            tab.page.route_web_socket("**/ws/**", lambda socket: socket.close())
        tabs.append(tab)
        return tab if path is None else tab.open(path)

    yield open_one
    faults = [f"tab {n}: {fault}" for n, tab in enumerate(tabs, 1) for fault in tab.faults()]
    for tab in tabs:
        tab.page.context.set_offline(False)  # whatever a test has left: others share the context
        tab.page.close()
    assert faults == []
