"""A site with an agent whose model is scripted, and plans in every state."""

import json
from functools import cached_property

import httpx

from agents import actors, http
from agents.models import Conversation
from plans import actions
from plans.schemas import PlanDraft
from tests.browser.model import script, subtasks_to
from tests.fake_model import ScriptedTransport
from tests.inner import (
    OWNER,
    active_plan,
    create_agent,
    create_conversation,
    create_token,
    handle_message,
    local_owner,
    make_agent,
    name_untitled,
)
from tests.site import PATIENCE, Site

AGENT = "scripted"
FIVE = ("Read the pages", "List the gaps", "Fill them", "Mend the links", "Check the result")
TOOLS = {"write_file": "allow", "list_files": "allow"}


class Reached:
    """A server as a script of its owner's reaches it: by its home, its address and a token."""

    def agent_file(self, agent):
        return self.home / "workspaces" / agent / "agent.json"

    def file(self, path, agent=AGENT):
        return self.home / "workspaces" / agent / "files" / path

    def change_agent(self, agent=AGENT, **keys):
        """Edit agent.json by hand."""
        file = self.agent_file(agent)
        whole = self.home / "agent.json.new"  # nobody reads the half of it
        whole.write_text(json.dumps(json.loads(file.read_text()) | keys, indent=2))
        whole.replace(file)

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, **body):
        return self.ask("POST", path, body)

    def patch(self, path, **body):
        return self.ask("PATCH", path, body)

    def delete(self, path):
        return self.ask("DELETE", path)

    def ask(self, method, path, body=None):
        address = f"{self.address}/api{path}"
        answer = httpx.request(method, address, json=body, headers=self.headers, timeout=PATIENCE)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def plan(self, chat):
        """The plan in the drawer."""
        return self.get(f"/conversations/{chat}/plan")

    def texts(self, chat):
        """What was said in a conversation, in its order."""
        return [each["text"] for each in self.get(f"/conversations/{chat}/messages")["items"]]


class ScriptedSite(Site, Reached):
    """Prepared, it has the agent "scripted"; what its model says the test may say anew."""

    def prepare(self):
        """For a test: with nothing in it but the agent."""
        self.reset()
        self.__dict__.pop("headers", None)
        self.plays(*script()["rules"])
        self.do(self.make_agent, AGENT, name="Scripted", tools=TOOLS, plan={"enabled": True})

    def plays(self, *rules):
        """From now on the model goes by these rules."""
        self.model = ScriptedTransport({"rules": list(rules)})
        http.use(self.model)  # until the end of the test

    def make_agent(self, agent, **values):
        values = {"provider": "openai", "model": "scripted"} | values
        make_agent(local_owner(), agent, lambda: create_agent(agent, values))

    # Conversations and plans, made as their verbs make them

    def conversation(self, agent=AGENT):
        """The number of a new one."""
        return self.do(lambda: create_conversation(local_owner(), agent).pk)

    def answered(self, *texts):
        """One in which each of these was said and answered, as far as it gets by itself."""
        chat = self.conversation()
        self.says(chat, *texts)
        self.drive()
        return chat

    def scripted(self, word):
        """One whose plan waits for its start; the second of three subtasks does what the word says."""
        return self.proposed(
            *subtasks_to(word), title=f"A plan to {word}", goal=f"I want to {word}"
        )

    def proposed(self, *names, title="Tidy the docs", goal="Tidy up the docs"):
        """One whose plan of these subtasks waits for its start."""
        chat = self.conversation()
        self.do(propose, chat, names or FIVE, title, goal)
        return chat

    def started(self, word):
        """One whose plan has run as far as it gets by itself."""
        return self.runs(self.scripted(word))

    def ran(self, *names, title="Tidy the docs"):
        """The same, with a plan of these subtasks."""
        return self.runs(self.proposed(*names, title=title))

    def runs(self, chat):
        self.do(approve, chat)
        self.drive()
        return chat

    def says(self, chat, *texts):
        """The owner says these, one after the other; who answers is driven by the test."""
        self.do(take_in, chat, texts)

    @cached_property
    def headers(self):
        return {"Authorization": f"Bearer {self.do(new_token)}"}


def propose(chat, names, title, goal):
    conversation = Conversation.objects.get(pk=chat)
    draft = PlanDraft.model_validate({"title": title, "subtasks": names})
    actions.create_plan(conversation, draft, actors.AGENT, goal=goal)
    name_untitled(conversation, goal)


def approve(chat, run=""):
    plan = active_plan(Conversation.objects.get(pk=chat))
    actions.approve_plan(plan, plan.version, OWNER, run)


def take_in(chat, texts):
    conversation = Conversation.objects.get(pk=chat)
    for text in texts:
        handle_message(conversation, text, OWNER)


def new_token():
    return create_token(local_owner(), "script")
