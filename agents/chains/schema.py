"""A chain: JSON that says how an agent thinks. Ordinary chat is itself one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from agents.errors import NotFound
from agents.stored_text import gettext
from agents.tools.base import BETWEEN, PLAN_TOOLS
from agents.tools.permissions import allowed_by_both, allows

END = "end"
START = "input"  # what a chain was started with, as input_var and templates name it

Handler = Literal["chat_completion", "execute_tool_calls", "tools", "route", "noop", "raise_error"]
Operator = Literal[
    "equals", "contains", "starts_with", "ends_with", "default", "edge_traversed_at_least"
]

MOST_TASKS = 500
MOST_BRANCHES = 200  # of one task; each is compared with those before it

WRITTEN_DURATION = r"^$|^(?=.)(\d{1,6}h)?(\d{1,6}m)?(\d{1,6}(\.\d+)?s)?(\d{1,9}ms)?$"
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?\Z")


def seconds_of(duration: str) -> float | None:
    """`90s`, `2m`, `1h30m` in seconds; an empty text is no limit."""
    if not duration:
        return None
    found = DURATION.match(duration)
    if not found or not any(found.groups()):
        raise ValueError('a duration is written like "30s", "2m" or "1h30m"')
    hours, minutes, seconds, thousandths = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Branch(Shape):
    """Where to go when the task's result meets a condition. Branches are tried in order.

    `edge_traversed_at_least` counts an edge "from->to" (this branch's own without one) against the
    whole number in `when`.
    """

    operator: Operator = "default"
    when: str = ""
    goto: str = END
    edge: str = ""


class Transition(Shape):
    """`on_failure` names the task to go on with when this one fails."""

    on_failure: str = ""
    branches: list[Branch] = Field(default_factory=list, max_length=MOST_BRANCHES)


class ExecuteConfig(Shape):
    """Who answers, with which tools: an empty list = none, `*` = all, `!x` = never x.

    Without a list there are the tools of plans alone. `hide_tools` takes tools out of what is
    listed. Other keys are kept and not used.
    """

    model_config = ConfigDict(extra="allow")

    model: str = ""
    provider: str = ""
    temperature: float | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    tools: list[str] | None = None
    hide_tools: list[str] = Field(default_factory=list)

    def words(self, unlisted: Iterable[str]) -> list[str]:
        """The list with what is hidden as `!x`; `unlisted` stands for one that is not there."""
        listed = unlisted if self.tools is None else self.tools
        return [*listed, *(f"!{name.lstrip('!')}" for name in self.hide_tools)]


class ToolsCall(Shape):
    """A direct call: `name` is a tool, or a tool source with `tool_name` one of its operations."""

    name: str
    tool_name: str = ""
    args: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def tool(self) -> str:
        """Our name of it: `local_shell` is shell, a source's operation `<source>__<operation>`."""
        if self.name == "local_shell":
            return "shell"
        if self.name == "local_fs" or self.tool_name in ("", self.name):
            return self.tool_name or self.name
        return f"{self.name}{BETWEEN}{self.tool_name}"


class Task(Shape):
    id: str = Field(min_length=1)
    description: str = ""
    handler: Handler
    system_instruction: str = ""
    prompt_template: str = ""
    output_template: str = ""
    execute_config: ExecuteConfig = Field(default_factory=ExecuteConfig)
    tools: ToolsCall | None = None
    input_var: str = ""
    timeout: str = Field(default="", json_schema_extra={"pattern": WRITTEN_DURATION})
    retry_on_failure: int = Field(default=0, ge=0, le=20)
    transition: Transition = Field(default_factory=Transition)

    @field_validator("timeout")
    @classmethod
    def timeout_is_a_duration(cls, timeout: str) -> str:
        seconds_of(timeout)
        return timeout


class Chain(Shape):
    """`token_limit` 0 means the model's own window. What the tasks say is checked by lint.py."""

    id: str = Field(min_length=1)
    description: str = ""
    debug: bool = False
    token_limit: int = Field(default=0, ge=0)
    tasks: list[Task] = Field(min_length=1, max_length=MOST_TASKS)

    def task(self, id: str) -> Task:
        """NotFound, when the file was changed while a turn was under way."""
        task = self.find(id)
        if task is None:
            raise NotFound(
                gettext("The chain {chain} has no task {task} any more.").format(
                    chain=self.id, task=id
                )
            )
        return task

    def find(self, id: str) -> Task | None:
        return next((task for task in self.tasks if task.id == id), None)

    @property
    def runs_calls(self) -> bool:
        """Whether a model may call tools anywhere in it: only then can it call those of a plan."""
        return any(self.runner_of(task) for task in self.tasks)

    @cached_property
    def runners(self) -> dict[str, Task]:
        """The tasks that run a model's calls, by id."""
        return {task.id: task for task in self.tasks if task.handler == "execute_tool_calls"}

    def runner_of(self, asking: Task, edges: Mapping[str, int] = {}) -> Task | None:
        """The task that runs the calls of a model's reply: where `tool_call` leads, if to one."""
        if asking.handler != "chat_completion":
            return None
        branches = (branch.goto for branch in asking.transition.branches)
        ways = (next_task(asking, "tool_call", edges), *branches)
        return next((self.runners[way] for way in ways if way in self.runners), None)

    def may_call(self, tool: str) -> bool:
        """Whether the lists allow this tool to a model somewhere, or a task calls it itself."""
        runners = [(task, self.runner_of(task)) for task in self.tasks]
        by_model = (may_be_called(task, runner) for task, runner in runners if runner)
        by_itself = any(task.tools is not None and task.tools.tool == tool for task in self.tasks)
        return by_itself or any(allows(words, tool) for words in by_model)


def may_be_called(asking: Task, runner: Task | None) -> list[str]:
    """What a model may call: its task's list, as far as that of the task that runs calls has it.

    Offering reads it, and so does whoever carries a call out.
    """
    words = asking.execute_config.words(sorted(PLAN_TOOLS))
    return words if runner is None else allowed_by_both(words, runner.execute_config.words("*"))


# Which task comes next.

TESTS: dict[str, Callable[[str, str], bool]] = {
    "equals": lambda value, when: value == when,
    "contains": lambda value, when: when in value,
    "starts_with": lambda value, when: value.startswith(when),
    "ends_with": lambda value, when: value.endswith(when),
    "default": lambda value, when: True,
}


def next_task(task: Task, value: str, edges: Mapping[str, int]) -> str:
    """The goto of the first branch that holds for the task's result; without one, the end.

    `edges` says how often each was traversed. `tool-call` and `tool_call` are the same word.
    """
    for branch in task.transition.branches:
        if branch.operator == "edge_traversed_at_least":
            holds = edges.get(counted_edge(branch, task), 0) >= int(branch.when or 0)
        else:
            holds = TESTS[branch.operator](normalize_label(value), normalize_label(branch.when))
        if holds:
            return branch.goto or END
    return END


def counted_edge(branch: Branch, task: Task) -> str:
    """`from->to` without spaces; a branch that names none counts itself."""
    named = "->".join(part.strip() for part in branch.edge.split("->"))
    return named or f"{task.id}->{branch.goto}"


def normalize_label(word: str) -> str:
    return word.replace("-", "_")


def labels_of(task: Task) -> list[str]:
    """The words that a route may choose from."""
    return [branch.when for branch in task.transition.branches if is_label(branch)]


def is_label(branch: Branch) -> bool:
    return bool(branch.when) and branch.operator not in ("default", "edge_traversed_at_least")
