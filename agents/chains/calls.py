"""Carrying out tool calls: those a model asked for, and those a chain makes itself."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator

from agents import observed
from agents.chains.macros import UnknownMacro, expand
from agents.chains.schema import ToolsCall
from agents.chains.steps import ChainEvent, Output, Step, StepDone, ToolCallChanged
from agents.chains.words import meanings, said
from agents.database import in_db
from agents.models import ToolCall, Turn
from agents.tools.base import Tool, ToolFailed, ToolRefused, ToolResult
from agents.toolset import on_offer
from agents.turns import journal
from agents.turns.children import bubble
from agents.turns.interruptions import TurnFailed, TurnWaits
from agents.turns.transcript import NO_RESULT

log = logging.getLogger(__name__)

RESULT_LIMIT = 60_000  # characters of a tool result that are kept and sent
OVER = "This turn is already over: the call was not carried out."
UNSETTLED = ["", ToolCall.State.ASKED, ToolCall.State.RUNNING]


async def execute_tool_calls(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Run the calls of one message in order.

    The result is `finished` once a call has ended the turn, `no_calls_found` where there were
    none, else `tools_executed`.
    """
    calls = await in_db(calls_of, step)
    for call in calls:
        if call.state in UNSETTLED:
            async for event in run_call(step, call):
                yield event
    ended = bool(step.turn.checkpoint.get("ended"))
    value = "finished" if ended else "tools_executed" if calls else "no_calls_found"
    yield StepDone(value, dict(step.input))


def calls_of(step: Step) -> list[ToolCall]:
    """The calls of the message; after a crash one of them may have been in flight."""
    message = step.input.get("message")
    calls = step.turn.tool_calls.filter(message_id=int(str(message or 0)))
    return list(calls.select_related("turn"))


