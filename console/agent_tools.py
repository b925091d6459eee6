"""The tools of an agent as its card lists them: what each does, what it risks, what is granted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, ngettext
from pydantic import JsonValue

from agents.config.ownership import owner_of
from agents.config.schema import PLAN, AllowedCall
from agents.config.store import AgentRecord, is_admins, list_agents
from agents.engine.available_tools import agent_tools, left_out
from agents.errors import Refused
from agents.models import ToolCall, ToolSource
from agents.sentences import listed
from agents.telemetry.redaction import redacted_url
from agents.tools import permissions
from agents.tools.base import BETWEEN, RUN_AGENT, SEARCH_TOOLS, Tool
from agents.tools.integrations.actions import TAKEN, list_sources
from agents.tools.integrations.tools import allowed_tools
from agents.tools.permissions import NEVER_OFF, grant_of, is_off
from console.changes.calls import CallDrawing, draw_call
from console.language import grouped, shown_name

# Shell and network are off until somebody grants them; writing asks.
DEFAULT_GRANTS = {
    "list_files": "allow",
    "read_file": "allow",
    "search_files": "allow",
    "write_file": "ask",
    "edit_file": "ask",
}

DESCRIPTIONS = {
    "list_files": gettext_lazy("See which files are in its workspace"),
    "read_file": gettext_lazy("Read files in its workspace"),
    "search_files": gettext_lazy("Search what files say"),
    "write_file": gettext_lazy("Create and overwrite files"),
    "edit_file": gettext_lazy("Change parts of files"),
    "shell": gettext_lazy("Run any command on this computer, with Planside's rights"),
    "fetch_url": gettext_lazy("Fetch public web pages"),
    "*": gettext_lazy("Every tool that is not named here"),
    "local_fs": gettext_lazy("All file tools that are not named here"),
    "local_shell": gettext_lazy("Run any command on this computer, with Planside's rights"),
}
SHELL = ("shell", "local_shell")
# Said where it is not off; docs/trust.md says it at length.
REACH = gettext_lazy("{does}: it reaches the database, keys, chains and every agent's files")
# To allow these is to let the agent act on the world unseen: the card says so.
RISKY = {"write_file", "edit_file", "local_fs", "shell", "local_shell", "fetch_url", "*"}

CHOICES: list[tuple[str, str | Promise]] = [
    ("allow", gettext_lazy("Allow")),
    ("ask", gettext_lazy("Ask")),
    ("off", gettext_lazy("Off")),
]


@dataclass(frozen=True)
class GrantRow:
    """One line of radios. `own` is what agent.json itself says of an operation, if anything."""

    name: str
    does: str
    grant: str
    own: str = ""
    source: str = ""
    is_unasked: bool = False
    is_operation: bool = False

    @property
    def label(self) -> str:
        """The tool's name; an operation stands under its service, whose name it does not repeat."""
        return self.name.partition(BETWEEN)[2] if self.is_operation else self.name

    @property
    def choices(self) -> list[tuple[str, str | Promise]]:
        """Value and words of each radio."""
        return [("as-above", gettext("As above")), *CHOICES] if self.is_operation else CHOICES

    @property
    def chosen(self) -> str:
        return (self.own or "as-above") if self.is_operation else self.grant


@dataclass(frozen=True)
class AllowedAlways:
    """A call that is not asked about again, and the text it is taken back by.

    It is over, and asks again, where its service's tool has changed since or is gone.
    """

    id: str
    tool: str
    call: str
    drawing: CallDrawing
    by: str
    at: datetime | None
    is_over: bool
    is_gone: bool


def grant_rows(agent: AgentRecord) -> list[GrantRow]:
    """Tools that are built in, then a row per service, then the other names in the file."""
    try:
        names = [tool.name for tool in agent_tools(permissions.of_agent(agent))]
    except Refused:  # without a workspace there are no tools, but the rows say what is missing
        names = [*DEFAULT_GRANTS, "shell", "fetch_url"]
    names = [name for name in names if name != "shell" or is_admins(agent.id)]
    rows = [grant_row(agent, name, str(DESCRIPTIONS.get(name, ""))) for name in names]
    for source in list_sources():
        count = len(allowed_tools(source))
        rows.append(grant_row(agent, source.name, operations_in_words(source, count), source.name))
    shown = {row.name for row in rows}
    sources = {row.source for row in rows if row.source}
    for name in agent.file.tools:
        source_name, between, _ = name.partition(BETWEEN)
        # Operations stand under their service; plan tools that cannot be off are no choice.
        is_no_choice = name == PLAN or name in NEVER_OFF or (between and source_name in sources)
        if name not in shown and not is_no_choice:
            rows.append(grant_row(agent, name, description_of(agent, name)))
    return rows


