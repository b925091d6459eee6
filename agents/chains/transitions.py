"""Which task comes next."""

from __future__ import annotations

from collections.abc import Callable

from agents.chains.schema import END, Branch, Task

Test = Callable[[str, str], bool]

TESTS: dict[str, Test] = {
    "equals": lambda value, when: value == when,
    "contains": lambda value, when: when in value,
    "starts_with": lambda value, when: value.startswith(when),
    "ends_with": lambda value, when: value.endswith(when),
    "default": lambda value, when: True,
}


def next_task(task: Task, value: str, edges: dict[str, int]) -> str:
    """The goto of the first branch that holds for the task's result; without one, the end.

    `tool-call` and `tool_call` are the same word.
    """
    for branch in task.transition.branches:
        if holds(branch, task, value, edges):
            return branch.goto or END
    return END


def holds(branch: Branch, task: Task, value: str, edges: dict[str, int]) -> bool:
    if branch.operator == "edge_traversed_at_least":
        return edges.get(counted_edge(branch, task), 0) >= int(branch.when or 0)
    return TESTS[branch.operator](alike(value), alike(branch.when))


def counted_edge(branch: Branch, task: Task) -> str:
    """`from->to` without spaces; a branch that names none counts itself."""
    named = "->".join(part.strip() for part in branch.edge.split("->"))
    return named or f"{task.id}->{branch.goto}"


def alike(word: str) -> str:
    return word.replace("-", "_")
