"""The linter for chains: each fault with the place in the file, before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from django.utils.translation import get_language
from pydantic import ValidationError

from agents.chains.schema import (
    END,
    START,
    TESTS,
    Branch,
    Chain,
    Task,
    counted_edge,
    is_label,
    labels_of,
    normalize_label,
)
from agents.chains.template import KINDS
from agents.config.schema import MACRO, macros_in
from agents.json_size import why_too_many
from agents.stored_text import gettext, gettext_lazy
from agents.text.tokens import estimate_tokens

Level = Literal["error", "warning"]

CALLED = "tool_call"
LONGEST_TEXT = 500_000  # characters of a chain
LONGEST_KEPT = 50_000  # of one that is not read anew each time
TEXTS = ("system_instruction", "prompt_template", "output_template")
# What a chain that calls tools cannot do without, by what an agent thinks with it for.
NEEDED = {
    "planner": {
        "create_plan": gettext_lazy(
            "No task is offered create_plan: as a planner it can make no plan. Add it, or "
            "plan.tools, to a list."
        ),
        "revise_current_plan": gettext_lazy(
            "No task is offered revise_current_plan: as a planner it can change no plan. Add it, "
            "or plan.tools, to a list."
        ),
    },
    "executor": {
        "finish_subtask": gettext_lazy(
            "No task is offered finish_subtask: as an executor it can finish no subtask. Add it, "
            "or plan.tools, to a list."
        ),
        "fail_subtask": gettext_lazy(
            "No task is offered fail_subtask: as an executor it cannot say that a subtask cannot "
            "be done. Add it, or plan.tools, to a list."
        ),
    },
}


@dataclass(frozen=True)
class Fault:
    """What is wrong at a JSON path such as `tasks[1].transition.branches[0].goto`."""

    path: str
    sentence: str
    level: Level = "error"

    def __str__(self) -> str:
        return f"{self.level}: {self.path}: {self.sentence}"


@dataclass(frozen=True)
class Names:
    """What a chain may name, asked for only where it names something. None is not judged."""

    tools: Callable[[], Collection[str]] | None = None
    providers: Callable[[], Collection[str]] | None = None


def check_text(text: str, names: Names = Names(), id: str = "") -> list[Fault]:
    """Every fault of a chain file, errors first; `id` is what it has to be called."""
    return check_read(*read_chain(text), names, id)


def check_read(
    chain: Chain | None, faults: Sequence[Fault], names: Names = Names(), id: str = ""
) -> list[Fault]:
    """The same of a text that was read."""
    if chain is None:
        return list(faults)
    for number, task in enumerate(chain.tasks):
        faults = (*faults, *unknown_names(task, f"tasks[{number}]", names))
    named = []
    if id not in ("", chain.id):
        named = [Fault("id", gettext("The chain's own id has to be {id}.").format(id=id))]
    return named + sorted(faults, key=lambda fault: fault.level)


def missing_tools(chain: Chain | None, role: str) -> dict[str, str]:
    """What it cannot do without in this role and no task is offered, each with a sentence."""
    if chain is None or not chain.runs_calls:
        return {}
    return {tool: str(why) for tool, why in NEEDED[role].items() if not chain.may_call(tool)}


def read_chain(text: str) -> tuple[Chain | None, tuple[Fault, ...]]:
    """The chain and what is wrong with its text alone, in the reader's language."""
    read = read_in if len(text) <= LONGEST_KEPT else read_in.__wrapped__
    return read(get_language(), text)


@lru_cache(maxsize=100)
def read_in(language: str, text: str) -> tuple[Chain | None, tuple[Fault, ...]]:
    """Each turn asks it of the same texts."""
    if len(text) > LONGEST_TEXT:
        sentence = gettext("A chain has at most {most:,} characters; this one has {length:,}.")
        return None, (Fault("$", sentence.format(most=LONGEST_TEXT, length=len(text))),)
    if why := why_too_many(text):
        return None, (Fault("$", gettext("It is not read: {why}.").format(why=why)),)
    try:
        chain = Chain.model_validate(json.loads(text))
    except RecursionError:
        return None, (Fault("$", gettext("It is nested too deeply.")),)
    except ValidationError as error:
        faults = []
        for fault in error.errors():
            steps = [f"[{p}]" if isinstance(p, int) else f".{p}" for p in fault["loc"]]
            faults.append(Fault("".join(steps).lstrip(".") or "$", fault["msg"]))
        return None, tuple(faults)
    except ValueError as error:
        return None, (Fault("$", gettext("This is not JSON: {error}.").format(error=error)),)
    graph = Graph(chain)
    faults = list(chain_faults(graph))
    for number, task in enumerate(chain.tasks):
        place = f"tasks[{number}]"
        faults += [
            *missing_targets(graph, task, place),
            *dead_branches(task, place),
            *calling(graph, task, place),
            *choosing(task, place),
            *macros(graph, task, place),
        ]
    return chain, tuple(faults)


