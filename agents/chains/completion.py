"""Asking the model: a streamed reply with tool calls, or one label to route by."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from django.db.models import Max

from agents.chains.steps import ChainEvent, Step, StepDone, TextEnded, TextStreamed
from agents.chains.words import said
from agents.database import in_db
from agents.model_client.client import ModelRequest, ReasoningPart, Reply, stream
from agents.models import Message, Turn
from agents.providers.known import resolve
from agents.statements import run
from agents.tools.base import Tool
from agents.toolset import Instruction, OnOffer, on_offer
from agents.turns import journal
from agents.turns.budget import cost_of
from agents.turns.kinds import kind_of
from agents.turns.transcript import Wire, own_messages, system_parts, within_window

COUNT_CALL = "UPDATE agents_turn SET model_calls = model_calls + 1 WHERE id = %s"
ROUTE = "Answer with exactly one of these words and nothing else: {labels}."


async def chat_completion(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Ask the model once. The result is `tool_call` or `executed`; the output names the message."""
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
    yield await in_db(finish_completion, step, request, writing, reply)


def finish_completion(
    step: Step, request: ModelRequest, writing: dict[str, Message], reply: Reply
) -> StepDone:
    turn = step.turn
    if "reasoning" in writing:
        journal.finish_message(turn, writing["reasoning"], reply.reasoning)
    message = writing["text"] if "text" in writing else journal.start_message(turn)
    cost = cost_of(request, reply.tokens_in, reply.tokens_out)
    journal.finish_reply(turn, message, reply, cost)
    return outcome(message, bool(reply.calls))


def reply_of(message_id: int) -> StepDone:
    """What a message that was finished before the turn broke off came to."""
    message = Message.objects.get(pk=message_id)
    return outcome(message, message.tool_calls.exists())


def outcome(message: Message, calls: bool) -> StepDone:
    value = "tool_call" if calls else "executed"
    return StepDone(value, {"message": message.pk, "text": message.text})


async def route(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Let the model choose one of the labels the branches wait for; the result is the label.

    The choice is no message: nobody has to read it.
    """
    labels = [branch.when for branch in step.task.transition.branches if branch.when]
    request = await in_db(prepare_request, step, labels)
    reply: Reply | None = None
    async with aclosing(stream(request)) as parts:
        async for part in parts:
            reply = part if isinstance(part, Reply) else reply
    assert reply is not None, "a stream ends with its reply or an error"
    cost = cost_of(request, reply.tokens_in, reply.tokens_out)
    await in_db(journal.count_reply, step.turn, reply, cost)
    yield StepDone(chosen(reply.text, labels), {"text": reply.text})


def chosen(answer: str, labels: list[str]) -> str:
    """The label that was meant, whatever stands around it; else the answer, for `default`."""
    said = answer.strip().strip(".!\"'`*").casefold()
    exact = [label for label in labels if label.casefold() == said]
    within = [label for label in labels if label.casefold() in said]
    return (exact or sorted(within, key=len, reverse=True) or [answer.strip()])[0]


def prepare_request(step: Step, labels: list[str] | None = None) -> ModelRequest:
    """The request from the rows as they are now; counted before it is sent."""
    turn, config = step.turn, step.task.execute_config
    with journal.fenced(turn):
        journal.check_wishes(turn)
        kind_of(turn).check(turn)
        run(COUNT_CALL, [turn.pk])
        offer = on_offer(turn, words_of(step))
    asks = labels is None and takes_up_calls(step)
    tools = [describe(tool, turn) for tool in offer.tools.values()] if asks else []
    temperature = 0.0 if labels is not None else turn.config.get("temperature")
    return ModelRequest(
        endpoint=resolve(said(step, config.provider) or str(turn.config.get("provider") or "")),
        model=said(step, config.model) or str(turn.config.get("model") or ""),
        messages=request_messages(step, offer, tools, labels),
        tools=tools,
        temperature=temperature if config.temperature is None else config.temperature,
        extra={} if config.max_tokens is None else {"max_tokens": config.max_tokens},
    )


def takes_up_calls(step: Step) -> bool:
    """Whether a way leads from here to a task that runs calls; without one none is invited."""
    targets = {branch.goto for branch in step.task.transition.branches}
    tasks = step.work.chain.tasks
    return any(t.id in targets and t.handler == "execute_tool_calls" for t in tasks)


def words_of(step: Step) -> list[str]:
    """The task's own list of tools, less what it hides."""
    config = step.task.execute_config
    return [*config.tools, *(f"!{name}" for name in config.hide_tools)]


def request_messages(
    step: Step, offer: OnOffer, tools: list[dict[str, object]], labels: list[str] | None
) -> list[Wire]:
    turn = step.turn
    author = said(step, step.task.system_instruction)
    if labels:
        author = f"{author}\n\n{ROUTE.format(labels=', '.join(labels))}".strip()
    parts = [Instruction(100, author)] if labels else system_parts(turn, author, offer)
    opening, own = with_prompt(step)
    nudge = turn.checkpoint.get("nudge")
    reminder: list[Wire] = [{"role": "user", "content": nudge}] if nudge else []
    limit = token_limit(step) - len(str(tools)) // 4
    return within_window(parts, opening, own, reminder, limit)


def with_prompt(step: Step) -> tuple[list[Wire], list[Wire]]:
    """What was said before this turn's own part, and that part.

    A prompt_template takes the place of what was said last; what the turn had done when the task
    was first reached comes before it, what was done for it comes after.
    """
    turn, task = step.turn, step.task
    if not task.prompt_template:
        return step.work.opening, own_messages(turn)
    prompts = dict(turn.checkpoint.get("prompts", {}))
    if task.id not in prompts:
        prompts[task.id] = turn.messages.aggregate(last=Max("pk"))["last"] or 0
        journal.save_checkpoint(turn, prompts=prompts)
    prompt: Wire = {"role": "user", "content": said(step, task.prompt_template)}
    before = own_messages(turn, until=prompts[task.id])
    return [*step.work.opening[:-1], *before, prompt], own_messages(turn, after=prompts[task.id])


def token_limit(step: Step) -> int:
    """The chain's limit or the model's window, whichever is less; a quarter is for the reply."""
    window = int(step.turn.config.get("context_window") or 32768)
    limit = min(step.work.chain.token_limit or window, window)
    return limit - limit // 4


def describe(tool: Tool, turn: Turn) -> dict[str, object]:
    return tool.as_function((turn.config.get("tool_descriptions") or {}).get(tool.name))
