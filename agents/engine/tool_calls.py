"""Carrying out tool calls: those a model asked for, and those a chain makes itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from functools import partial

from django.db.models import QuerySet
from django.utils import timezone

from agents import persistence
from agents.chains.schema import may_be_called
from agents.chains.template import Output, parsed_or_text, text_of
from agents.changes import recording
from agents.changes.evidence import nanoseconds
from agents.config.schema import macros_in
from agents.db import in_db
from agents.engine.available_tools import available_tools
from agents.engine.prompt import NO_RESULT
from agents.engine.steps import ChainEvent, Step, StepDone, ToolCallChanged
from agents.engine.streaming import live_progress
from agents.engine.subagents import add_message_at_top
from agents.errors import TaskFailed, TurnFailed, TurnWaits
from agents.models import ToolCall, Turn
from agents.models.turn import Checkpoint
from agents.statements import prepared
from agents.stored_text import gettext
from agents.telemetry import hooks
from agents.tools.base import Tool, ToolFailed, ToolResult, truncated
from agents.tools.file_changes import FileChange, keeping

log = logging.getLogger(__name__)

RESULT_LIMIT = 60_000  # characters of a tool result that are kept and sent
OVER = "This turn is already over: the call was not carried out."
ANOTHER_TOOL = (
    "{tool} was not carried out: it is not the tool any more that the person was asked about. "
    "Call it again, and they are asked again."
)
SAME_FAILURES = 5  # of one tool in a row, in the same words; after that the turn has failed
UNSUCCESSFUL = (ToolCall.State.FAILED, ToolCall.State.REFUSED)
EXIT_CODE = {".exit_code", ".facts.exit_code"}  # macros by which a template looks at it


async def execute_tool_calls(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Run the calls of one message in order; their results are the output.

    The result is `finished` once a call has ended the turn, `no_calls_found` where there were
    none (the output is then the message), else `tools_executed`.
    """
    calls = await in_db(calls_of, step)
    for call in calls:
        if call.state in persistence.UNSETTLED:
            async for event in run_call(step, call):
                yield event
    ended = bool(step.turn.checkpoint.get("ended"))
    if not calls:
        yield StepDone("finished" if ended else "no_calls_found", dict(step.input))
        return
    text, has_failed = await in_db(results_of, calls)
    if has_failed and not ended:
        await in_db(demand_no_repetition, step.turn)
    yield StepDone("finished" if ended else "tools_executed", {"text": text})


def results_of(calls: list[ToolCall]) -> tuple[str, bool]:
    """What the calls came to, and whether one of them failed or was refused."""
    rows = ToolCall.objects.filter(pk__in=[call.pk for call in calls]).order_by("position", "pk")
    results = list(rows.values_list("result", "state"))
    text = "\n\n".join(result for result, _ in results if result)
    return truncated(text, RESULT_LIMIT), any(state in UNSUCCESSFUL for _, state in results)


def demand_no_repetition(turn: Turn) -> None:
    """A model that only makes the same mistake costs tokens and gets nowhere. Raises TurnFailed."""
    last = list(last_calls.rows(turn=turn.pk))
    tool, state, result = last[0]
    if len(last) == SAME_FAILURES and len(set(last)) == 1 and state in UNSUCCESSFUL:
        why = gettext("{tool} failed {count} times in a row in the same way: {result}")
        why = why.format(tool=tool, count=SAME_FAILURES, result=result[:300])
        raise TurnFailed("logic", why)


@prepared
def last_calls(turn: int) -> QuerySet[ToolCall, tuple[str, str, str]]:
    """The newest of a turn: tool, state and result."""
    calls = ToolCall.objects.filter(turn=turn).order_by("-pk")
    return calls.values_list("tool", "state", "result")[:SAME_FAILURES]


