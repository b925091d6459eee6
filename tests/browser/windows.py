"""The browser's contexts that are kept from test to test, for the sake of their cache."""

from tests.browser.browsers import DESK, FIREFOX

STORED = "local_storage,session_storage,indexeddb,cache_storage"


class Windows:
    def __init__(self, browser):
        self.browser = browser
        self.kept = {}

    def context_for(self, site, with_clock):
        """Where nobody has been yet, but for the cache; its clock can be moved if need be."""
        if FIREFOX:  # has no tools to forget with
            self.close()
        if with_clock not in self.kept:
            self.kept[with_clock] = self.browser.new_context(viewport=DESK)
        context = self.kept[with_clock]
        if not FIREFOX:
            self.forget(context, site.address)
        context.add_cookies([site.session()])
        if with_clock:
            context.clock.install()
        return context

    def forget(self, context, address):
        context.clear_cookies()
        page = context.new_page()
        tools = context.new_cdp_session(page)
        tools.send("Storage.clearDataForOrigin", {"origin": address, "storageTypes": STORED})
        page.close()

    def close(self):
        while self.kept:
            self.kept.popitem()[1].close()