async def call_tool(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """The chain's own call. The result is `tools_executed` or `failed`, or the output_template."""
    call = await in_db(own_call, step)
    if call.state in UNSETTLED:
        async for event in run_call(step, call):
            yield event
    await in_db(call.refresh_from_db)
    if call.state != ToolCall.State.DONE:
        raise TurnFailed("logic", call.result or f"{call.tool} was not carried out.")
    output: Output = {"text": call.result, "data": data_of(call.result)}
    if not step.task.output_template:
        yield StepDone("tools_executed", output)
        return
    text = await in_db(said_of_result, step, output)
    yield StepDone(text, {"text": text})


def own_call(step: Step) -> ToolCall:
    """The row of this step's call; on a resumed turn, the one that is there."""
    turn, wanted = step.turn, step.task.tools
    if wanted is None:
        raise TurnFailed("logic", f"Task {step.task.id} does not say which tool to call.")
    made = turn.tool_calls.filter(pk=turn.checkpoint.get("own_call") or 0).first()
    if made is not None:
        return made
    with journal.fenced(turn):
        message = journal.add_message(turn, "assistant", "text", meta={"by_chain": True})
        call = ToolCall.objects.create(
            message=message,
            turn=turn,
            call_id=f"chain_{message.pk}",
            tool=tool_name(wanted),
            arguments={k: filled(step, v) for k, v in wanted.args.items()},
        )
        journal.checkpoint(turn, own_call=call.pk)
    return call


def tool_name(wanted: ToolsCall) -> str:
    """Our name of it: `local_shell` is shell, a source's operation is `<source>__<operation>`."""
    if wanted.name == "local_shell":
        return "shell"
    if wanted.name == "local_fs" or not wanted.tool_name:
        return wanted.tool_name or wanted.name
    return (
        wanted.tool_name
        if wanted.tool_name == wanted.name
        else f"{wanted.name}__{wanted.tool_name}"
    )


def filled(step: Step, value: object) -> object:
    """The author's arguments with macros expanded; other values as they are."""
    if isinstance(value, str):
        return said(step, value)
    if isinstance(value, list):
        return [filled(step, each) for each in value]
    return {k: filled(step, v) for k, v in value.items()} if isinstance(value, dict) else value


def data_of(result: str) -> object:
    try:
        return json.loads(result)
    except ValueError:
        return result


def said_of_result(step: Step, output: Output) -> str:
    """The output_template: `.field` of a JSON result, `.output` for the whole text."""
    known = meanings(step)
    data = output["data"]
    fields = data if isinstance(data, dict) else {}
    known.outputs.update({**fields, "output": output["text"]})
    try:
        return expand(step.task.output_template, known)
    except UnknownMacro as unknown:
        raise TurnFailed("logic", f"Task {step.task.id}: {unknown}") from None


async def run_call(step: Step, call: ToolCall) -> AsyncGenerator[ChainEvent, None]:
    """Carry out one call, if it is on offer and allowed at this very moment."""
    turn = step.turn
    tool = await in_db(admit, step, call)
    if tool is None:
        yield ToolCallChanged(call.pk)
        return
    await in_db(journal.begin_call, turn, call)
    yield ToolCallChanged(call.pk)
    state, result = await observed.tool_call(call, outcome_of(tool, call))
    await in_db(journal.end_call, turn, call, state, result.text, result.ends_turn)
    yield ToolCallChanged(call.pk)


def admit(step: Step, call: ToolCall) -> Tool | None:
    """The tool to run, or None when the call was settled without running it.

    Listed is not enough: the gate and the grants are asked again here, from the rows and the
    file as they are now.
    """
    turn = step.turn
    if turn.checkpoint.get("ended"):
        return settle(turn, call, ToolCall.State.REFUSED, OVER)
    offer = on_offer(turn, tools_of_asking_task(step))
    refusal = offer.refusal(call)
    if call.state == ToolCall.State.RUNNING and (refusal or not offer.tools[call.tool].repeatable):
        return settle(turn, call, ToolCall.State.INTERRUPTED, NO_RESULT)
    if refusal:
        return settle(turn, call, ToolCall.State.REFUSED, refusal)
    if call.reason and not call.decision:  # arguments that were no JSON object
        return settle(turn, call, ToolCall.State.FAILED, call.reason)
    if call.decision == "deny":
        return settle(turn, call, ToolCall.State.DENIED, denied(call))
    if offer.must_ask(call):
        journal.ask_for_call(turn, call)
        bubble(turn, "approval", f"Run {call.tool}?", call=call.pk)
        raise TurnWaits(Turn.WaitingFor.APPROVAL)
    return offer.tools[call.tool]


def settle(turn: Turn, call: ToolCall, state: str, result: str) -> Tool | None:
    """Record what became of a call that is not run; there is no tool to run then."""
    journal.end_call(turn, call, state, result)
    return None


def denied(call: ToolCall) -> str:
    return f"The person did not allow this call: {call.reason or 'no reason was given'}."


def tools_of_asking_task(step: Step) -> list[str]:
    """The list the call was made under: the asking task's, or the call the chain itself names.

    A list of the task's own narrows it further.
    """
    if step.task.tools is not None:
        return [tool_name(step.task.tools)]
    asking = next((t for t in step.work.chain.tasks if t.id == step.source), step.task)
    config, own = asking.execute_config, step.task.execute_config
    hidden = [f"!{name}" for name in (*config.hide_tools, *own.hide_tools)]
    if own.tools and "*" not in own.tools and asking is not step.task:
        named = [name for name in own.tools if "*" in config.tools or name in config.tools]
        return [*named, *(name for name in config.tools if name.startswith("!")), *hidden]
    return [*config.tools, *hidden]


async def outcome_of(tool: Tool, call: ToolCall) -> tuple[str, ToolResult]:
    try:
        result = await tool.run(call.arguments)
    except ToolRefused as refusal:
        return ToolCall.State.REFUSED, ToolResult(str(refusal))
    except ToolFailed as failure:
        return ToolCall.State.FAILED, ToolResult(str(failure))
    if len(result.text) > RESULT_LIMIT:
        cut = f"{result.text[:RESULT_LIMIT]}\n[cut: {len(result.text):,} characters in all]"
        result = ToolResult(cut, result.ends_turn)
    return ToolCall.State.DONE, result
