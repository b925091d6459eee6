"""What a turn is about, by its kind: how it begins, what it offers, and what its end means.

Besides, what agent.json says to it: its chain and its settings.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from agents.chains.schema import Chain
from agents.chains.store import load_chain
from agents.config.store import AgentRecord, read_agent
from agents.engine.steps import Work
from agents.errors import NotFound, Refused
from agents.models import Conversation, Turn
from agents.tools.base import Tool

Role = Literal["chat", "planner", "executor", "reviewer"]


@dataclass(frozen=True)
class Instruction:
    """A piece of the system message; the lower its priority, the earlier it is dropped.

    What `changes` from step to step stands behind what was said before: whatever comes first is to
    stay the same, since servers answer sooner, and for less, to a prompt whose beginning they know.
    """

    priority: int
    text: str
    changes: bool = False


@dataclass(frozen=True)
class Offer:
    """What a plug-in adds to a turn and what it leaves of the agent's own tools.

    `refusal` answers a call of a tool that is not on offer. `lifted` are the tools that a person
    allows for the run this turn belongs to.
    """

    tools: tuple[Tool, ...] = ()
    agent_tools: Literal["all", "read", "none"] = "all"
    instructions: tuple[Instruction, ...] = ()
    refusal: str = ""
    lifted: tuple[str, ...] = ()


async def nothing_to_begin(turn: Turn) -> None:
    pass


@dataclass(frozen=True)
class TurnHandler:
    """What a turn of one kind is about. `agents` brings `chat`; `plans` extends it and adds others.

    prepare      what to do; may raise NothingToDo
    role         which of the agent's chains thinks, as the turn begins
    offer        which tools and instructions the model gets at this moment, asked at each listing
                 and again at each call, with the agent as its file is now and the list of the
                 chain's task, which binds it
    settle       runs in the transaction in which the turn leaves `running`, and reads `turn.state`
    resume       runs in that in which a waiting turn goes back into the queue
    check        runs before each model call and may raise an interruption
    repair       runs at start-up and on each sweep of the queue
    nudge        the turn has to end by a tool that ends it: a reply without one is answered once
                 with the nudge, then the turn has failed
    came_back    runs in that in which a turn that never began is dropped and what was shown in its
                 place before is shown again, with the ids of the turns
    begin        runs before the chain each time the turn is taken up, on no thread that others
                 wait for: reads of the folder what it will have to know
    is_recorded  its folder is recorded as it begins, not only before its first writing call
    open_child   may begin the conversation of an agent that another one calls; True if it did
    work         in the place of a chain, for turns that do not think
    check_output runs before a turn ends whose checkpoint has `checks` and that no tool can end; may
                 raise an interruption
    """

    prepare: Callable[[Turn], Work]
    settle: Callable[[Turn], None] = lambda turn: None
    check: Callable[[Turn], None] = lambda turn: None
    repair: Callable[[], None] = lambda: None
    nudge: str = ""
    resume: Callable[[Turn], None] = lambda turn: None
    role: Callable[[Turn], Role] = lambda turn: "chat"
    offer: Callable[[Turn, AgentRecord, Sequence[str]], Offer] = lambda turn, agent, words: Offer()
    came_back: Callable[[Conversation, list[int]], None] = lambda conversation, turns: None
    begin: Callable[[Turn], Awaitable[None]] = nothing_to_begin
    is_recorded: bool = False
    open_child: Callable[[Conversation, str, Turn], bool] = lambda child, task, parent: False
    work: Callable[[Turn], Awaitable[None]] | None = None
    check_output: Callable[[Turn], Awaitable[None]] | None = None


_handlers: dict[str, TurnHandler] = {}


def register_handler(kind: str, handler: TurnHandler) -> None:
    """At start-up, by kind; a later one takes the place of an earlier one."""
    _handlers[kind] = handler


def handler_of(turn: Turn) -> TurnHandler:
    return _handlers[turn.kind]


def handlers() -> dict[str, TurnHandler]:
    return dict(_handlers)


def chain_of(turn: Turn, role: Role) -> Chain:
    """The chain this turn thinks with: its own, or the one agent.json names for the role.

    One that cannot be used is no better at the next attempt.
    """
    if document := (turn.config.get("options") or {}).get("chain"):
        return Chain.model_validate(document)
    chains = turn.config.get("chains") or {}
    try:
        return load_chain(turn.chain or str(chains.get(role) or DEFAULT_CHAINS[role]))
    except Refused:
        turn.checkpoint["final"] = True
        raise


DEFAULT_CHAINS = {
    "chat": "default-chain",
    "planner": "planner",
    "executor": "executor",
    "reviewer": "reviewer",
}

# Given to the command of one run, not by the file.
OPTIONS = "options"
# The model that a person chose for a conversation or one reply, in place of the agent's.
CHOSEN = "chosen_model"


def with_chosen_model(
    settings: dict[str, JsonValue], provider: str, model: str
) -> dict[str, object]:
    """An agent's settings under the model that was chosen; empty names choose none.

    What the agent says of its own model's window is not said of another one.
    """
    if not model or (provider, model) == (settings["provider"], settings["model"]):
        chosen = {CHOSEN: [provider, model]} if model else {}
        return {**settings, **chosen}
    names = {"provider": provider, "model": model, "context_window": None}
    return {**settings, **names, CHOSEN: [provider, model]}


def refresh_config(turn: Turn) -> None:
    """Take over what the agent's file says now; before each request, so an edit counts at once.

    Three things stay: what was given to this run alone, the model that a person chose, and the
    chain that the turn is in the midst of, since its checkpoint names one of the tasks. Where the
    agent is gone, all stays as it was: whoever needs the agent says so.
    """
    options = turn.config.get(OPTIONS) or {}
    if options.get("in_folder"):  # without an agent
        return
    try:
        settings = dict(read_agent(turn.conversation.agent_id).file.settings())
    except NotFound:
        return
    now = with_chosen_model(settings, *(turn.config.get(CHOSEN) or ("", "")))
    fixed = (OPTIONS, "chains") if turn.checkpoint.get("task") else (OPTIONS,)
    now |= {name: turn.config[name] for name in fixed if name in turn.config}
    if now != turn.config:
        turn.config = now
        Turn.objects.filter(pk=turn.pk, epoch=turn.epoch).update(config=now)
