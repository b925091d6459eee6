"""What an agent may use, decided in one place and asked again at each call.

It follows from who owns the agent and the conversation, what agent.json says, what a person lifted
for this one run, and what the tool reaches. `of_turn` is the only way to a decision.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from django.contrib.auth.models import User
from django.db.models import QuerySet, Subquery

from agents.config.schema import PLAN, REQUIRED_TOOLS, AgentFile
from agents.config.store import (
    ADMINS_ONLY,
    SERVER_KEYS,
    AgentRecord,
    files_folder,
    is_admins,
    read_agent,
)
from agents.errors import Forbidden, Invalid, NotFound
from agents.models import AgentOwner, Conversation, ToolSource, Turn
from agents.statements import prepared
from agents.stored_text import gettext
from agents.tools.base import (
    BETWEEN,
    BUILT_IN,
    RUN_AGENT,
    SERVER_TOOLS,
)


@dataclass(frozen=True)
class Permissions:
    """The decisions for one agent. `lifted` is what a person allowed for this run alone."""

    agent: AgentRecord
    reaches_server: bool
    lifted: frozenset[str] = frozenset()

    def grant(self, name: str) -> Grant:
        """An explicit off stays off and the server stays closed, whatever else is granted."""
        if name in SERVER_TOOLS and not self.reaches_server:
            return "off"
        if self.lifted.intersection(grant_keys(name)) and not self.is_explicitly_off(name):
            return "allow"
        return grant_of(self.agent, name)

    def is_explicitly_off(self, name: str) -> bool:
        """Whether the nearest grant in agent.json is off, and not merely missing."""
        grants = (self.agent.file.tools.get(key) for key in (*grant_keys(name), "*"))
        return next((grant for grant in grants if grant), "") == "off"

    @property
    def words(self) -> set[str]:
        """Whatever agent.json names, and what is lifted for this run."""
        return {*self.agent.file.tools, *self.lifted}

    @property
    def callable_agents(self) -> dict[str, Grant]:
        """The agents this one may call, each granted by its own `run_agent:<id>`."""
        keys = [*self.agent.file.tools, *sorted(self.lifted)]
        names = [key for key in keys if key.startswith(RUN_AGENT)]
        grants = {name.removeprefix(RUN_AGENT): self.grant(name) for name in names}
        return {id: grant for id, grant in grants.items() if grant != "off"}

    @property
    def folder(self) -> Path:
        """Where the agent's file tools work. Raises Forbidden for another folder of the server."""
        if self.agent.file.workspace is not None and not self.reaches_server:
            raise Forbidden(
                gettext("{key}: {why}.").format(key="workspace", why=SERVER_KEYS["workspace"])
            )
        return files_folder(self.agent)

    @property
    def private_hosts(self) -> list[str]:
        """Hosts of the server's own network that may be fetched from."""
        return self.agent.file.fetch_hosts if self.reaches_server else []


def of_turn(turn: Turn) -> Permissions:
    """As the rows and the file are now. Raises NotFound where the agent is not the person's."""
    options = turn.config.get("options") or {}
    if options.get("in_folder"):
        file = AgentFile.model_validate({k: v for k, v in turn.config.items() if k != "options"})
        agent = AgentRecord("", Path(str(file.workspace)), file, "", None, None, "")
    else:
        agent = read_agent(turn.conversation.agent_id)
    reaches = access(agent.id, turn.conversation.owner_id)
    return Permissions(agent, reaches, frozenset(options.get("allow") or ()))


def of_conversation(conversation: Conversation) -> Permissions:
    """As of its next turn."""
    agent = read_agent(conversation.agent_id)
    return Permissions(agent, access(agent.id, conversation.owner_id))


def of_agent(agent: AgentRecord) -> Permissions:
    """For its owner, apart from any run: what Settings shows."""
    return Permissions(agent, is_admins(agent.id))


@prepared
def owner_and_admin(agent: str, person: int) -> QuerySet[User, tuple[int | None, bool]]:
    owner = AgentOwner.objects.filter(agent_id=agent).values("user_id")
    return User.objects.filter(pk=person).values_list(Subquery(owner), "is_superuser")


