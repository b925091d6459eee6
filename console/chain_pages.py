"""Chains as Settings shows them: a file with what is wrong under its lines, and how a run goes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_lazy

from agents.chains.schema import Chain
from agents.chains.store import digest_of, list_chains, load_chain, read_text
from agents.chains.template import text_of
from agents.config.store import AgentRecord
from agents.engine.steps import result_of
from agents.errors import Refused
from agents.models import Message, Turn, TurnState
from agents.run_once import outcome_of
from console.language import chain_description, shown_name
from console.line_faults import LineFault, of_chain

# What an agent thinks by a chain for.
ROLES = {
    "chat": gettext_lazy("chat"),
    "planner": gettext_lazy("planner"),
    "executor": gettext_lazy("executor"),
    "reviewer": gettext_lazy("reviewer"),
}
LONGEST_OUTPUT = 4_000  # characters of what a task gave out


@dataclass(frozen=True)
class FileLine:
    text: str
    faults: list[LineFault]


@dataclass(frozen=True)
class ChainCard:
    """`place` is its id as the page's elements have it."""

    id: str
    place: str
    description: str
    error: str


@dataclass(frozen=True)
class ChainFile:
    """The file as it is on disk now."""

    id: str
    place: str
    text: str
    digest: str
    faults: list[LineFault]

    @property
    def lines(self) -> list[FileLine]:
        found: defaultdict[int, list[LineFault]] = defaultdict(list)
        for fault in self.faults:
            found[fault.line].append(fault)
        rows = self.text.removesuffix("\n").split("\n")
        return [FileLine(row, found.get(number, [])) for number, row in enumerate(rows, 1)]


@dataclass(frozen=True)
class TaskStep:
    """How far a run is with one task: `times` it was carried out, and what it gave out last."""

    id: str
    handler: str
    times: int
    is_current: bool
    output: str


@dataclass(frozen=True)
class ChainRun:
    turn: Turn
    steps: list[TaskStep]
    text: str
    error: str

    @property
    def is_open(self) -> bool:
        return self.turn.state in (TurnState.QUEUED, TurnState.RUNNING)

    @property
    def is_waiting(self) -> bool:
        return self.turn.state == TurnState.WAITING


def place_of(id: str) -> str:
    """No dot in it, which has a meaning where elements are looked for; `·` is in no id."""
    return id.replace(".", "·")


def cards() -> list[ChainCard]:
    return [
        ChainCard(each.id, place_of(each.id), chain_description(each.description), each.error)
        for each in list_chains()
    ]


def users(id: str, own: Iterable[AgentRecord]) -> list[str]:
    """Which of these agents think by it, each with what for."""
    return [
        gettext("{agent} ({role})").format(agent=shown_name(agent.file), role=ROLES.get(role, role))
        for agent in own
        for role, chain in agent.file.chains.model_dump().items()
        if chain == id
    ]


def file_of(id: str) -> ChainFile:
    text = read_text(id)
    return ChainFile(id, place_of(id), text, digest_of(text), of_chain(text, id))


def run_of(turn: Turn) -> ChainRun:
    """From the rows: which tasks were carried out, what they gave out, what was said so far."""
    try:
        chain = load_chain(turn.chain)
    except Refused:  # it was changed meanwhile
        chain = None
    said = turn.messages.filter(role=Message.Role.ASSISTANT, kind=Message.Kind.TEXT)
    texts = said.order_by("seq").values_list("text", flat=True)
    done = turn.state == TurnState.DONE
    text = "\n\n".join(filter(None, texts)) or (result_of(turn) if done else "")
    return ChainRun(turn, steps_of(turn, chain), text, outcome_of(turn).error)


def steps_of(turn: Turn, chain: Chain | None) -> list[TaskStep]:
    marks = turn.checkpoint
    outputs, edges = marks.get("variables") or {}, marks.get("edges") or {}
    first = chain.tasks[0].id if chain else ""
    current = marks.get("task") or first
    steps = []
    for task in chain.tasks if chain else ():
        times = sum(count for edge, count in edges.items() if edge.startswith(f"{task.id}->"))
        output = text_of(outputs.get(task.id) or {})
        is_current = task.id == current and turn.state not in (TurnState.DONE, TurnState.STOPPED)
        steps.append(TaskStep(task.id, task.handler, times, is_current, output[:LONGEST_OUTPUT]))
    return steps
