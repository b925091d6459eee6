"""Which task of a chain leads to which, and which comes next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from agents.chains.schema import END, START, Branch, Chain, Task


def ways(task: Task) -> list[str]:
    on_failure = [task.transition.on_failure] if task.transition.on_failure else []
    return [branch.goto or END for branch in task.transition.branches] + on_failure


def reached_by(ways_on: dict[str, list[str]], waiting: list[str]) -> set[str]:
    """The tasks that come about from these on, these included."""
    reached: set[str] = set()
    waiting = list(waiting)
    while waiting:
        here = waiting.pop()
        if here not in reached and here in ways_on:
            reached.add(here)
            waiting += ways_on[here]
    return reached


@dataclass(frozen=True)
class Graph:
    """The ways of a chain, there and back; each is found once, however many tasks ask."""

    chain: Chain
    found: dict[str, set[str]] = field(default_factory=dict)  # what comes before each task

    @cached_property
    def tasks(self) -> dict[str, Task]:
        return {task.id: task for task in self.chain.tasks}

    @cached_property
    def edges(self) -> set[str]:
        return {f"{task.id}->{way}" for task in self.chain.tasks for way in ways(task)}

    @cached_property
    def back(self) -> dict[str, list[str]]:
        """The tasks that lead to each."""
        back: dict[str, list[str]] = {id: [] for id in self.tasks}
        for task in self.chain.tasks:
            for way in set(ways(task)) & set(back):
                back[way].append(task.id)
        return back

    @cached_property
    def reached(self) -> set[str]:
        on = {task.id: ways(task) for task in self.chain.tasks}
        return reached_by(on, [self.chain.tasks[0].id])

    def comes_before(self, name: str, task: Task) -> bool:
        """Whether this may have an output when the task begins, as the start always has.

        Of a task to which no way leads, nothing more is said than that.
        """
        if name == START:
            return True
        if task.id not in self.reached:
            return name in self.tasks
        return name in self.before(task.id)

    def before(self, id: str) -> set[str]:
        if id not in self.found:
            self.found[id] = reached_by(self.back, self.back[id])
        return self.found[id]


# Which task comes next.

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
    return TESTS[branch.operator](normalize_label(value), normalize_label(branch.when))


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
