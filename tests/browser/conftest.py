"""A server, and tabs in which its owner is signed in.

The server is a thread of this process (tests/site.py), emptied for each test.
"""

import asyncio
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.test import override_settings
from playwright.sync_api import expect

from tests.browser import browsers
from tests.browser.browsers import CHROMIUM, DESK, FIREFOX, FLAGS, PHONE
from tests.browser.scripted_site import ScriptedSite
from tests.browser.windows import Windows
from tests.guards import guards
from tests.inner import ProviderKey
from tests.site import HOST, settings_for
from tests.tab import PATIENCE, Tab

__all__ = ["CHROMIUM", "DESK", "FIREFOX", "FLAGS", "PATIENCE", "PHONE"]

HERE = Path(__file__).parent
# WhiteNoise's own way of answering, of which only a server in this process makes an error.
SENT_IN_PIECES = "ignore:StreamingHttpResponse must consume synchronous iterators"
APART = "tests/browser needs a run of its own: Playwright's loop is in the way of async tests"
A_FIRST_PAGE = 60_000  # ms; until a browser whose cache is empty has one, beside busy others
# Nobody is at that address: what a test sends there its own model answers.
AS_STARTED = {
    "DEMO_PACE": 0.02,
    "MODEL_RETRY_BASE": 2,
    "PLANSIDE_MODEL": "demo/docs",
    "PLANSIDE_MODEL_IS_SET": True,
    "PROVIDER_KEYS": {"openai": ProviderKey("OPENAI_API_KEY", "key")},
    "PROVIDER_ADDRESSES": {"openai": "http://scripted.invalid/v1"},
}
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items):
    mark(items, HERE)


def mark(items, folder):
    """Those of this folder drive the browser, or are left out beside others."""
    own = [item for item in items if item.path.is_relative_to(folder)]
    for item in own:
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.filterwarnings(SENT_IN_PIECES))
        if len(own) < len(items):
            item.add_marker(pytest.mark.skip(reason=APART))


@pytest.fixture(scope="session")
def chromium():
    """The browser of the tests."""
    yield from browsers.firefox() if FIREFOX else browsers.chromium()


@pytest.fixture(scope="session")
def _rows_may_be_read():
    """Also in the thread in which Playwright's loop runs, which is that of the tests; in the thread
    of the server's loop they may be read no more than in the product."""

    def loop_of_the_product():
        if threading.current_thread() is threading.main_thread():
            raise RuntimeError("no running event loop")
        return asyncio.get_running_loop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.utils.asyncio.get_running_loop", loop_of_the_product)
        yield


@pytest.fixture(scope="session")
def whole_site(tmp_path_factory, _rows_may_be_read, django_db_setup, django_db_blocker):
    """The one server of this process."""
    folder = tmp_path_factory.mktemp("site")
    with django_db_blocker.unblock(), override_settings(**settings_for(folder), **AS_STARTED):
        site = ScriptedSite()
        guards.places.add((HOST, urlsplit(site.address).port or 0))
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


@pytest.fixture
def careful(site):
    """The scripted agent asks before it writes."""
    site.change_agent(tools={"write_file": "ask", "list_files": "allow"})


@pytest.fixture(scope="session")
def windows(chromium):
    """Contexts of the browser that are kept from test to test, for the sake of their cache."""
    windows = Windows(chromium)
    yield windows
    windows.close()


@pytest.fixture
def contexts(request, site, windows, chromium):
    """Where a test's tabs are: one for the ordinary ones, else one for each."""
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
def open_tab(site, contexts):
    """Open tabs of one person; in the end none may have complained."""
    tabs = []

    def open_one(path=None, blocked=False, signed_in=True, **options):
        tab = Tab(contexts(signed_in, options).new_page(), site.address)
        if blocked:
            tab.page.route_web_socket("**/ws/**", lambda socket: socket.close())
        tabs.append(tab)
        return tab if path is None else tab.open(path)

    yield open_one
    try:
        faults = [f"tab {n}: {fault}" for n, tab in enumerate(tabs, 1) for fault in tab.faults()]
    finally:
        for tab in tabs:
            tab.page.context.set_offline(
                False
            )  # whatever a test has left: others share the context
            tab.page.close()
    assert faults == []
