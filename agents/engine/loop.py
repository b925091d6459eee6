"""One turn from its claim to its end, and its chain, carried out task by task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import ParamSpec

from django.utils import translation

from agents import persistence
from agents.chains.schema import END, START, Task, next_task, seconds_of
from agents.chains.template import Output, text_of
from agents.changes import recording
from agents.db import AWAY, in_db
from agents.engine.available_tools import available_tools
from agents.engine.completion import chat_completion, route
from agents.engine.handlers import handler_of, refresh_config
from agents.engine.lifecycle import (
    close_turn,
    end,
    fail,
    interrupt,
    may_try_later,
    model_failed,
    suspend,
)
from agents.engine.steps import ChainEvent, Step, StepDone, TextAdded, TextEnded, TextStreamed, Work
from agents.engine.streaming import LiveText
from agents.engine.tool_calls import call_tool, execute_tool_calls
from agents.errors import (
    NothingToDo,
    Refused,
    TaskFailed,
    TurnFailed,
    TurnLost,
    TurnStopped,
    TurnWaits,
)
from agents.llm.errors import ModelError
from agents.models import Message, Turn, TurnState
from agents.models.turn import Checkpoint
from agents.pools import person
from agents.stored_text import gettext
from agents.telemetry import hooks

log = logging.getLogger(__name__)

P = ParamSpec("P")

Watch = Callable[[ChainEvent], None]


def ignore_event(event: ChainEvent) -> None:
    pass


async def run_turn(turn: Turn, watch: Watch = ignore_event) -> None:
    """Work until the turn is over or has to wait; whatever happens is written to its row.

    `watch` is called with each event of the chain, for a command that prints along.
    """
    person.set(turn.conversation.owner_id)
    try:
        with hooks.turn(turn), translation.override(turn.language):
            await run_and_settle(turn, watch)
    except TurnLost:
        log.info("turn %s is no longer ours", turn.pk)


async def run_and_settle(turn: Turn, watch: Watch) -> None:
    try:
        await work_on(turn, watch)
    except asyncio.CancelledError:  # by a stop, or because the process goes down
        await finish_write(interrupt, turn)
        await record_stopped(turn)
    except (TurnLost, *AWAY):  # nothing can be written: whoever runs it next goes on from the rows
        raise
    except TurnWaits as wait:
        await finish_write(suspend, turn, wait)
    except TurnStopped:
        await finish_write(end, turn, TurnState.STOPPED)
        await record_stopped(turn)
    except ModelError as error:
        if not may_try_later(turn, error):
            await finish(recording.record_after(turn))
        await finish_write(model_failed, turn, error)
    except TurnFailed as failure:
        await fail_recorded(turn, failure)
    except TimeoutError:
        await fail_recorded(turn, TurnFailed("timeout", gettext("It took longer than it may.")))
    except Refused as refusal:
        turn.checkpoint["final"] = True  # of an agent, a chain, a provider that is not there
        await fail_recorded(turn, TurnFailed("logic", str(refusal), remedy="agent"))
    except Exception:
        log.exception("turn %s broke", turn.pk)
        await fail_recorded(turn, TurnFailed("logic", gettext("Something broke inside Planside.")))
    else:
        if turn.state == TurnState.RUNNING:  # else it has ended with its last reply
            await finish_write(end, turn, TurnState.DONE)


async def fail_recorded(turn: Turn, failure: TurnFailed) -> None:
    await finish(recording.record_after(turn))
    await finish_write(fail, turn, failure)


async def record_stopped(turn: Turn) -> None:
    """A stop is not kept waiting for it; a turn that only went back into the queue goes on."""
    if turn.checkpoint.get("recorded") and not turn.is_open:
        await finish(recording.record_ended(turn.pk))


async def finish_write(write: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Write how a turn ended."""
    await finish(in_db(write, *args, **kwargs))


async def finish(work: Coroutine[object, object, None]) -> None:
    """A stop that comes meanwhile comes too late to break that off."""
    working = asyncio.ensure_future(work)
    while not working.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(working)
    working.result()


