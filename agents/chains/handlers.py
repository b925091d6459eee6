"""The two handlers of the loop: ask the model, and run the tools it called."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from django.db.models import F

from agents import journal
from agents.chains.steps import ChainEvent, Step, StepDone, TextEnded, TextStreamed, ToolCallChanged
from agents.database import in_db
from agents.interruptions import TurnWaits
from agents.model_client import ModelRequest, ReasoningPart, Reply, stream
from agents.models import Message, ToolCall, Turn
from agents.providers import resolve
from agents.tools.base import Tool, ToolFailed, ToolRefused, ToolResult
from agents.toolset import OnOffer, on_offer
from agents.transcript import NO_RESULT, own_messages, system_message, system_parts

log = logging.getLogger(__name__)

RESULT_LIMIT = 60_000  # characters of a tool result that are kept and sent
OVER = "This turn is already over: the call was not carried out."

Handler = Callable[[Step], AsyncGenerator[ChainEvent, None]]


async def chat_completion(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Ask the model once. The result is `tool_call` or `stop`; the output names the message."""
    turn = step.turn
    if replied := turn.checkpoint.get("replied"):  # it had answered when the turn broke off
        yield await in_db(reply_of, replied)
        return
    request = await in_db(prepare_request, step)
    writing: dict[str, Message] = {}
    reply: Reply | None = None
    async with aclosing(stream(request)) as parts:
        async for part in parts:
            if isinstance(part, Reply):
                reply = part
                continue
            kind = "reasoning" if isinstance(part, ReasoningPart) else "text"
            if kind not in writing:
                writing[kind] = await in_db(journal.start_message, turn, kind)
            yield TextStreamed(writing[kind].pk, part.text)
    for message in writing.values():
        yield TextEnded(message.pk)
    assert reply is not None, "a stream ends with its reply or an error"
    yield await finish_completion(step, writing, reply)


async def finish_completion(step: Step, writing: dict[str, Message], reply: Reply) -> StepDone:
    turn = step.turn
    if "reasoning" in writing:
        await in_db(journal.finish_message, turn, writing["reasoning"], reply.reasoning)
    message = writing["text"] if "text" in writing else await in_db(journal.start_message, turn)
    await in_db(journal.finish_reply, turn, message, reply)
    return await in_db(reply_of, message.pk)


def reply_of(message_id: int) -> StepDone:
    message = Message.objects.get(pk=message_id)
    value = "tool_call" if message.tool_calls.exists() else "stop"
    return StepDone(value, {"message": message.pk, "text": message.text})


def prepare_request(step: Step) -> ModelRequest:
    """The request from the rows as they are now; counted before it is sent."""
    turn, config = step.turn, step.task.execute_config
    with journal.fenced(turn):
        journal.check_wishes(turn)
        Turn.objects.filter(pk=turn.pk).update(model_calls=F("model_calls") + 1)
        offer = on_offer(turn, config.tools)
    temperature = config.temperature
    return ModelRequest(
        endpoint=resolve(config.provider or str(turn.config.get("provider") or "")),
        model=config.model or str(turn.config.get("model") or ""),
        messages=request_messages(step, offer),
        tools=[describe(tool, turn) for tool in offer.tools.values()],
        temperature=turn.config.get("temperature") if temperature is None else temperature,
    )


def request_messages(step: Step, offer: OnOffer) -> list[dict[str, object]]:
    turn = step.turn
    system = system_message(system_parts(turn, step.task.system_instruction, offer))
    nudge = turn.checkpoint.get("nudge")
    reminder = [{"role": "user", "content": nudge}] if nudge else []
    return [system, *step.work.opening, *own_messages(turn), *reminder]


def describe(tool: Tool, turn: Turn) -> dict[str, object]:
    return tool.as_function((turn.config.get("tool_descriptions") or {}).get(tool.name))


async def execute_tool_calls(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Run the calls of one message in order. The result is `finished` once one ended the turn."""
    for call in await in_db(open_calls, step):
        async for event in run_call(step, call):
            yield event
    ended = bool(step.turn.checkpoint.get("ended"))
    yield StepDone("finished" if ended else "tool_calls_executed", dict(step.input))


def open_calls(step: Step) -> list[ToolCall]:
    """The calls without a result; after a crash one of them may have been in flight."""
    unsettled = ["", ToolCall.State.ASKED, ToolCall.State.RUNNING]
    message = int(str(step.input["message"]))
    calls = step.turn.tool_calls.filter(message_id=message, state__in=unsettled)
    return list(calls.select_related("turn"))


async def run_call(step: Step, call: ToolCall) -> AsyncGenerator[ChainEvent, None]:
    """Carry out one call, if it is on offer and allowed at this very moment."""
    turn = step.turn
    tool = await in_db(admit, step, call)
    if tool is None:
        yield ToolCallChanged(call.pk)
        return
    await in_db(journal.begin_call, turn, call)
    yield ToolCallChanged(call.pk)
    state, result = await outcome_of(tool, call)
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
    if refusal := offer.refusal(call):
        return settle(turn, call, ToolCall.State.REFUSED, refusal)
    if call.reason and not call.decision:  # arguments that were no JSON object
        return settle(turn, call, ToolCall.State.FAILED, call.reason)
    if call.decision == "deny":
        return settle(turn, call, ToolCall.State.DENIED, denied(call))
    tool = offer.tools[call.tool]
    if call.state == ToolCall.State.RUNNING and not tool.repeatable:
        return settle(turn, call, ToolCall.State.INTERRUPTED, NO_RESULT)
    if offer.must_ask(call):
        journal.ask_for_call(turn, call)
        raise TurnWaits(Turn.WaitingFor.APPROVAL)
    return tool


def settle(turn: Turn, call: ToolCall, state: str, result: str) -> Tool | None:
    """Record what became of a call that is not run; there is no tool to run then."""
    journal.end_call(turn, call, state, result)
    return None


def denied(call: ToolCall) -> str:
    return f"The person did not allow this call: {call.reason or 'no reason was given'}."


def tools_of_asking_task(step: Step) -> list[str]:
    """The calls were made under the list of the task that asked the model."""
    source = step.task.input_var
    task = step.work.chain.task(source) if source else step.task
    return task.execute_config.tools


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


HANDLERS: dict[str, Handler] = {
    "chat_completion": chat_completion,
    "execute_tool_calls": execute_tool_calls,
}
