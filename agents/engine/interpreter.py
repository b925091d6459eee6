"""The interpreter: carries out a chain task by task and yields what happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from agents.chains.schema import END, START, Task, next_task, seconds_of
from agents.chains.template import Output
from agents.db import in_db
from agents.engine import persistence
from agents.engine.completion import chat_completion, route
from agents.engine.lifecycle import may_try_later
from agents.engine.results import show_result
from agents.engine.steps import ChainEvent, Step, StepDone, Work
from agents.engine.template_values import expanded
from agents.engine.tool_calls import call_tool, execute_tool_calls
from agents.errors import Refused
from agents.llm.errors import ModelError
from agents.models import Turn
from agents.models.checkpoint import Checkpoint
from agents.telemetry import hooks
from agents.turn_exceptions import TaskFailed, TurnFailed

MAX_STEPS = 120  # of a chain whose author set no limit: 60 rounds of asking and running tools


async def run_chain(turn: Turn, work: Work) -> AsyncGenerator[ChainEvent, None]:
    """From the task at the turn's checkpoint (or the first) to the end.

    After each task the place, its output and the number of steps are saved, so that a turn taken
    up again repeats nothing that was finished.
    """
    here = str(turn.checkpoint.get("task") or work.chain.tasks[0].id)
    while here != END:
        if turn.checkpoint.get("steps", 0) >= MAX_STEPS:
            raise TurnFailed("logic", f"The chain did not come to an end within {MAX_STEPS} steps.")
        task = work.chain.task(here)
        done = StepDone("", {})
        try:
            with hooks.step(task):
                async with aclosing(timed(run_task(turn, work, task), task)) as events:
                    async for event in events:
                        yield event
                        if isinstance(event, StepDone):
                            done = event
        except (ModelError, TurnFailed, Refused, TimeoutError) as error:
            here = await in_db(after_failure, turn, task, error)
        else:
            here = next_task(task, done.value, turn.checkpoint.get("edges", {}))
            passed = passing(turn, task, here, done.output)
            if here != END:
                await in_db(persistence.save_checkpoint, turn, **passed)
            elif result := await in_db(show_result, turn, done.output, passed):
                yield result


async def timed(
    events: AsyncGenerator[ChainEvent, None], task: Task
) -> AsyncGenerator[ChainEvent, None]:
    """The task's events, until its timeout. Only waiting for the next one is cut short, so that

    the time-out never hits whoever reads them.
    """
    seconds = seconds_of(task.timeout)
    end = None if seconds is None else asyncio.get_running_loop().time() + seconds
    async with aclosing(events):
        while True:
            async with asyncio.timeout_at(end):
                event = await anext(events, None)
            if event is None:
                return
            yield event


def run_task(turn: Turn, work: Work, task: Task) -> AsyncGenerator[ChainEvent, None]:
    """`input_var` names an earlier task, or `input`, what the chain was started with.

    Without one, a task reads what the task before it gave out. A route and a task that failed hand
    on what they have read themselves.
    """
    previous = turn.checkpoint.get("previous")
    source = task.input_var or str(turn.checkpoint.get("source", previous) or START)
    outputs: dict[str, Output] = {START: {"text": work.input}}
    outputs |= turn.checkpoint.get("variables", {})
    before = work.chain.find(str(previous or ""))
    failure = str(outputs.get(str(previous), {}).get("error") or "") if before else ""
    given = outputs.get(source, {})
    return HANDLERS[task.handler](Step(turn, work, task, source, given, before, failure))


def passing(turn: Turn, task: Task, goto: str, output: Output) -> Checkpoint:
    """What the checkpoint says behind a task: its output, and where the chain goes from here."""
    edge = f"{task.id}->{goto}"
    hands_on = task.handler == "route" or "error" in output
    edges = dict(turn.checkpoint.get("edges", {}))
    edges[edge] = edges.get(edge, 0) + 1
    return {
        "task": goto,
        "variables": {**turn.checkpoint.get("variables", {}), task.id: output},
        "edges": edges,
        "previous": task.id,
        "source": (task.input_var or turn.checkpoint.get("source")) if hands_on else task.id,
        "steps": turn.checkpoint.get("steps", 0) + 1,
        "replied": None,
        "own_call": None,
        "own_result": None,
        "failures": 0,
    }


def after_failure(turn: Turn, task: Task, error: Exception) -> str:
    """Once more, if the task says so; else its on_failure; else the turn has failed.

    A model that may answer later comes first: the turn waits for its next try.
    """
    if isinstance(error, ModelError) and may_try_later(turn, error):
        raise error
    failures = turn.checkpoint.get("failures", 0)
    if failures < task.retry_on_failure:
        persistence.save_checkpoint(
            turn,
            task=task.id,
            steps=turn.checkpoint.get("steps", 0) + 1,
            failures=failures + 1,
            own_call=None,
            own_result=None,
        )
        return task.id
    if not task.transition.on_failure:
        if isinstance(error, TimeoutError):
            raise TurnFailed("timeout", f"{task.id} took longer than {task.timeout}.") from None
        raise error
    sentence = str(error) or f"{task.id} took longer than {task.timeout}."
    known = error.output if isinstance(error, TaskFailed) else {}
    output: Output = {**known, "text": sentence, "error": sentence}
    passed = passing(turn, task, task.transition.on_failure, output)
    persistence.save_checkpoint(turn, **passed)
    return task.transition.on_failure


# What each handler of the chain language does.

Handler = Callable[[Step], AsyncGenerator[ChainEvent, None]]


async def noop(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Nothing but its branches; a prompt_template becomes its output, else the input goes on."""
    text = await in_db(expanded, step, step.task.prompt_template)
    yield StepDone("noop", {"text": text} if text else dict(step.input))


async def raise_error(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """End the turn as failed, with the author's words or with what was handed on."""
    words = await in_db(expanded, step, step.task.prompt_template)
    raise TurnFailed("logic", words or step.failure or step.input_text or "The chain gave up.")
    yield StepDone("", {})  # a generator like the others


HANDLERS: dict[str, Handler] = {
    "chat_completion": chat_completion,
    "execute_tool_calls": execute_tool_calls,
    "tools": call_tool,
    "route": route,
    "noop": noop,
    "raise_error": raise_error,
}
