"""What a model is offered at this moment of a turn: tools and instructions.

`plans` plugs in here: its gate decides from the rows, each time tools are listed and again each
time one is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agents.agent_file.owners import is_admins
from agents.agent_file.record import AgentFile, AgentRecord, files_folder, read_agent
from agents.errors import Forbidden
from agents.grants import Grant, allows, callable_agents, grant_of, is_off
from agents.models import ToolCall, Turn
from agents.tools.base import Tool
from agents.tools.fetch import fetch_tools
from agents.tools.files import file_tools
from agents.tools.names import RUN_AGENT
from agents.tools.run_agent import run_agent_tools
from agents.tools.shell import shell_tools
from agents.tools.sources import source_tools


@dataclass(frozen=True)
class Instruction:
    """A piece of the system message; the lower its priority, the earlier it is dropped."""

    priority: int
    text: str


@dataclass(frozen=True)
class Offer:
    """What a plug-in adds to a turn and what it leaves of the agent's own tools.

    `role` names which of the agent's chains thinks. `refusal` is said of a tool that is not on
    offer.
    """

    role: Literal["chat", "planner", "executor"] = "chat"
    tools: tuple[Tool, ...] = ()
    agent_tools: Literal["all", "read", "none"] = "all"
    instructions: tuple[Instruction, ...] = ()
    refusal: str = ""


@dataclass(frozen=True)
class OnOffer:
    """The tools of one moment, by name, with the grant each call needs."""

    offer: Offer
    tools: dict[str, Tool] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)

    always_allow: tuple[object, ...] = ()

    def must_ask(self, call: ToolCall) -> bool:
        """Set to ask, not decided yet, and exactly this call was not allowed for always."""
        exact = {"tool": call.tool, "arguments": call.arguments}
        name = call.tool
        if name == "run_agent":
            name = f"{RUN_AGENT}{call.arguments.get('agent')}"
        asks = self.grants.get(name) == "ask" and not call.decision
        return asks and exact not in self.always_allow

    def refusal(self, call: ToolCall) -> str:
        """Why the call cannot be carried out now, or nothing."""
        if call.tool in self.tools:
            return ""
        names = ", ".join(sorted(self.tools)) or "none"
        why = self.offer.refusal or "It does not exist or is not granted to this agent."
        return f"{call.tool} was not carried out. {why} Tools on offer now: {names}."


OfferMaker = Callable[[Turn], Offer]


def no_offer(turn: Turn) -> Offer:
    return Offer()


_offer_makers: list[OfferMaker] = []


def register_offer(maker: OfferMaker) -> None:
    """Plug in the function that decides what a turn is offered (one; the last one counts)."""
    _offer_makers.append(maker)


def offer_of(turn: Turn) -> Offer:
    return (_offer_makers[-1] if _offer_makers else no_offer)(turn)


def on_offer(turn: Turn, words: list[str]) -> OnOffer:
    """Everything the model may call now: the plug-in's tools and the granted ones of the agent.

    Grants are read from the agent's file at each call, not from the turn's snapshot; `words` is
    the chain task's own list. Plan tools come from the gate and are not the chain's to take.
    """
    offer = offer_of(turn)
    agent = agent_of(turn)
    allowed = turn.config.get("allow") or []
    tools = {tool.name: tool for tool in offer.tools if not is_off(agent, tool.name)}
    grants: dict[str, Grant] = {}
    for tool in tools_of(agent, turn) if offer.agent_tools != "none" else []:
        grant = "allow" if tool.name in allowed else grant_of(agent, tool.name)
        open_now = tool.read_only or offer.agent_tools == "all"
        granted = grant != "off" or tool.name == "run_agent"
        if granted and open_now and allows(words, tool.name):
            tools.setdefault(tool.name, tool)
            grants[tool.name] = grant
    grants |= {f"{RUN_AGENT}{id}": grant for id, grant in callable_agents(agent).items()}
    return OnOffer(offer, tools, grants, always_allowed(agent))


def agent_of(turn: Turn) -> AgentRecord:
    """The agent as its file says now; a chain run in a folder has none and brings its own."""
    if not turn.config.get("in_folder"):
        return read_agent(turn.conversation.agent_id)
    file = AgentFile.model_validate(turn.config)
    return AgentRecord(file.id, Path(str(file.workspace)), file, "", None, None, "")


def always_allowed(agent: AgentRecord) -> tuple[object, ...]:
    return tuple(
        {"tool": each.tool, "arguments": each.arguments} for each in agent.file.always_allow
    )


def tools_of(agent: AgentRecord, turn: Turn) -> list[Tool]:
    """Every tool there is for this agent, granted or not."""
    return [
        *agent_tools(agent),
        *source_tools(agent.file.tools),
        *run_agent_tools(turn, list(callable_agents(agent))),
    ]


def agent_tools(agent: AgentRecord) -> list[Tool]:
    """The tools with a row of their own in Settings; sources have theirs.

    Only an admin's agent gets at the server itself: its shell, its folders, its own network.
    """
    hosts = agent.file.fetch_hosts
    reaches_out = agent.file.workspace or hosts or grant_of(agent, "shell") != "off"
    if not reaches_out or is_admins(agent.id):
        root = files_folder(agent)
        return [*file_tools(root), *shell_tools(root), *fetch_tools(hosts)]
    if agent.file.workspace:
        raise Forbidden("workspace: only an admin's agent may work in a folder of the server.")
    return [*file_tools(files_folder(agent)), *fetch_tools()]
