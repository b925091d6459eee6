"""What a model is offered at this moment of a turn: tools and instructions.

The turn's handler says what it offers, from the rows, each time tools are listed and again each
time one is called.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from agents.engine.handlers import Offer, handler_of
from agents.engine.subagents import run_agent_tools
from agents.models import ToolCall, Turn
from agents.tools import permissions
from agents.tools.base import BETWEEN, RUN_AGENT, Tool
from agents.tools.fetch import fetch_tools
from agents.tools.files import file_tools
from agents.tools.integrations.tools import source_tools
from agents.tools.permissions import NEVER_OFF, Grant, Permissions, allows, hides, is_off
from agents.tools.shell import shell_tools

MOST_NAMED = 20  # tools in the refusal of one that is not on offer: the nearest ones


@dataclass(frozen=True)
class AvailableTools:
    """The tools of one moment, by name, with the grant each call needs."""

    offer: Offer
    tools: dict[str, Tool] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)

    always_allow: tuple[object, ...] = ()

    def must_ask(self, call: ToolCall) -> bool:
        """Set to ask, not decided yet, and exactly this call was not allowed for always."""
        exact = {"tool": call.tool, "arguments": call.arguments}
        known = any(same_json(exact, each) for each in self.always_allow)
        name = call.tool
        if name == "run_agent":
            name = f"{RUN_AGENT}{call.arguments.get('agent')}"
        asks = self.grants.get(name) == "ask" and not call.decision
        return asks and not known

    def refusal(self, call: ToolCall) -> str:
        """Why the call cannot be carried out now, or nothing."""
        if call.tool in self.tools:
            return ""
        names = sorted(self.tools)
        if len(names) > MOST_NAMED:
            source = call.tool.partition(BETWEEN)[0] + BETWEEN
            siblings = [name for name in names if name.startswith(source)]
            near = get_close_matches(call.tool, siblings or names, MOST_NAMED, 0.4)
            names = [*near, f"and {len(names) - len(near):,} others"]
        listed = ", ".join(names) or "none"
        why = self.offer.refusal or "It does not exist or is not granted to this agent."
        return f"{call.tool[:100]} was not carried out. {why} Tools on offer now: {listed}."


def available_tools(turn: Turn, names: list[str]) -> AvailableTools:
    """Everything the model may call now: the handler's tools and the granted ones of the agent.

    Grants are read from the agent's file at each call, not from the turn's snapshot; `names` is
    the chain task's own list. Plan tools come from the gate: a task may hide those that are not
    vital.
    """
    now = permissions.of_turn(turn)
    offer = handler_of(turn).offer(turn, now.agent)
    now = replace(now, lifted=now.lifted.union(offer.lifted))
    tools: dict[str, Tool] = {}
    for tool in offer.tools:
        hidden = hides(names, tool.name) and tool.name not in NEVER_OFF
        if not hidden and not is_off(now.agent, tool.name):
            tools[tool.name] = tool
    grants: dict[str, Grant] = {}
    own: list[Tool] = []
    if offer.agent_tools != "none":
        own += agent_tools(now)
        own += source_tools([*now.agent.file.tools, *now.lifted])
        own += run_agent_tools(turn, list(now.callable_agents))
    for tool in own:
        grant = now.grant(tool.name)
        open_now = tool.read_only or offer.agent_tools == "all"
        granted = grant != "off" or tool.name == "run_agent"
        if granted and open_now and allows(names, tool.name):
            tools.setdefault(tool.name, tool)
            grants[tool.name] = grant
    grants |= {f"{RUN_AGENT}{id}": grant for id, grant in now.callable_agents.items()}
    always = ({"tool": a.tool, "arguments": a.arguments} for a in now.agent.file.always_allow)
    return AvailableTools(offer, tools, grants, tuple(always))


def agent_tools(now: Permissions) -> list[Tool]:
    """The tools with a row of their own in Settings; sources have theirs.

    Only an admin's agent gets at the server itself: its shell, its folders, its own network.
    """
    root = now.folder
    shell = shell_tools(root) if now.reaches_server else []
    return [*file_tools(root), *shell, *fetch_tools(now.private_hosts)]


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
