"""The browser's contexts that are kept from test to test, for the sake of their cache."""

from tests.browser.browsers import DESK, FIREFOX

STORED = "local_storage,session_storage,indexeddb,cache_storage"
MOST = 10  # tests of one context whose clock is moved


class Windows:
    def __init__(self, browser):
        self.browser = browser
        self.kept = {}

    def context_for(self, site, with_clock):
        """Where nobody has been yet, but for the cache; its clock can be moved if need be."""
        if with_clock in self.kept and self.kept[with_clock].is_used_up(with_clock):
            self.kept.pop(with_clock).context.close()
        if with_clock not in self.kept:
            self.kept[with_clock] = Window(self.browser, site.address)
        window = self.kept[with_clock]
        window.forget()
        window.tests += 1
        window.context.add_cookies([site.session()])
        if with_clock:
            window.context.clock.install()
            window.context.clock.resume()  # the test before may have stopped it
        return window.context

    def close(self):
        while self.kept:
            self.kept.popitem()[1].context.close()


class Window:
    """A context with a page that stays: with it the process lives on that draws the others."""

    def __init__(self, browser, address):
        self.context, self.address = browser.new_context(viewport=DESK), address
        self.tests = 0
        if not FIREFOX:
            page = self.context.new_page()
            page.goto(f"{address}/healthz")
            self.tools = self.context.new_cdp_session(page)

    def is_used_up(self, with_clock):
        """Firefox has no tools to forget with; and each page of a context repeats all that was done
        to its clock."""
        return FIREFOX or (with_clock and self.tests == MOST)

    def forget(self):
        if not FIREFOX:
            self.context.clear_cookies()
            where = {"origin": self.address, "storageTypes": STORED}
            self.tools.send("Storage.clearDataForOrigin", where)