def operations_in_words(source: ToolSource, count: int) -> str:
    if not source.url:
        words = ngettext(
            "{n} operation of an MCP server on this computer",
            "{n} operations of an MCP server on this computer",
            count,
        )
        return words.format(n=grouped(count))
    return operations_at(redacted_url(source.url), count)


def operations_at(place: str, count: int) -> str:
    words = ngettext("{n} operation of {place}", "{n} operations of {place}", count)
    return words.format(n=grouped(count), place=place)


def note_on_large_offers(agent: AgentRecord) -> str:
    """Which operations a model finds by searching alone, if there are any."""
    counts = left_out(permissions.of_agent(agent)).items()
    if not counts:
        return ""
    if is_off(agent, SEARCH_TOOLS):
        note = gettext(
            "{operations}: more than a model is offered at once, and {tool} is off: "
            "it cannot call them."
        )
    else:
        note = gettext(
            "{operations}: more than a model is offered at once, so it finds them with {tool}."
        )
    named = listed([operations_at(source, count) for source, count in counts])
    return note.format(operations=named, tool=SEARCH_TOOLS)


def operations_of(agent: AgentRecord, source: ToolSource) -> list[GrantRow]:
    """Each operation with its first sentence, and the grant of its own it may have."""
    rows = []
    for tool in allowed_tools(source):
        name = f"{source.name}{BETWEEN}{tool['name']}"
        lines = str(tool["description"]).strip().split(". ")[0].splitlines()
        does = lines[0].rstrip(".") if lines else ""
        own = agent.file.tools.get(name, "")
        rows.append(GrantRow(name, does, grant_of(agent, name), own, is_operation=True))
    return rows


def grant_row(agent: AgentRecord, name: str, does: str, source: str = "") -> GrantRow:
    grant = grant_of(agent, name)
    if name in SHELL and grant != "off" and is_admins(agent.id):
        does = str(REACH).format(does=does)
    is_unasked = grant == "allow" and bool(source or name in RISKY)
    return GrantRow(name, does, grant, source=source, is_unasked=is_unasked)


def description_of(agent: AgentRecord, name: str) -> str:
    """What a name does that stands in the file beside the built-in tools and the services."""
    if name.startswith(RUN_AGENT):
        # Only agents of the same person are called by their names: of another's no more is shown
        # than was typed.
        owner, other = owner_of(agent.id), name.removeprefix(RUN_AGENT)
        names = {
            each.id: shown_name(each.file) for each in list_agents() if owner_of(each.id) == owner
        }
        return gettext("Hand work to {agent}").format(agent=names.get(other, other))
    if name in SHELL and not is_admins(agent.id):
        return gettext("Not offered: only an admin's agent may run commands on the server")
    if name in DESCRIPTIONS:
        return str(DESCRIPTIONS[name])
    return gettext("A tool of plans") if name in TAKEN else gettext("There is no such tool now")


def always_allowed(agent: AgentRecord, tools: Mapping[str, Tool]) -> list[AllowedAlways]:
    """Each call that is not asked about again, whole; `tools` are those of services, by name."""
    return [
        AllowedAlways(
            id=hashlib.sha256(key_of(each).encode()).hexdigest()[:12],
            tool=each.tool,
            call=key_of(each),
            drawing=draw_call(ToolCall(tool=each.tool, arguments=each.arguments)),
            by=each.by,
            at=parsed_time(each.at),
            is_over=(tools[each.tool].identity if each.tool in tools else "") != each.identity,
            is_gone=BETWEEN in each.tool and each.tool not in tools,
        )
        for each in agent.file.always_allow
    ]


def parsed_time(text: str) -> datetime | None:
    """What a hand has written there may be no time."""
    try:
        return parse_datetime(text)
    except ValueError:
        return None


def key_of(call: AllowedCall) -> str:
    return json.dumps({"tool": call.tool, "arguments": call.arguments}, sort_keys=True)


def without(agent: AgentRecord, key: str) -> list[JsonValue] | None:
    """The list without this call; None when it is not in it."""
    kept = [call for call in agent.file.always_allow if key_of(call) != key]
    if len(kept) == len(agent.file.always_allow):
        return None
    return [call.model_dump(mode="json", exclude_unset=True) for call in kept]