def chain_faults(graph: Graph) -> Iterator[Fault]:
    chain = graph.chain
    seen: set[str] = set()
    for number, task in enumerate(chain.tasks):
        if task.id in seen:
            yield Fault(
                f"tasks[{number}].id",
                gettext("Another task is called {task} already.").format(task=task.id),
            )
        if task.id in (END, START):
            yield Fault(
                f"tasks[{number}].id",
                gettext("A task cannot be called {task}.").format(task=task.id),
            )
        if task.id not in graph.reached:
            yield Fault(
                f"tasks[{number}]",
                gettext("No way leads to {task}.").format(task=task.id),
                "warning",
            )
        seen.add(task.id)
    # A quarter of the limit is for the reply; what a task says itself has to fit in the rest.
    room = chain.token_limit - chain.token_limit // 4
    sizes = [estimate_tokens(each.system_instruction, each.prompt_template) for each in chain.tasks]
    longest, needed = sizes.index(max(sizes)), max(sizes)
    if chain.token_limit and needed > room:
        id = chain.tasks[longest].id
        sentence = gettext("It leaves {room:,} for a prompt; {id} says about {needed:,} itself.")
        yield Fault("token_limit", sentence.format(room=room, id=id, needed=needed))


def missing_targets(graph: Graph, task: Task, place: str) -> Iterator[Fault]:
    """Tasks, edges and inputs that are named and not there."""
    for number, branch in enumerate(task.transition.branches):
        path = f"{place}.transition.branches[{number}]"
        if branch.goto and branch.goto != END and branch.goto not in graph.tasks:
            yield Fault(
                f"{path}.goto", gettext("There is no task {goto}.").format(goto=branch.goto)
            )
        if branch.operator != "edge_traversed_at_least":
            continue
        if not branch.when.isdecimal():
            yield Fault(f"{path}.when", gettext("It has to be a whole number, such as 20."))
        if counted_edge(branch, task) not in graph.edges:
            yield Fault(
                f"{path}.edge",
                gettext("There is no edge {branch}.").format(branch=counted_edge(branch, task)),
            )
    if task.transition.on_failure and task.transition.on_failure not in graph.tasks:
        path = f"{place}.transition.on_failure"
        yield Fault(
            path,
            gettext("There is no task {on_failure}.").format(on_failure=task.transition.on_failure),
        )
    named, path = task.input_var, f"{place}.input_var"
    if named and named != START and named not in graph.tasks:
        yield Fault(path, gettext("Nothing produces {named}.").format(named=named))
    elif named == task.id:
        yield Fault(path, gettext("A task cannot read its own output."))
    elif named and not graph.comes_before(named, task):
        yield Fault(
            path,
            gettext("No way leads from {named} to {task}: it has no output yet.").format(
                named=named, task=task.id
            ),
        )


def dead_branches(task: Task, place: str) -> Iterator[Fault]:
    """Branches that are never taken: behind a default, or with a condition asked before."""
    seen: set[tuple[str, str, str]] = set()
    for number, branch in enumerate(task.transition.branches):
        path = f"{place}.transition.branches[{number}]"
        key = (branch.operator, normalize_label(branch.when), branch.edge)
        if ("default", "", "") in seen:
            yield Fault(path, gettext("It stands behind a default, which always holds."), "warning")
        elif key in seen:
            yield Fault(path, gettext("An earlier branch asks for the same."), "warning")
        seen.add(("default", "", "") if branch.operator == "default" else key)
    if task.transition.branches and ("default", "", "") not in seen:
        path = f"{place}.transition.branches"
        yield Fault(path, gettext("No default: what meets no branch ends the chain."), "warning")