async def work_on(turn: Turn, watch: Watch) -> None:
    """Work until nothing is left to do. What a call has ended, no later error takes back."""
    try:
        await work_to_the_end(turn, watch)
    except (TurnLost, *AWAY):
        raise
    except Exception:
        if not turn.checkpoint.get("ended"):
            raise
        log.warning("turn %s had ended before this error", turn.pk, exc_info=True)


async def work_to_the_end(turn: Turn, watch: Watch) -> None:
    if turn.checkpoint.get("ended"):  # its worker died before it could say so
        await recording.record_after(turn)
        return
    if turn.stop_requested:  # of a worker that died before it could obey
        raise TurnStopped
    if (own_work := handler_of(turn).work) is not None:
        await own_work(turn)
        return
    try:
        work = await in_db(prepare, turn)
    except NothingToDo:
        return
    # Where no model can call tools, none can end the turn: then its output is what it comes to.
    turn.checkpoint["by_output"] = not work.chain.runs_calls
    at_start = handler_of(turn).is_recorded and await in_db(may_write, turn)
    await recording.enter(turn, at_start=at_start)
    await handler_of(turn).begin(turn)
    async with asyncio.timeout(work.seconds):
        await stream_chain(turn, work, watch)
        while lacks_result(turn, work):
            await in_db(ask_again, turn)
            await stream_chain(turn, work, watch)
        if (check := output_check(turn)) is not None:
            await check(turn)
    await recording.record_after(turn)


def may_write(turn: Turn) -> bool:
    """Whether it has a tool that may change files of its folder."""
    return any(tool.writes for tool in available_tools(turn, ["*"]).tools.values())


def prepare(turn: Turn) -> Work:
    refresh_config(turn)
    return handler_of(turn).prepare(turn)


async def stream_chain(turn: Turn, work: Work, watch: Watch) -> None:
    """Run the chain and show its text to whoever is watching."""

    async def save(message_id: int, text: str) -> None:
        with suppress(*AWAY):  # the text is whole in memory, and saved again with the next words
            await in_db(persistence.save_text, turn, message_id, text)

    live: dict[int, LiveText] = {}
    try:
        async with aclosing(run_chain(turn, work)) as events:
            async for event in events:
                watch(event)
                if isinstance(event, TextStreamed):
                    if event.message_id not in live:
                        text = LiveText(turn.conversation_id, event.message_id, save)
                        live[event.message_id] = text
                    await live[event.message_id].add(event.text)
                elif isinstance(event, TextEnded) and event.message_id in live:
                    await live.pop(event.message_id).close()
    except BaseException:
        with suppress(TurnLost):
            for text in live.values():
                await text.close()
                await save(text.message_id, text.text)
        raise


def lacks_result(turn: Turn, work: Work) -> bool:
    """Whether a tool has to end the turn, and none has."""
    has_to = bool(handler_of(turn).nudge) and work.chain.runs_calls
    return has_to and not turn.checkpoint.get("ended")


def output_check(turn: Turn) -> Callable[[Turn], Awaitable[None]] | None:
    """What looks at the chain's output before the turn may end by it."""
    marks = turn.checkpoint
    by_output = marks.get("by_output") and marks.get("checks") and not marks.get("ended")
    return handler_of(turn).check_output if by_output else None


def ask_again(turn: Turn) -> None:
    """A turn that has to end by a tool and did not is nudged once; then it has failed."""
    if turn.checkpoint.get("nudge"):
        raise TurnFailed("logic", gettext("It ended without a result."))
    nudge = handler_of(turn).nudge
    persistence.save_checkpoint(turn, nudge=nudge, task="", previous="", source="")


# The interpreter of the chain language.

MAX_STEPS = 120  # of a chain whose author set no limit: 60 rounds of asking and running tools