def calls_of(step: Step) -> list[ToolCall]:
    """The calls of the message; after a crash one of them may have been in flight."""
    message = step.input.get("message")
    calls = step.turn.tool_calls.filter(message_id=int(str(message or 0)))
    return list(calls.select_related("turn"))


async def call_tool(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """The chain's own call. The result is `tools_executed`, or what the output_template says.

    A command that ended with an exit code other than 0 has failed, unless the output_template
    looks at `.exit_code`.
    """
    call = await in_db(own_call, step)
    if call.state in persistence.UNSETTLED:
        async for event in run_call(step, call):
            yield event
    yield await in_db(result_of_own_call, step, call)


def result_of_own_call(step: Step, call: ToolCall) -> StepDone:
    """The call's data without the words around it; of a call without such data, its result text.

    The output_template reads it by `.field` of a JSON result, `.status`, or `.output` for the
    whole text. Raises TaskFailed.
    """
    template, failure = step.task.output_template, ""
    call.refresh_from_db()
    output: Output = {"text": call.result, **(step.turn.checkpoint.get("own_result") or {})}
    facts = output.get("facts")
    code = facts.get("exit_code", 0) if isinstance(facts, dict) else 0
    if call.state != ToolCall.State.DONE:
        failure = call.result or gettext("{tool} was not carried out.").format(tool=call.tool)
    elif code != 0 and not EXIT_CODE & set(macros_in(template)):
        failure = gettext("The command ended with exit code {code}.").format(code=code)
    if failure:
        raise TaskFailed(failure, {**output, "output": text_of(output)})
    if not template:
        return StepDone("tools_executed", output)
    text = step.expanded(template, result=output)
    return StepDone(text, {"text": text})


def chain_data_of(result: ToolResult) -> Output:
    """What a chain may want of a result besides the text that the model reads."""
    found: Output = {"facts": result.facts} if result.facts else {}
    if result.body is not None:
        found["text"] = truncated(result.body, RESULT_LIMIT)
    data = result.data
    if data is None and result.body is not None and len(result.body) > RESULT_LIMIT:
        data = parsed_or_text(result.body)  # what was cut is no JSON any more
        data = None if isinstance(data, str) else data
    return found if data is None else {**found, "data": data}


def own_call(step: Step) -> ToolCall:
    """The row of this step's call; on a resumed turn, the one that is there."""
    turn, wanted = step.turn, step.task.tools
    if wanted is None:
        raise TurnFailed(
            "logic",
            gettext("Task {task} does not say which tool to call.").format(task=step.task.id),
        )
    made = turn.tool_calls.filter(pk=turn.checkpoint.get("own_call") or 0).first()
    if made is not None:
        return made
    with persistence.fenced(turn):
        message = persistence.add_message(turn, "assistant", "text", meta={"by_chain": True})
        call = ToolCall.objects.create(
            message=message,
            turn=turn,
            call_id=f"chain_{message.pk}",
            tool=wanted.tool,
            arguments={k: filled(step, v) for k, v in wanted.args.items()},
        )
        persistence.checkpoint(turn, own_call=call.pk)
    return call


def filled(step: Step, value: object) -> object:
    """The author's arguments with macros expanded; other values as they are."""
    if isinstance(value, str):
        return step.expanded(value)
    if isinstance(value, list):
        return [filled(step, each) for each in value]
    return {k: filled(step, v) for k, v in value.items()} if isinstance(value, dict) else value


async def run_call(step: Step, call: ToolCall) -> AsyncGenerator[ChainEvent, None]:
    """Carry out one call, if it is on offer and allowed at this very moment."""
    turn = step.turn
    tool = await in_db(admit, step, call)
    if tool is None:
        yield ToolCallChanged(call.pk)
        return
    call.writes = tool.writes
    if call.writes:
        await recording.before_call(turn, call)
    await in_db(persistence.begin_call, turn, call)
    yield ToolCallChanged(call.pk)

    async def save(words: str) -> None:
        await in_db(persistence.save_progress, turn, call.pk, words)

    loop = asyncio.get_running_loop()

    def keep(change: FileChange) -> None:
        saving = in_db(persistence.keep_file_change, turn, call, change)
        asyncio.run_coroutine_threadsafe(saving, loop).result()

    async with live_progress(turn.conversation_id, call.pk, save):
        with keeping(keep):
            state, result = await hooks.tool_call(call, outcome_of(tool, call))
    changes: Checkpoint = {"ended": True} if result.ends_turn else {}
    if result.unlocks:
        changes["unlocked"] = unlocked(turn, result)
    if step.task.tools is not None:
        changes["own_result"] = chain_data_of(result)
    text = truncated(result.text, RESULT_LIMIT)
    await in_db(partial(persistence.end_call, turn, call, state, text, result.images, **changes))
    if call.writes:
        await recording.after_call(turn, call)
    yield ToolCallChanged(call.pk)


def unlocked(turn: Turn, result: ToolResult) -> list[str]:
    """What is found again moves to the end, which is what stays when there is not room for all."""
    before = turn.checkpoint.get("unlocked", [])
    return [*(name for name in before if name not in result.unlocks), *result.unlocks]


def admit(step: Step, call: ToolCall) -> Tool | None:
    """The tool to run, or None when the call was settled without running it.

    Listed is not enough: the gate and the grants are asked again here, from the rows and the
    file as they are now.
    """
    turn = step.turn
    if turn.checkpoint.get("ended"):
        return settle(turn, call, ToolCall.State.REFUSED, OVER)
    offer = available_tools(turn, tools_of_asking_task(step))
    refusal = offer.refusal(call)
    if call.state == ToolCall.State.RUNNING and (refusal or not offer.tools[call.tool].repeatable):
        now = timezone.now()
        ran = [nanoseconds(each) for each in (call.started_at or now, now)]
        lost = [*turn.checkpoint.get("lost", ()), ran]
        persistence.end_call(turn, call, ToolCall.State.INTERRUPTED, NO_RESULT, lost=lost)
        return None
    if refusal:
        return settle(turn, call, ToolCall.State.REFUSED, refusal)
    if call.reason and not call.decision:  # arguments that were no JSON object
        return settle(turn, call, ToolCall.State.FAILED, call.reason)
    if call.decision == "deny":
        why = call.reason or "no reason was given"
        sentence = f"The person did not allow this call: {why}."
        return settle(turn, call, ToolCall.State.DENIED, sentence)
    tool = offer.tools[call.tool]
    if call.decision and call.asked_as and call.asked_as != tool.identity:
        sentence = ANOTHER_TOOL.format(tool=call.tool)
        return settle(turn, call, ToolCall.State.REFUSED, sentence)
    if offer.must_ask(call):
        persistence.ask_for_call(turn, call, tool.identity)
        question = gettext("Run {tool}?").format(tool=call.tool)
        add_message_at_top(turn, "approval", question, call=call.pk)
        raise TurnWaits(Turn.WaitingFor.APPROVAL)
    return tool


def settle(turn: Turn, call: ToolCall, state: str, result: str) -> Tool | None:
    """Record what became of a call that is not run; there is no tool to run then."""
    persistence.end_call(turn, call, state, result)
    return None


def tools_of_asking_task(step: Step) -> list[str]:
    """The list the call was made under: the asking task's, or the call the chain itself names."""
    if step.task.tools is not None:
        return [step.task.tools.tool]
    asking = step.work.chain.find(step.source) or step.task
    return may_be_called(asking, step.task)


async def outcome_of(tool: Tool, call: ToolCall) -> tuple[str, ToolResult]:
    try:
        result = await tool.run(call.arguments)
    except ToolFailed as failure:
        result = ToolResult(str(failure), ends_turn=failure.ends_turn, facts=failure.facts)
        return ToolCall.State.FAILED, result
    return ToolCall.State.DONE, result