def calling(graph: Graph, task: Task, place: str) -> Iterator[Fault]:
    """A model that may call tools needs a task that runs the calls, and that one their source."""
    path = f"{place}.transition.branches"
    if task.handler == "chat_completion":
        on_call = [b for b in task.transition.branches if normalize_label(b.when) == CALLED]
        if task.execute_config.tools and not on_call:
            yield Fault(
                path, gettext("Tools are listed, and no branch takes up tool_call."), "warning"
            )
        for branch in on_call:
            if branch.goto not in (*graph.tasks, "", END):
                continue  # said where the task is missed
            target = graph.tasks.get(branch.goto)
            if target is None or target.handler != "execute_tool_calls":
                yield Fault(
                    path,
                    gettext("A branch for tool_call goes to {goto}, which runs no calls.").format(
                        goto=branch.goto or END
                    ),
                )
    if task.handler == "execute_tool_calls":
        for number, branch in enumerate(task.transition.branches):
            if branch.when == "finished" and branch.goto not in ("", END):
                sentence = gettext("A call that ends the turn is the last: no task follows it.")
                yield Fault(f"{path}[{number}].goto", sentence, "warning")
        # Its input comes from a model: by name, or from each task that leads here.
        before = [task.input_var] if task.input_var in graph.tasks else graph.back[task.id]
        if not before or any(graph.tasks[id].handler != "chat_completion" for id in before):
            yield Fault(
                f"{place}.input_var", gettext("It has to name the task whose calls are run.")
            )
    if task.handler == "tools" and task.tools is None:
        yield Fault(f"{place}.tools", gettext("It has to say which tool to call."))
    if task.handler != "tools" and task.tools is not None:
        yield Fault(
            f"{place}.tools", gettext("Only a task with the handler tools calls one itself.")
        )


def choosing(task: Task, place: str) -> Iterator[Fault]:
    """A route needs labels, and each of them has to lead to its own branch."""
    if task.handler != "route":
        return
    path = f"{place}.transition.branches"
    if not labels_of(task):
        yield Fault(path, gettext("A route needs branches whose `when` it may choose from."))
    earlier: list[Branch] = []
    for number, branch in enumerate(task.transition.branches):
        if not is_label(branch):
            continue
        label = normalize_label(branch.when)
        for other in earlier:
            word = normalize_label(other.when)
            # The same label asked for in the same way is left to dead_branches.
            if word == label and other.operator == branch.operator:
                continue
            if word.casefold() == label.casefold() or TESTS[other.operator](label, word):
                why = gettext("“{label}” never comes here: the branch for “{other}” takes it.")
                why = why.format(label=branch.when, other=other.when)
                yield Fault(f"{path}[{number}].when", why)
                break
        earlier.append(branch)


def unknown_names(task: Task, place: str, names: Names) -> Iterator[Fault]:
    """Providers, tools and tool sources that do not exist, and a `*` that lets in all of them."""
    config = task.execute_config
    provider = config.provider.strip()
    is_named = provider and "{{" not in provider
    if is_named and names.providers and provider not in names.providers():
        yield Fault(
            f"{place}.execute_config.provider",
            gettext("There is no provider {provider}.").format(provider=provider),
        )
    words = {name.lstrip("!") for name in config.words(())} - {"*"}
    known = {*names.tools(), "*"} if names.tools and (words or task.tools) else None
    for key, listed in (("tools", config.tools or ()), ("hide_tools", config.hide_tools)):
        for number, name in enumerate(listed):
            path = f"{place}.execute_config.{key}[{number}]"
            if name == "*" and key == "tools":
                sentence = gettext("This lets the model call every tool the agent is granted.")
                yield Fault(path, sentence, "warning")
            elif known is not None and name.lstrip("!") not in known:
                yield Fault(path, no_source(name.lstrip("!")))
    if (call := task.tools) and known is not None:
        if call.name not in known - {"*"}:
            yield Fault(f"{place}.tools.name", no_source(call.name))
        elif call.tool_name and call.tool not in known:
            sentence = gettext("{source} has no tool {tool}.")
            sentence = sentence.format(source=call.name, tool=call.tool_name)
            yield Fault(f"{place}.tools.tool_name", sentence)


def no_source(name: str) -> str:
    return gettext("There is no tool or tool source {name}.").format(name=name)


