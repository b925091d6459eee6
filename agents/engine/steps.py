"""What the interpreter hands to handlers, and what handlers yield."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.chains.schema import Chain, Task
from agents.chains.template import Output, text_of
from agents.llm.chat_completions import ChatMessage
from agents.models import Turn


@dataclass(frozen=True)
class Work:
    """What a turn has to do: a chain, the messages before its own, and the time it may take.

    `seconds` is the time for model and tools together; waiting for a person does not count.
    """

    chain: Chain
    opening: list[ChatMessage]
    seconds: float | None = None

    @property
    def input(self) -> str:
        """What the chain was started with: the last thing said before it began."""
        return str(self.opening[-1].get("content") or "") if self.opening else ""


@dataclass
class Step:
    """One task about to be carried out. `input` is the output of the task `source`.

    `before` is the task that was carried out just before, if there was one, and `failure` why
    that one failed.
    """

    turn: Turn
    work: Work
    task: Task
    source: str
    input: Output = field(default_factory=dict)
    before: Task | None = None
    failure: str = ""

    @property
    def follows_calls(self) -> bool:
        """Tool calls of a model were carried out just before: the model is to see their results."""
        ran = self.before is not None and self.before.handler == "execute_tool_calls"
        return ran and not self.failure

    @property
    def input_text(self) -> str:
        return text_of(self.input)


@dataclass(frozen=True)
class TextStreamed:
    message_id: int
    text: str


@dataclass(frozen=True)
class TextEnded:
    message_id: int


@dataclass(frozen=True)
class TextAdded:
    """A message that was there at once, such as the result of a chain that ends in a tool."""

    message_id: int
    text: str


@dataclass(frozen=True)
class ToolCallChanged:
    call_id: int


@dataclass(frozen=True)
class StepDone:
    """A task's result: `value` decides the branch, `output` is what later tasks may read.

    What an output holds is said in outputs.py.
    """

    value: str
    output: Output


ChainEvent = TextStreamed | TextEnded | TextAdded | ToolCallChanged | StepDone
