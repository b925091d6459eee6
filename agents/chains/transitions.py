"""Which task comes next."""

from __future__ import annotations

from collections.abc import Callable

from agents.chains.schema import END, Task

Test = Callable[[str, str], bool]

TESTS: dict[str, Test] = {
    "equals": lambda value, when: value == when,
    "contains": lambda value, when: when in value,
    "starts_with": lambda value, when: value.startswith(when),
    "ends_with": lambda value, when: value.endswith(when),
    "default": lambda value, when: True,
}


def next_task(task: Task, value: str) -> str:
    """The goto of the first branch that holds for the task's result; without one, the end.

    `tool-call` and `tool_call` are the same word.
    """
    for branch in task.transition.branches:
        if TESTS[branch.operator](alike(value), alike(branch.when)):
            return branch.goto
    return END


def alike(word: str) -> str:
    return word.replace("-", "_")
