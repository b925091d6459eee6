"""The browser's contexts that are kept from test to test, for the sake of their cache."""

from itertools import count

from tests.browser.browsers import DESK, FIREFOX

CLOCKS = 20  # tests after which one context's pages each run the moves of too many clocks
STORED = "local_storage,session_storage,indexeddb,cache_storage"


class Windows:
    def __init__(self, browser):
        self.browser = browser
        self.kept, self.clocks = {}, count(1)

    def context_for(self, site, with_clock):
        """Where nobody has been yet, but for the cache; its clock can be moved if need be."""
        if FIREFOX:  # has no tools to forget with
            self.close()
        elif with_clock and not next(self.clocks) % CLOCKS:
            self.kept.pop(True).context.close()
        if with_clock not in self.kept:
            self.kept[with_clock] = Window(self.browser, site.address)
        window = self.kept[with_clock]
        window.forget()
        window.context.add_cookies([site.session()])
        if with_clock:
            window.context.clock.install()
        return window.context

    def close(self):
        while self.kept:
            self.kept.popitem()[1].context.close()


class Window:
    """A context with a page that stays: with it the process lives on that draws the others."""

    def __init__(self, browser, address):
        self.context, self.address = browser.new_context(viewport=DESK), address
        if not FIREFOX:
            page = self.context.new_page()
            page.goto(f"{address}/healthz")
            self.tools = self.context.new_cdp_session(page)

    def forget(self):
        if not FIREFOX:
            self.context.clear_cookies()
            where = {"origin": self.address, "storageTypes": STORED}
            self.tools.send("Storage.clearDataForOrigin", where)