def macros(graph: Graph, task: Task, place: str) -> Iterator[Fault]:
    texts = {name: getattr(task, name) for name in TEXTS}
    texts |= {f"execute_config.{n}": getattr(task.execute_config, n) for n in ("model", "provider")}
    texts |= dict(texts_in(task.tools.args, "tools.args")) if task.tools else {}
    for name, text in texts.items():
        of_result = name == "output_template"
        for macro in macros_in(text):
            owner, _, own_field = macro.removeprefix(".").partition(".")
            is_output = macro.startswith(".") and owner in graph.tasks
            if of_result and is_output and owner == task.id:
                right = f"{{{{.{own_field or 'text'}}}}}"
                sentence = gettext("Its own result is named by the field alone: {field}.")
                yield Fault(f"{place}.{name}", sentence.format(field=right))
            elif not is_known(macro, graph, task, of_result):
                sentence = gettext("There is no macro {macro}.").format(macro=f"{{{{{macro}}}}}")
                if is_output and graph.comes_before(owner, task):
                    sentence = gettext("{owner} has no output yet when {task} first begins.")
                    sentence = sentence.format(owner=owner, task=task.id)
                yield Fault(f"{place}.{name}", sentence)
        if "{{" in MACRO.sub("", text):
            yield Fault(f"{place}.{name}", gettext("A {{ has no name and }} behind it."))


def texts_in(value: object, path: str) -> Iterator[tuple[str, str]]:
    """The texts of a call's arguments, each with its place."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from texts_in(each, f"{path}.{key}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from texts_in(each, f"{path}[{number}]")


def is_known(macro: str, graph: Graph, task: Task, of_result: bool = False) -> bool:
    if macro.startswith("."):
        return of_result or graph.comes_first(macro[1:].partition(".")[0], task)
    kind, _, rest = macro.partition(":")
    if kind == "toolservice":
        return rest == "list"
    if kind == "chain":
        return rest in ("id", "description")
    return kind in KINDS and bool(rest or kind == "now")


# Which task leads to which.


def targets(task: Task) -> list[str]:
    """The tasks that this one may lead to."""
    on_failure = [task.transition.on_failure] if task.transition.on_failure else []
    return [branch.goto or END for branch in task.transition.branches] + on_failure


def reached_by(next_tasks: dict[str, list[str]], waiting: list[str]) -> set[str]:
    """The tasks that can be reached from these, these included."""
    reached: set[str] = set()
    waiting = list(waiting)
    while waiting:
        here = waiting.pop()
        if here not in reached and here in next_tasks:
            reached.add(here)
            waiting += next_tasks[here]
    return reached


class Graph:
    """The edges of a chain, there and back; each search is made once, however many tasks ask."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.tasks = {task.id: task for task in chain.tasks}
        self.edges = {f"{task.id}->{target}" for task in chain.tasks for target in targets(task)}
        self.next_tasks = {task.id: list(set(targets(task))) for task in chain.tasks}
        self.reached = reached_by(self.next_tasks, [chain.tasks[0].id])
        self.back: dict[str, list[str]] = {id: [] for id in self.tasks}  # what leads to each task
        for task in chain.tasks:
            for target in set(targets(task)) & set(self.back):
                self.back[target].append(task.id)
        self.earlier: dict[str, set[str]] = {}  # what comes before each task
        self.first: dict[str, set[str]] = {}  # what may come before it for the first time

    def comes_before(self, name: str, task: Task) -> bool:
        """Whether this may have an output when the task begins, as the start always has.

        Of a task to which no way leads, nothing more is known than that.
        """
        if name == START:
            return True
        if task.id not in self.reached:
            return name in self.tasks
        if task.id not in self.earlier:
            self.earlier[task.id] = reached_by(self.back, self.back[task.id])
        return name in self.earlier[task.id]

    def comes_first(self, name: str, task: Task) -> bool:
        """Whether this may have an output when the task begins for the first time.

        A text that names an output which is not there fails its task: in a loop that is the end
        of the first round.
        """
        if not self.comes_before(name, task) or name == START or task.id not in self.reached:
            return self.comes_before(name, task)
        if task.id not in self.first:
            others = {id: ids for id, ids in self.next_tasks.items() if id != task.id}
            self.first[task.id] = reached_by(others, [self.chain.tasks[0].id])
        return name in self.first[task.id]
