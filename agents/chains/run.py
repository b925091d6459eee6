"""The interpreter: carries out a chain task by task and yields what happens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from agents import journal
from agents.chains.handlers import HANDLERS
from agents.chains.schema import END
from agents.chains.steps import ChainEvent, Step, StepDone, Work
from agents.chains.transitions import next_task
from agents.database import in_db
from agents.interruptions import TurnFailed
from agents.models import Turn

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
        done = StepDone("", {})
        async with aclosing(run_task(turn, work, here)) as events:
            async for event in events:
                yield event
                if isinstance(event, StepDone):
                    done = event
        here = await in_db(advance, turn, work, here, done)


def run_task(turn: Turn, work: Work, id: str) -> AsyncGenerator[ChainEvent, None]:
    task = work.chain.task(id)
    variables = turn.checkpoint.get("variables", {})
    step = Step(turn, work, task, variables.get(task.input_var, {}))
    return HANDLERS[task.handler](step)


def advance(turn: Turn, work: Work, id: str, done: StepDone) -> str:
    """Save the task's output and where the chain goes from here."""
    goto = next_task(work.chain.task(id), done.value)
    edges = dict(turn.checkpoint.get("edges", {}))
    edges[f"{id}>{goto}"] = edges.get(f"{id}>{goto}", 0) + 1
    variables = {**turn.checkpoint.get("variables", {}), id: done.output}
    steps = int(turn.checkpoint.get("steps", 0)) + 1
    place = {"task": goto, "variables": variables, "edges": edges, "steps": steps}
    journal.save_checkpoint(turn, **place, replied=None)
    return goto