async def run_chain(turn: Turn, work: Work) -> AsyncGenerator[ChainEvent, None]:
    """From the task at the turn's checkpoint (or the first) to the end.

    After each task the place, its output and the number of steps are saved, so that a turn taken
    up again repeats nothing that was finished. Behind a call that has ended the turn there is no
    further task, whatever the branches say.
    """
    here = str(turn.checkpoint.get("task") or work.chain.tasks[0].id)
    while here != END:
        if turn.checkpoint.get("steps", 0) >= MAX_STEPS:
            raise TurnFailed(
                "logic",
                gettext("The chain did not come to an end within {most} steps.").format(
                    most=MAX_STEPS
                ),
            )
        task = work.chain.task(here)
        done = StepDone("", {})
        try:
            with hooks.step(task):
                events = run_task(turn, work, task)
                if (seconds := seconds_of(task.timeout)) is not None:
                    events = timed(events, seconds)
                async with aclosing(events):
                    async for event in events:
                        yield event
                        if isinstance(event, StepDone):
                            done = event
        except (ModelError, TurnFailed, Refused, TimeoutError) as error:
            if turn.checkpoint.get("ended"):
                return
            here = await in_db(after_failure, turn, task, error)
        else:
            ended = turn.checkpoint.get("ended")
            here = END if ended else next_task(task, done.value, turn.checkpoint.get("edges", {}))
            passed = passing(turn, task, here, done.output)
            if here == END and not lacks_result(turn, work) and output_check(turn) is None:
                await recording.record_after(turn)
            if here != END:
                await in_db(go_on, turn, done, passed)
            elif is_shown(turn, done.output):
                await finish_write(conclude, turn, work, done, passed)
            else:
                yield await in_db(show_result, turn, done, passed)


async def timed(
    events: AsyncGenerator[ChainEvent, None], seconds: float
) -> AsyncGenerator[ChainEvent, None]:
    """A task's events, until its timeout. Only waiting for the next one is cut short, so that the
    timeout never hits whoever reads them.
    """
    end = asyncio.get_running_loop().time() + seconds
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
            raise TurnFailed("timeout", took_too_long(task)) from None
        raise error
    sentence = str(error) or took_too_long(task)
    known = error.output if isinstance(error, TaskFailed) else {}
    output: Output = {**known, "text": sentence, "error": sentence}
    passed = passing(turn, task, task.transition.on_failure, output)
    persistence.save_checkpoint(turn, **passed)
    return task.transition.on_failure


def took_too_long(task: Task) -> str:
    sentence = gettext("{task} took longer than {timeout}.")
    return sentence.format(task=task.id, timeout=task.timeout)


def go_on(turn: Turn, done: StepDone, passed: Checkpoint) -> None:
    with persistence.fenced(turn):
        done.write()
        persistence.checkpoint(turn, **passed)


def conclude(turn: Turn, work: Work, done: StepDone, passed: Checkpoint) -> None:
    """The end of the chain is that of the turn, unless a tool has to end it and did not, or what it
    came to is to be checked."""
    with persistence.fenced(turn):
        done.write()
        if lacks_result(turn, work) or output_check(turn) is not None:
            persistence.checkpoint(turn, **passed)
        else:
            turn.checkpoint |= passed
            close_turn(turn, TurnState.DONE)


def is_shown(turn: Turn, output: Output) -> bool:
    """Whether a message shows the chain's result already, or there is nothing to show."""
    is_ended = bool(output.get("message") or turn.checkpoint.get("ended"))
    return is_ended or not text_of(output).strip()


def show_result(turn: Turn, done: StepDone, passed: Checkpoint) -> TextAdded:
    """Add the result to the conversation.

    The place at the end is saved together with it, so that it is added once.
    """
    text = text_of(done.output)
    with persistence.fenced(turn):
        done.write()
        message = persistence.add_message(turn, "assistant", Message.Kind.TEXT, text)
        persistence.checkpoint(turn, **passed)
    return TextAdded(message.pk, text)


# What each handler of the chain language does.

Handler = Callable[[Step], AsyncGenerator[ChainEvent, None]]


async def noop(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Nothing but its branches; a prompt_template becomes its output, else the input goes on."""
    text = await in_db(step.expanded, step.task.prompt_template)
    yield StepDone("noop", {"text": text} if text else dict(step.input))


async def raise_error(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """End the turn as failed, with the author's words or with what was handed on."""
    words = await in_db(step.expanded, step.task.prompt_template)
    raise TurnFailed(
        "logic", words or step.failure or step.input_text or gettext("The chain gave up.")
    )
    yield StepDone("", {})  # a generator like the others


HANDLERS: dict[str, Handler] = {
    "chat_completion": chat_completion,
    "execute_tool_calls": execute_tool_calls,
    "tools": call_tool,
    "route": route,
    "noop": noop,
    "raise_error": raise_error,
}
