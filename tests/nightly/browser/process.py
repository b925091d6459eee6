"""A server in a process of its own, as a person starts it, and the API as a script of theirs."""

import signal
from functools import cached_property
from urllib.parse import urlsplit

from tests.browser.scripted_site import Reached
from tests.console.serving import Started, token_for


class Process(Reached):
    def __init__(self, home, **environment):
        self.home, self.environment = home, environment
        self.start()

    def start(self):
        """At its second start it stays on its port, as a person's does."""
        self.server = Started(self.home, **self.environment)
        self.address, self.link = self.server.address, self.server.link
        self.environment["PLANSIDE_PORT"] = str(urlsplit(self.address).port)

    def end(self, how=signal.SIGTERM):
        return self.server.end(how)

    @property
    def is_up(self):
        return self.server.process.poll() is None

    @cached_property
    def headers(self):
        return {"Authorization": f"Bearer {token_for(self.home)}"}

    def conversation(self, agent):
        return self.post("/conversations", agent=agent)["id"]

    def sign_in(self, browser):
        """The session of one who has followed the link."""
        context = browser.new_context()
        context.new_page().goto(self.link)
        state = context.storage_state()
        context.close()
        return state
