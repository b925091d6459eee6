"""What a model is offered at this moment of a turn: tools and instructions.

The turn's handler says what it offers, from the rows, each time tools are listed and again each
time one is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from agents.config.schema import AllowedCall
from agents.engine.handlers import Offer, handler_of
from agents.engine.subagents import run_agent_tools
from agents.llm.catalog import window_for
from agents.models import ToolCall, Turn
from agents.tools import permissions
from agents.tools.base import BETWEEN, RUN_AGENT, SEARCH_TOOLS, Tool, ToolFailed
from agents.tools.confinement import Workspace
from agents.tools.fetch import fetch_tools
from agents.tools.files import file_tools
from agents.tools.integrations.openapi.requests import ReadFile
from agents.tools.integrations.tools import source_tools
from agents.tools.permissions import Grant, Permissions, allows, hides, is_off
from agents.tools.search import newest_found, search_tool, select, service_of
from agents.tools.shell import shell_tools

MOST_NAMED = 20  # tools in the refusal of one that is not on offer: the nearest ones


@dataclass(frozen=True)
class AvailableTools:
    """The tools of one moment, by name, with the grant each call needs.

    `unlisted` may be called, but a request has no room to describe them; `left_out` may be called
    once `search_tools` has found them. `words` is the list they were taken from.
    """

    offer: Offer
    words: Sequence[str] = ("*",)
    tools: dict[str, Tool] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)
    unlisted: Set[str] = frozenset()
    left_out: Set[str] = frozenset()
    always_allow: Sequence[AllowedCall] = ()

    @property
    def listed(self) -> list[Tool]:
        return [tool for tool in self.tools.values() if tool.name not in self.unlisted]

    def must_ask(self, call: ToolCall) -> bool:
        """Set to ask, not decided yet, and exactly this call was not allowed for always."""
        name = call.tool
        if name == "run_agent":
            name = f"{RUN_AGENT}{call.arguments.get('agent')}"
        asks = self.grants.get(name) == "ask" and not call.decision
        return asks and not self.is_always_allowed(call)

    def is_always_allowed(self, call: ToolCall) -> bool:
        """What was allowed of a service's tool is not, once the tool is another one than it was."""
        tool = self.tools.get(call.tool)
        identity = tool.identity if tool else ""
        rules = (each for each in self.always_allow if each.identity == identity)
        return any(is_exactly(each, call.tool, call.arguments) for each in rules)

    def refusal(self, call: ToolCall) -> str:
        """Why the call cannot be carried out now, or nothing."""
        if call.tool in self.tools:
            return ""
        if call.tool in self.left_out:
            return f"{call.tool} was not carried out. It has to be found with search_tools first."
        names = sorted(self.tools)
        if len(names) > MOST_NAMED:
            source = call.tool.partition(BETWEEN)[0] + BETWEEN
            siblings = [name for name in names if name.startswith(source)]
            near = get_close_matches(call.tool, siblings or names, MOST_NAMED, 0.4)
            names = [*near, f"and {len(names) - len(near):,} others"]
        listed = ", ".join(names) or "none"
        why = self.offer.refusal or "It does not exist or is not granted to this agent."
        if not allows(self.words, call.tool):
            why = "The list of this task of the chain does not allow it."
        return f"{call.tool[:100]} was not carried out. {why} Tools on offer now: {listed}."


def available_tools(turn: Turn, names: list[str]) -> AvailableTools:
    """Everything the model may call now: the handler's tools and the granted ones of the agent.

    Grants are read from the agent's file at each call, not from the turn's snapshot; `names` is
    the chain task's own list: nothing is offered that it does not allow, whoever offers it. What
    was found goes last, so that requests begin alike.
    """
    now = permissions.of_turn(turn)
    offer = handler_of(turn).offer(turn, now.agent, names)
    now = replace(now, lifted=now.lifted.union(offer.lifted))
    tools = {tool.name: tool for tool in offer.tools}
    own: list[Tool] = []
    operations: list[Tool] = []
    if offer.agent_tools != "none":
        own = [*agent_tools(now), *run_agent_tools(turn, list(now.callable_agents))]
        operations = source_tools(reader_of_files(now, names))
    grants = {tool.name: grant_of_tool(now, tool) for tool in (*own, *operations)}

    def is_open(tool: Tool) -> bool:
        granted = grants[tool.name] != "off" or tool.name == "run_agent"
        open_now = tool.read_only or offer.agent_tools == "all"
        return granted and open_now and allows(names, tool.name)

    operations = list(filter(is_open, operations))
    window = window_for(turn.config) if operations else 0
    selection = select(operations, {*now.words, *names}, window)
    by_name = {tool.name: tool for tool in selection.left_out}
    unlocked = [by_name.pop(n) for n in turn.checkpoint.get("unlocked", []) if n in by_name]
    listed = newest_found(selection, unlocked, window)
    search = [search_tool(operations, selection.left_out)] if selection.left_out else []
    if hides(names, SEARCH_TOOLS) or is_off(now.agent, SEARCH_TOOLS):
        search = []
    for tool in [*filter(is_open, own), *selection.offered, *search, *unlocked]:
        tools.setdefault(tool.name, tool)
    grants |= {f"{RUN_AGENT}{id}": grant for id, grant in now.callable_agents.items()}
    unlisted = {tool.name for tool in unlocked} - {tool.name for tool in listed}
    always = now.agent.file.always_allow
    return AvailableTools(offer, names, tools, grants, unlisted, set(by_name), always)


def grant_of_tool(now: Permissions, tool: Tool) -> Grant:
    """To send a file is to read it: where reading asks, so does what sends."""
    grant = now.grant(tool.name)
    asks = grant == "allow" and tool.sends_files and now.grant("read_file") == "ask"
    return "ask" if asks else grant


def left_out(now: Permissions) -> Counter[str]:
    """How many operations of which services a model finds only by searching."""
    operations = source_tools(reader_of_files(now))
    granted = [tool for tool in operations if now.grant(tool.name) != "off"]
    selection = select(granted, now.words, window_for(now.agent.file.settings()))
    return Counter(service_of(tool) for tool in selection.left_out)


def reader_of_files(now: Permissions, names: Sequence[str] = ()) -> ReadFile:
    """The agent's files, for operations that send some."""
    is_closed = now.grant("read_file") == "off" or hides(names, "read_file")

    def read(path: str, largest: int) -> bytes:
        if is_closed:
            raise ToolFailed("It sends a file of the workspace, and read_file is off here.")
        return Workspace(now.folder).read(path, largest)

    return read


def agent_tools(now: Permissions) -> list[Tool]:
    """The tools with a row of their own in Settings; sources have theirs.

    Only an admin's agent gets at the server itself: its shell, its folders, its own network.
    """
    root = now.folder
    shell = shell_tools(root) if now.reaches_server else []
    return [*file_tools(root), *shell, *fetch_tools(now.private_hosts)]


def is_exactly(allowed: AllowedCall, tool: str, arguments: object) -> bool:
    return allowed.tool == tool and same_json(allowed.arguments, arguments)


def same_json(one: object, other: object) -> bool:
    """Equal by type and value at every depth; the order of an object's keys does not count.

    Python's own == takes 1, 1.0 and true for one another.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(same_json(a, b) for a, b in pairs)
    return type(one) is type(other) and one == other
