"""The tools of an agent as its card lists them: what each does, what it risks, what is granted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from agents.config.ownership import owner_of
from agents.config.schema import PLAN, AllowedCall
from agents.config.store import AgentRecord, is_admins, list_agents
from agents.config.tool_names import BETWEEN, RUN_AGENT
from agents.engine.available_tools import agent_tools
from agents.errors import Refused
from agents.models import ToolSource
from agents.telemetry.redaction import redacted_url
from agents.tools import permissions
from agents.tools.integrations.actions import BUILT_IN, list_sources
from agents.tools.permissions import NEVER_OFF, grant_of

# Shell and network are off until somebody grants them; writing asks.
DEFAULT_GRANTS = {
    "list_files": "allow",
    "read_file": "allow",
    "search_files": "allow",
    "write_file": "ask",
    "edit_file": "ask",
}

WORDS = {
    "list_files": "See which files are in its workspace",
    "read_file": "Read files in its workspace",
    "search_files": "Search what files say",
    "write_file": "Create and overwrite files",
    "edit_file": "Change parts of files",
    "shell": "Run any command on this computer, with Planside's rights",
    "fetch_url": "Fetch public web pages",
    "*": "Every tool that is not named here",
    "local_fs": "All file tools that are not named here",
    "local_shell": "Run any command on this computer, with Planside's rights",
}
# To allow these is to let the agent act on the world unseen: the card says so.
RISKY = {"write_file", "edit_file", "local_fs", "shell", "local_shell", "fetch_url", "*"}


@dataclass(frozen=True)
class Row:
    """One line of radios. `own` is what agent.json itself says of this word, if anything."""

    name: str
    does: str
    grant: str
    own: str = ""
    source: str = ""
    is_unasked: bool = False

    @property
    def short(self) -> str:
        """An operation's own name, without that of its service."""
        return self.name.partition(BETWEEN)[2]


@dataclass(frozen=True)
class AllowedAlways:
    """A call that is never asked about again, and the text it is taken back by."""

    tool: str
    covers: str
    call: str


def rows_of(agent: AgentRecord) -> list[Row]:
    """Tools that are built in, then a row per service, then the other words of the file."""
    own = [row(agent, name, WORDS.get(name, "")) for name in built_in(agent)]
    services = [of_source(agent, source) for source in list_sources()]
    listed = {each.name for each in [*own, *services]}
    sources = {each.name for each in services}
    rest = [name for name in agent.file.tools if name not in listed and is_word(name, sources)]
    return [*own, *services, *(row(agent, name, words_of(agent, name)) for name in rest)]


def built_in(agent: AgentRecord) -> list[str]:
    """By name; without a workspace there are none to name but the words say what is missing."""
    try:
        names = [tool.name for tool in agent_tools(permissions.of_agent(agent))]
    except Refused:
        names = [*DEFAULT_GRANTS, "shell", "fetch_url"]
    return [name for name in names if name != "shell" or is_admins(agent.id)]


def row(agent: AgentRecord, name: str, does: str, source: str = "") -> Row:
    grant = grant_of(agent, name)
    is_unasked = grant == "allow" and bool(source or name in RISKY)
    return Row(name, does, grant, agent.file.tools.get(name, ""), source, is_unasked)


def of_source(agent: AgentRecord, source: ToolSource) -> Row:
    count = len(source.tools)
    where = redacted_url(source.url) if source.url else "an MCP server on this computer"
    does = f"{count:,} {'operation' if count == 1 else 'operations'} of {where}"
    return row(agent, source.name, does, source.name)


def operations_of(agent: AgentRecord, source: ToolSource) -> list[Row]:
    """Each operation, with the grant of its own it may have."""
    return [
        row(agent, f"{source.name}{BETWEEN}{tool['name']}", first_sentence(tool["description"]))
        for tool in source.tools
    ]


def is_word(name: str, sources: Iterable[str]) -> bool:
    """Operations stand under their service; plan tools that cannot be off are no choice."""
    source, between, _ = name.partition(BETWEEN)
    return name != PLAN and name not in NEVER_OFF and not (between and source in sources)


def words_of(agent: AgentRecord, name: str) -> str:
    if name.startswith(RUN_AGENT):
        return f"Hand work to {name_beside(agent, name.removeprefix(RUN_AGENT))}"
    if name in ("shell", "local_shell") and not is_admins(agent.id):
        return "Not offered: only an admin's agent may run commands on the server"
    if name in WORDS:
        return WORDS[name]
    return "A tool of plans" if name in BUILT_IN else "There is no such tool now"


def name_beside(agent: AgentRecord, other: str) -> str:
    """What an agent of the same person is called; of another's no more is said than was typed."""
    owner = owner_of(agent.id)
    known = {each.id: each.file.name for each in list_agents() if owner_of(each.id) == owner}
    return known.get(other, other)


def first_sentence(description: object) -> str:
    lines = str(description).strip().split(". ")[0].splitlines()
    return lines[0].rstrip(".") if lines else ""


def always_of(agent: AgentRecord) -> list[AllowedAlways]:
    return [
        AllowedAlways(each.tool, covered(each), text_of(each)) for each in agent.file.always_allow
    ]


def covered(call: AllowedCall) -> str:
    """The arguments as they have to be, word for word."""
    values = call.arguments
    if call.tool == "shell" and set(values) == {"command"}:
        return str(values["command"])
    return json.dumps(values, ensure_ascii=False)


def text_of(call: AllowedCall) -> str:
    return json.dumps({"tool": call.tool, "arguments": call.arguments}, sort_keys=True)


def without(agent: AgentRecord, call: str) -> list[dict[str, object]] | None:
    """The list without this call; None when it is not in it."""
    kept = [each for each in agent.file.always_allow if text_of(each) != call]
    if len(kept) == len(agent.file.always_allow):
        return None
    return [each.model_dump(mode="json") for each in kept]
