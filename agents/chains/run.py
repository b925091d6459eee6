"""The interpreter: carries out a chain task by task and yields what happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from agents import observed
from agents.chains.handlers import HANDLERS
from agents.chains.schema import END, START, Task, seconds_of
from agents.chains.steps import ChainEvent, Output, Step, StepDone, Work
from agents.chains.transitions import next_task
from agents.database import in_db
from agents.errors import Refused
from agents.model_client.client import ModelError
from agents.models import Turn
from agents.turns import journal
from agents.turns.endings import may_try_later
from agents.turns.interruptions import TurnFailed

MAX_STEPS = 120  # of a chain whose author set no limit: 60 rounds of asking and running tools


async def run_chain(turn: Turn, work: Work) -> AsyncGenerator[ChainEvent, None]:
    """From the task at the turn's checkpoint (or the first) to the end.

    After each task the place, its output and the number of steps are saved, so that a turn taken
    up again repeats nothing that was finished.
    """
    here = str(turn.checkpoint.get("task") or work.chain.tasks[0].id)
    while here != END:
        if int(turn.checkpoint.get("steps", 0)) >= MAX_STEPS:
            raise TurnFailed("logic", f"The chain did not come to an end within {MAX_STEPS} steps.")
        task = work.chain.task(here)
        done = StepDone("", {})
        try:
            with observed.step(task):
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
            if here == END:
                turn.checkpoint |= passed  # saved with the end of the turn
            else:
                await in_db(journal.save_checkpoint, turn, **passed)


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

    Without one, a task reads what the task before it gave out.
    """
    source = task.input_var or str(turn.checkpoint.get("previous") or START)
    outputs = {START: {"text": work.input}, **turn.checkpoint.get("variables", {})}
    return HANDLERS[task.handler](Step(turn, work, task, source, outputs.get(source, {})))


def passing(turn: Turn, task: Task, goto: str, output: Output) -> dict[str, object]:
    """What the checkpoint says behind a task: its output, and where the chain goes from here."""
    edge = f"{task.id}->{goto}"
    edges = dict(turn.checkpoint.get("edges", {}))
    edges[edge] = edges.get(edge, 0) + 1
    return {
        "task": goto,
        "variables": {**turn.checkpoint.get("variables", {}), task.id: output},
        "edges": edges,
        "previous": task.id,
        "steps": int(turn.checkpoint.get("steps", 0)) + 1,
        "replied": None,
        "own_call": None,
        "failures": 0,
    }


def after_failure(turn: Turn, task: Task, error: Exception) -> str:
    """Once more, if the task says so; else its on_failure; else the turn has failed.

    A model that may answer later comes first: the turn waits for its next try.
    """
    if isinstance(error, ModelError) and may_try_later(turn, error):
        raise error
    failures = int(turn.checkpoint.get("failures", 0))
    if failures < task.retry_on_failure:
        steps = int(turn.checkpoint.get("steps", 0)) + 1
        journal.save_checkpoint(turn, task=task.id, failures=failures + 1, steps=steps)
        return task.id
    if not task.transition.on_failure:
        if isinstance(error, TimeoutError):
            raise TurnFailed("timeout", f"{task.id} took longer than {task.timeout}.") from None
        raise error
    sentence = str(error) or f"{task.id} took longer than {task.timeout}."
    output: Output = {"text": sentence, "error": sentence}
    passed = passing(turn, task, task.transition.on_failure, output)
    journal.save_checkpoint(turn, **passed)
    return task.transition.on_failure
