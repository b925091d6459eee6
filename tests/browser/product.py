"""The product as a person and a script of its owner's see it, on the site or in a process."""

import json
import signal
from contextlib import ExitStack, closing, contextmanager
from urllib.parse import urlsplit

from django.test import override_settings

from agents import http
from console.env import ProviderKey
from tests.console.serving import Script, Started
from tests.inner import GOES_AWAY, RESTARTS, create_token, local_owner
from tests.tab import GOAL

# Nobody is at that address: what a test sends there its own model answers.
ENVIRONMENT = {
    "PLANSIDE_DEMO_PACE": "0.02",
    "PLANSIDE_MODEL": "demo/docs",
    "OPENAI_BASE_URL": "http://scripted.invalid/v1",
    "OPENAI_API_KEY": "key",
}
SIGNALS = {signal.SIGINT: GOES_AWAY, signal.SIGTERM: RESTARTS, signal.SIGKILL: None}


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


class ProductOnSite(Product):
    """The same, served by the site while a worker runs in it."""

    def __init__(self, site, **environment):
        site.reset()
        self.site, self.environment = site, environment
        self.home, self.address, self.server = site.home, site.address, site
        self.script = ScriptOnSite(site)
        self.session = {"cookies": [site.session_by_link()], "origins": []}
        self.work = self.at_work()

    def at_work(self):
        work = ExitStack()
        work.enter_context(self.site.working())
        return work

    def close(self):
        self.work.close()

    def start(self):
        self.site.comes_back()
        self.work = self.at_work()

    def end(self, how=signal.SIGTERM):
        self.work.close()
        self.site.goes_away(SIGNALS[how])

    @property
    def is_up(self):
        return self.site.is_up.is_set()


class ScriptOnSite(Script):
    def __init__(self, site):
        token = site.do(lambda: create_token(local_owner(), "script"))
        self.headers = {"Authorization": f"Bearer {token}"}


@contextmanager
def on_site(site, **environment):
    """The site as a server that was started with these variables."""
    with override_settings(**as_settings(**environment)):
        product = ProductOnSite(site, **environment)
        with http.use(None), closing(product):
            yield product


def as_settings(**environment):
    """What a server reads out of these variables, beside those that are always set."""
    known = ENVIRONMENT | environment
    return {
        "DEMO_PACE": float(known["PLANSIDE_DEMO_PACE"]),
        "MODEL_RETRY_BASE": 2,
        "PLANSIDE_MODEL": known["PLANSIDE_MODEL"],
        "PLANSIDE_MODEL_IS_SET": True,
        "PROVIDER_KEYS": {"openai": ProviderKey("OPENAI_API_KEY", known["OPENAI_API_KEY"])},
        "PROVIDER_ADDRESSES": {"openai": known["OPENAI_BASE_URL"]},
    }
