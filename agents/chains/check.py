"""The linter for chains: each fault with the place in the file, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from agents.chains.macros import KINDS, macros_in
from agents.chains.schema import END, START, Chain, Task
from agents.chains.transitions import alike, counted_edge

Level = Literal["error", "warning"]

CALLED = "tool_call"
TEXTS = ("system_instruction", "prompt_template", "output_template")


@dataclass(frozen=True)
class Fault:
    """What is wrong at a JSON path such as `tasks[1].transition.branches[0].goto`."""

    path: str
    sentence: str
    level: Level = "error"

    def __str__(self) -> str:
        return f"{self.level}: {self.path}: {self.sentence}"


def check_text(text: str, tools: Iterable[str] | None = None) -> list[Fault]:
    """Every fault of a chain file; none means it can be used.

    `tools` are the names that exist; without them names are not judged.
    """
    try:
        chain = Chain.model_validate(json.loads(text))
    except ValueError as error:
        if isinstance(error, ValidationError):
            return [Fault(path_of(fault["loc"]), fault["msg"]) for fault in error.errors()]
        return [Fault("$", f"This is not JSON: {error}.")]
    return check(chain, tools)


def path_of(parts: tuple[int | str, ...]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return path.lstrip(".") or "$"


def check(chain: Chain, tools: Iterable[str] | None = None) -> list[Fault]:
    known = None if tools is None else set(tools)
    faults = [*doubles(chain), *unreachable(chain)]
    for number, task in enumerate(chain.tasks):
        place = f"tasks[{number}]"
        faults += [
            *gotos(chain, task, place),
            *dead_branches(task, place),
            *edges(chain, task, place),
            *inputs(chain, task, place),
            *calling(chain, task, place),
            *granting(task, place, known),
            *macros(chain, task, place),
        ]
    return sorted(faults, key=lambda fault: fault.level)


def doubles(chain: Chain) -> Iterator[Fault]:
    seen: set[str] = set()
    for number, task in enumerate(chain.tasks):
        if task.id in seen:
            yield Fault(f"tasks[{number}].id", f"Another task is called {task.id} already.")
        if task.id in (END, START):
            yield Fault(f"tasks[{number}].id", f"A task cannot be called {task.id}.")
        seen.add(task.id)


def ways(task: Task) -> list[str]:
    on_failure = [task.transition.on_failure] if task.transition.on_failure else []
    return [branch.goto or END for branch in task.transition.branches] + on_failure


def unreachable(chain: Chain) -> Iterator[Fault]:
    tasks = {task.id: task for task in chain.tasks}
    reached, waiting = set(), [chain.tasks[0].id]
    while waiting:
        here = waiting.pop()
        if here in reached or here not in tasks:
            continue
        reached.add(here)
        waiting += ways(tasks[here])
    for number, task in enumerate(chain.tasks):
        if task.id not in reached:
            yield Fault(f"tasks[{number}]", f"No way leads to {task.id}.", "warning")


def gotos(chain: Chain, task: Task, place: str) -> Iterator[Fault]:
    ids = {END, *(each.id for each in chain.tasks)}
    for number, branch in enumerate(task.transition.branches):
        if branch.goto and branch.goto not in ids:
            path = f"{place}.transition.branches[{number}].goto"
            yield Fault(path, f"There is no task {branch.goto}.")
    if task.transition.on_failure and task.transition.on_failure not in ids - {END}:
        path = f"{place}.transition.on_failure"
        yield Fault(path, f"There is no task {task.transition.on_failure}.")


def dead_branches(task: Task, place: str) -> Iterator[Fault]:
    """What stands behind a default, or is asked for a second time, never comes about."""
    seen: set[tuple[str, str, str]] = set()
    for number, branch in enumerate(task.transition.branches):
        path = f"{place}.transition.branches[{number}]"
        key = (branch.operator, alike(branch.when), branch.edge)
        if ("default", "", "") in seen:
            yield Fault(path, "It stands behind a default, which always holds.", "warning")
        elif key in seen:
            yield Fault(path, "An earlier branch asks for the same.", "warning")
        seen.add(("default", "", "") if branch.operator == "default" else key)
    if task.transition.branches and ("default", "", "") not in seen:
        path = f"{place}.transition.branches"
        yield Fault(path, "No default: what meets no branch ends the chain.", "warning")


def edges(chain: Chain, task: Task, place: str) -> Iterator[Fault]:
    known = {f"{each.id}->{way}" for each in chain.tasks for way in ways(each)}
    for number, branch in enumerate(task.transition.branches):
        if branch.operator != "edge_traversed_at_least":
            continue
        path = f"{place}.transition.branches[{number}]"
        if not branch.when.isdecimal():
            yield Fault(f"{path}.when", "It has to be a whole number, such as 20.")
        if counted_edge(branch, task) not in known:
            yield Fault(f"{path}.edge", f"There is no edge {counted_edge(branch, task)}.")


def inputs(chain: Chain, task: Task, place: str) -> Iterator[Fault]:
    ids = {START, *(each.id for each in chain.tasks)}
    if task.input_var and task.input_var not in ids:
        yield Fault(f"{place}.input_var", f"Nothing produces {task.input_var}.")


def calling(chain: Chain, task: Task, place: str) -> Iterator[Fault]:
    """A model that may call tools needs a task that runs the calls, and that one their source."""
    tasks = {each.id: each for each in chain.tasks}
    path = f"{place}.transition.branches"
    if task.handler == "chat_completion":
        on_call = [b for b in task.transition.branches if alike(b.when) == CALLED]
        if task.execute_config.tools and not on_call:
            yield Fault(path, "Tools are listed, and no branch takes up tool_call.", "warning")
        for branch in on_call:
            target = tasks.get(branch.goto)
            if target is None or target.handler != "execute_tool_calls":
                yield Fault(path, f"tool_call goes to {branch.goto or END}, which runs no calls.")
    if task.handler == "execute_tool_calls" and not reads_calls(chain, task):
        yield Fault(f"{place}.input_var", "It has to name the task whose calls are run.")
    if task.handler == "tools" and task.tools is None:
        yield Fault(f"{place}.tools", "It has to say which tool to call.")
    if task.handler != "tools" and task.tools is not None:
        yield Fault(f"{place}.tools", "Only a task with the handler tools calls one itself.")


def reads_calls(chain: Chain, task: Task) -> bool:
    """Its input comes from a model: by name, or from each task that leads here."""
    named = [each for each in chain.tasks if each.id == task.input_var]
    before = named or [each for each in chain.tasks if task.id in ways(each)]
    return bool(before) and all(each.handler == "chat_completion" for each in before)


def granting(task: Task, place: str, known: set[str] | None) -> Iterator[Fault]:
    config = task.execute_config
    for key, names in (("tools", config.tools), ("hide_tools", config.hide_tools)):
        for number, name in enumerate(names):
            path = f"{place}.execute_config.{key}[{number}]"
            if name == "*" and key == "tools":
                sentence = "This lets the model call every tool the agent is granted."
                yield Fault(path, sentence, "warning")
            elif known is not None and name.lstrip("!") not in known | {"*"}:
                yield Fault(path, f"There is no tool or tool source {name.lstrip('!')}.")
    if task.tools and known is not None and task.tools.name not in known:
        yield Fault(f"{place}.tools.name", f"There is no tool or tool source {task.tools.name}.")


def macros(chain: Chain, task: Task, place: str) -> Iterator[Fault]:
    texts = {name: getattr(task, name) for name in TEXTS}
    texts |= {f"execute_config.{n}": getattr(task.execute_config, n) for n in ("model", "provider")}
    outputs = {START, *(each.id for each in chain.tasks)}
    for name, text in texts.items():
        for macro in macros_in(text):
            if not is_known(macro, outputs, name == "output_template"):
                yield Fault(f"{place}.{name}", f"There is no macro {{{{{macro}}}}}.")


def is_known(macro: str, outputs: set[str], of_result: bool) -> bool:
    if macro.startswith("."):
        return of_result or macro[1:].partition(".")[0] in outputs
    kind, _, rest = macro.partition(":")
    if kind == "toolservice":
        return rest == "list"
    if kind == "chain":
        return rest in ("id", "description")
    return kind in KINDS and bool(rest or kind == "now")