def access(agent_id: str, person_id: int) -> bool:
    """Whether the agent reaches the server itself: only an admin's does, in the admin's hands."""
    owner, is_admin = owner_and_admin.first(agent=agent_id, person=person_id) or (None, False)
    if owner != person_id and not (owner is None and is_admin):
        raise NotFound(gettext("There is no agent {agent_id!r}.").format(agent_id=agent_id))
    return bool(is_admin)


def check_lifted(names: Iterable[str], now: Permissions, person_id: int) -> list[str]:
    """The tools that a person lifts for one run, each once.

    Raises NotFound for unknown names, Invalid for what agent.json switches off, Forbidden for what
    only an admin's agent may use.
    """
    for name in (wanted := check_known(names, person_id)):
        is_servers = any(name in (each, BUILT_IN[each].group) for each in SERVER_TOOLS)
        if is_servers and not now.reaches_server:
            raise Forbidden(ADMINS_ONLY.format(name=name))
        if now.is_explicitly_off(name):
            raise Invalid(
                gettext(
                    "allow: {name} is off in agent.json, which has to be changed first."
                ).format(name=name)
            )
    return wanted


def check_known(names: Iterable[str], person_id: int) -> list[str]:
    """Each once. Raises NotFound naming those that do not exist for this person."""
    wanted = list(dict.fromkeys(names))
    if unknown := [name for name in wanted if not exists(name, person_id)]:
        listed = ", ".join(f"“{name[:64]}”" for name in unknown[:10])
        raise NotFound(
            gettext("allow: there is no tool or service {listed}.").format(listed=listed)
        )
    return wanted


def exists(name: str, person_id: int) -> bool:
    """A tool, what tools come from, one operation of a service, or an agent of this person."""
    if name.startswith(RUN_AGENT):
        try:
            access(read_agent(name.removeprefix(RUN_AGENT)).id, person_id)
        except NotFound:
            return False
        return True
    source, between, operation = name.partition(BETWEEN)
    if not between:
        return name in known_names()
    found = ToolSource.objects.filter(name=source).first()
    return found is not None and any(tool["name"] == operation for tool in found.tools)


# Who may call what: agent.json grants, a chain task's list narrows.

Grant = Literal["allow", "ask", "off"]

NEVER_OFF = set(REQUIRED_TOOLS)
GROUPS = {name: tool.group for name, tool in BUILT_IN.items() if tool.group}


def grant_keys(name: str) -> tuple[str, ...]:
    """What a tool may be granted by, the nearest first: its own name, and what it comes from."""
    source = GROUPS.get(name) or name.partition(BETWEEN)[0]
    if name.startswith(RUN_AGENT):
        source = RUN_AGENT.rstrip(":")
    return (name,) if source == name else (name, source)


def grant_of(agent: AgentRecord, name: str) -> Grant:
    """The nearest grant in agent.json: the tool's own, its source's, `*`; else off."""
    for key in (*grant_keys(name), "*"):
        if (grant := agent.file.tools.get(key)) in ("allow", "ask", "off"):
            return grant
    return "off"


def allows(words: Container[str], name: str) -> bool:
    """A chain task's list: `*` = all, a name = that one, `!name` = never that one."""
    is_named = any(each in words for each in (*grant_keys(name), "*"))
    return is_named and not hides(words, name)


def allowed_by_both(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The list of what two lists allow."""
    pairs = ((one, set(other)), (other, set(one)))
    named = [w for words, by in pairs for w in words if not w.startswith("!") and allows(by, w)]
    return [*named, *(word for word in (*one, *other) if word.startswith("!"))]


def hides(words: Container[str], name: str) -> bool:
    """Whether the list takes this tool away, by its name, by what it comes from, or with all."""
    return any(f"!{each}" in words for each in (*grant_keys(name), "*"))


def is_off(agent: AgentRecord, name: str) -> bool:
    """Plan tools come from the gate; naming one as off takes it away, but for the vital ones."""
    return name not in NEVER_OFF and agent.file.tools.get(name) == "off"


def known_names() -> set[str]:
    """Every name a grant or a chain may use: tools, and what tools come from."""
    sources = ToolSource.objects.values_list("name", flat=True)
    tools = {name: tool.group for name, tool in BUILT_IN.items() if tool.group != PLAN}
    return {*tools, *filter(None, tools.values()), *sources}
