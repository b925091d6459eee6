"""One step of a chain: what its handler is given, what it yields, and what the chain comes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from agents.chains.schema import END, Chain, Task
from agents.chains.template import (
    Output,
    OutputView,
    TemplateValues,
    UnknownMacro,
    expand,
    text_of,
)
from agents.errors import TurnFailed
from agents.llm.images import text_alone
from agents.llm.request import ChatMessage
from agents.models import Message, ToolSource, Turn
from agents.stored_text import gettext

BUILT_IN_SERVICES = ["local_fs", "local_shell", "fetch_url"]


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
        return str(text_alone(self.opening[-1]).get("content") or "") if self.opening else ""


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

    def expanded(self, text: str, result: Output | None = None) -> str:
        """The chain author's text with its macros expanded; an unknown macro fails the task.

        `result` is what `.field` macros read: the output of the tool this task has called. `var`
        has the agent's model, provider, id and name, and what its file has under "vars"; of
        earlier outputs there are `.input` and each task by its id.
        """
        if "{{" not in text:
            return text
        config, chain = self.turn.config, self.work.chain
        own = config.get("vars")
        variables = {str(k): str(v) for k, v in own.items()} if isinstance(own, dict) else {}
        for name in ("model", "provider", "id", "name"):
            variables[name] = str(config.get(name) or "")
        earlier: dict[str, Output] = self.turn.checkpoint.get("variables", {})
        outputs: dict[str, object] = {id: OutputView(output) for id, output in earlier.items()}
        outputs["input"] = OutputView(self.input or {"text": self.work.input})
        sources = ToolSource.objects.order_by("name").values_list("name", flat=True)
        values = TemplateValues(
            now=datetime.now().astimezone(),
            chain={"id": chain.id, "description": chain.description},
            variables=variables,
            outputs=outputs,
            services=[*BUILT_IN_SERVICES, *sources],
            edges=dict(self.turn.checkpoint.get("edges", {})),
            result=None if result is None else OutputView(result),
        )
        try:
            return expand(text, values)
        except UnknownMacro as unknown:
            raise TurnFailed(
                "logic",
                gettext("Task {task}: {unknown}").format(task=self.task.id, unknown=unknown),
            ) from None


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


def nothing() -> None:
    pass


@dataclass(frozen=True)
class StepDone:
    """A task's result: `value` decides the branch, `output` is what later tasks may read.

    `write` stores what else it came to, in the transaction that stores where the chain goes.
    """

    value: str
    output: Output
    write: Callable[[], None] = nothing


ChainEvent = TextStreamed | TextEnded | TextAdded | ToolCallChanged | StepDone


def result_of(turn: Turn) -> str:
    """The result of the turn's chain.

    Of one that did not reach its end, or ended in a message without text, the last thing said.
    """
    if turn.checkpoint.get("task") == END:
        outputs: dict[str, Output] = turn.checkpoint.get("variables", {})
        last_output = outputs.get(str(turn.checkpoint.get("previous")), {})
        if text_of(last_output) or not last_output.get("message"):
            return text_of(last_output)
    return last_text(turn)


def last_text(turn: Turn) -> str:
    """What the model said last in a turn; nothing where it only called tools."""
    texts = turn.messages.filter(role="assistant", kind=Message.Kind.TEXT).order_by("-seq")
    return next((text for text in texts.values_list("text", flat=True) if text.strip()), "")
