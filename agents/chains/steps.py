"""What the interpreter hands to handlers, and what handlers yield."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.chains.schema import Chain, Task
from agents.models import Turn
from agents.turns.transcript import Wire

Output = dict[str, object]


@dataclass(frozen=True)
class Work:
    """What a turn has to do: a chain, the messages before its own, and the time it may take.

    `seconds` is the time for model and tools together; waiting for a person does not count.
    """

    chain: Chain
    opening: list[Wire]
    seconds: float | None = None

    @property
    def input(self) -> str:
        """What the chain was started with: the last thing said before it began."""
        return str(self.opening[-1].get("content") or "") if self.opening else ""


@dataclass
class Step:
    """One task about to be carried out. `input` is the output of the task `source`."""

    turn: Turn
    work: Work
    task: Task
    source: str
    input: Output = field(default_factory=dict)


@dataclass(frozen=True)
class TextStreamed:
    message_id: int
    text: str


@dataclass(frozen=True)
class TextEnded:
    message_id: int


@dataclass(frozen=True)
class ToolCallChanged:
    call_id: int


@dataclass(frozen=True)
class StepDone:
    """A task's result: `value` decides the branch, `output` is what later tasks may read.

    An output is {"text", …}; chat_completion adds "message", the id of the message it wrote.
    """

    value: str
    output: Output


ChainEvent = TextStreamed | TextEnded | ToolCallChanged | StepDone
