"""Asking the model: a streamed reply with tool calls, or one label to route by."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from functools import partial

from django.db.models import F
from django.db.models.sql import UpdateQuery

from agents import persistence
from agents.chains.schema import labels_of, may_be_called, normalize_label
from agents.chains.template import Output
from agents.db import AWAY, in_db
from agents.engine.available_tools import AvailableTools, available_tools
from agents.engine.handlers import Instruction, handler_of, refresh_config
from agents.engine.images import load_images, with_images_of
from agents.engine.prompt import (
    NEVER_DROPPED,
    last_reply_id,
    own_messages,
    system_parts,
    tokens,
    within_window,
)
from agents.engine.steps import ChainEvent, Step, StepDone, TextEnded, TextStreamed, nothing
from agents.engine.usage import cost_of
from agents.errors import TurnFailed, TurnLost
from agents.llm.api import api_of
from agents.llm.catalog import learn_loaded_window, model_info, own_window, window_of
from agents.llm.client import Part, spent, stream
from agents.llm.images import without_images
from agents.llm.lessons import lessons_for
from agents.llm.model_info import ModelInfo
from agents.llm.providers import resolve
from agents.llm.reply import ReasoningPart, Reply
from agents.llm.request import ChatMessage, ModelRequest
from agents.models import Message, Turn
from agents.statements import prepared, updating
from agents.stored_text import gettext
from agents.text.tokens import estimate_tokens

ROUTE = "Answer with exactly one of these words and nothing else: {labels}."


async def chat_completion(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Ask the model once. The result is `tool_call` or `executed`; the output names the message."""
    turn = step.turn
    if replied := turn.checkpoint.get("replied"):  # it had answered when an older Planside ended
        yield await in_db(reply_of, replied)
        return
    request = await ready_request(step)
    writing: dict[str, Message] = {}
    reply: Reply | None = None
    async with aclosing(answer(turn, request)) as parts:
        async for part in parts:
            if isinstance(part, Reply):
                reply = part
                continue
            kind = "reasoning" if isinstance(part, ReasoningPart) else "text"
            if kind not in writing:
                writing[kind] = await in_db(persistence.start_message, turn, kind)
            yield TextStreamed(writing[kind].pk, part.text)
    for message in writing.values():
        yield TextEnded(message.pk)
    assert reply is not None, "a stream ends with its reply or an error"
    if "text" not in writing:
        writing["text"] = await in_db(persistence.start_message, turn)
    finish = partial(finish_completion, turn, request, writing, reply)
    yield outcome(writing["text"], reply.text, bool(reply.calls), finish)


async def answer(turn: Turn, request: ModelRequest) -> AsyncGenerator[Part, None]:
    """The model's answer in parts. Where it breaks off, by a stop, a timeout or an error, what it
    has used until then is counted too.
    """
    draft = api_of(request.endpoint).draft()
    try:
        async with aclosing(stream(request, draft)) as parts:
            async for part in parts:
                yield part
    except BaseException:
        if reply := spent(request, draft):
            with suppress(TurnLost, *AWAY):  # then nothing can be written any more
                await in_db(persistence.count_lost_reply, turn, reply, cost_of(request, reply))
        raise


def finish_completion(
    turn: Turn, request: ModelRequest, writing: dict[str, Message], reply: Reply
) -> None:
    if "reasoning" in writing:
        persistence.close_message(turn, writing["reasoning"], reply.reasoning)
    persistence.finish_reply(turn, writing["text"], request, reply, cost_of(request, reply))


def reply_of(message_id: int) -> StepDone:
    """What a message that was finished before the turn broke off came to."""
    message = Message.objects.get(pk=message_id)
    return outcome(message, message.text, message.tool_calls.exists())


def outcome(
    message: Message, text: str, calls: bool, write: Callable[[], None] = nothing
) -> StepDone:
    value = "tool_call" if calls else "executed"
    return StepDone(value, {"message": message.pk, "text": text}, write)


async def route(step: Step) -> AsyncGenerator[ChainEvent, None]:
    """Let the model choose one of the labels the branches wait for; the result is the label.

    The choice is no message: nobody has to read it.
    """
    labels = labels_of(step.task)
    request = await ready_request(step, labels)
    reply: Reply | None = None
    async with aclosing(answer(step.turn, request)) as parts:
        async for part in parts:
            reply = part if isinstance(part, Reply) else reply
    assert reply is not None, "a stream ends with its reply or an error"
    label = chosen(reply.text, labels)
    count = partial(persistence.count_reply, step.turn, reply, cost_of(request, reply))
    yield StepDone(label, {"text": label}, count)


def chosen(answer: str, labels: list[str]) -> str:
    """The label that was meant, whatever stands around it; else the answer, for `default`.

    A label counts as a whole word: "abnormal" does not name "normal". Where two are named that
    are no part of each other, nobody knows which was meant.
    """
    text = normalize_label(answer.strip().strip(".!\"'`*").casefold())
    known = {normalize_label(label.casefold()): label for label in labels}
    if text in known:
        return known[text]
    named = [label for label in known if names(text, label)]
    whole = [one for one in named if not any(names(other, one) for other in named if other != one)]
    return known[whole[0]] if len(whole) == 1 else answer.strip()


def names(text: str, label: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text))


async def ready_request(step: Step, labels: list[str] | None = None) -> ModelRequest:
    """What to ask now; the prompt is cut to the window, so that is known first."""
    config = step.task.execute_config
    has_macros = "{{" in config.provider + config.model  # which read rows
    named = await in_db(model_of, step) if has_macros else model_of(step)
    if not own_window(step.turn.config):
        await learn_loaded_window(*named)
    return await in_db(prepare_request, step, labels)


def model_of(step: Step) -> tuple[str, str]:
    """Provider and model, of the task or else of the agent."""
    config, agent = step.task.execute_config, step.turn.config
    provider = step.expanded(config.provider) or str(agent.get("provider") or "")
    return provider, step.expanded(config.model) or str(agent.get("model") or "")


def prepare_request(step: Step, labels: list[str] | None = None) -> ModelRequest:
    """The request from the rows and the agent's file as they are now; counted before it is sent.

    With `labels` the model is to choose one of them, and no tools are offered. Neither are they
    where no way leads from here to a task that runs calls.
    """
    turn, config = step.turn, step.task.execute_config
    runner = step.work.chain.runner_of(step.task, turn.checkpoint.get("edges", {}))
    with persistence.fenced(turn):
        persistence.check_stop_requested(turn)
        refresh_config(turn)
        handler_of(turn).check(turn)
        count_of_calls.update(turn=turn.pk)
        available = available_tools(turn, may_be_called(step.task, runner))
    provider, model = model_of(step)
    described = turn.config.get("tool_descriptions") or {}
    offered = available.listed if runner and labels is None else []
    tools = [tool.as_function(described.get(tool.name)) for tool in offered]
    temperature = 0.0 if labels is not None else turn.config.get("temperature")
    endpoint = resolve(provider)
    info = model_info(endpoint, model)
    window = own_window(turn.config) or window_of(endpoint, info)
    messages = request_messages(step, available, tools, labels, window)
    return ModelRequest(
        endpoint=endpoint,
        model=model,
        messages=images_for(info, messages),
        tools=tools,
        temperature=temperature if config.temperature is None else config.temperature,
        extra={} if config.max_tokens is None else {"max_tokens": config.max_tokens},
        prices=info.prices if info else {},
        lessons=lessons_for(endpoint, model),
    )


def images_for(info: ModelInfo | None, messages: list[ChatMessage]) -> list[ChatMessage]:
    """Images for a model that sees; where its server says that it does not, their names."""
    is_blind = info is not None and info.sees_images is False
    return without_images(messages) if is_blind else load_images(messages)


@prepared
def count_of_calls(turn: int) -> UpdateQuery:
    return updating(Turn.objects.filter(pk=turn), model_calls=F("model_calls") + 1)


def request_messages(
    step: Step,
    available: AvailableTools,
    tools: list[dict[str, object]],
    labels: list[str] | None,
    window: int,
) -> list[ChatMessage]:
    """At most the chain's token limit or the model's window, less a quarter for the reply.

    What may not be dropped has to fit into the limit that the chain's author has set.
    """
    turn, limit = step.turn, step.work.chain.token_limit
    author = step.expanded(step.task.system_instruction)
    if labels:
        author = f"{author}\n\n{ROUTE.format(labels=', '.join(labels))}".strip()
    parts = [Instruction(100, author)] if labels else system_parts(turn, author, available.offer)
    opening, own = messages_around_prompt(step)
    nudge = turn.checkpoint.get("nudge")
    reminder: list[ChatMessage] = [{"role": "user", "content": nudge}] if nudge else []
    room = min(limit or window, window)
    room -= room // 4
    system = (part.text for part in parts if part.priority >= NEVER_DROPPED)
    needed = estimate_tokens(*system) + tokens(opening[-1:] + reminder)
    if limit and needed > room:
        raise TurnFailed(
            "logic",
            gettext(
                "Task {task}: its prompt is about {needed:,} tokens, and the chain's token_limit "
                "of {limit:,} leaves {room:,} for it."
            ).format(task=step.task.id, needed=needed, limit=limit, room=room),
        )
    return within_window(parts, opening, own, reminder, room - estimate_tokens(str(tools)))


def messages_around_prompt(step: Step) -> tuple[list[ChatMessage], list[ChatMessage]]:
    """What was said before this turn's own part, and that part.

    The first task answers what the chain was started with, and whoever follows tool calls goes on
    where they were made. Any other task has an input of its own: its prompt_template, or what
    `input_var` or the task before it gave out. It takes the place of what was said last; what the
    task itself has done since comes after it.
    """
    task = step.task
    prompt: Output | None = step.turn.checkpoint.get("prompt")
    is_asked_again = step.before is None and bool(step.turn.checkpoint.get("nudge"))
    goes_on = step.follows_calls or is_asked_again
    has_own_input = task.prompt_template or task.input_var
    if not prompt or not goes_on or (has_own_input and prompt["task"] != task.id):
        prompt = new_prompt(step)
    if prompt is None:
        return step.work.opening, own_messages(step.turn)
    said = step.work.opening[-1] if step.work.opening else {}
    asked: ChatMessage = {"role": "user", "content": with_images_of(str(prompt["text"]), said)}
    at = int(str(prompt["at"]))
    before = own_messages(step.turn, until=at) if prompt["by_template"] else []
    return [*step.work.opening[:-1], *before, asked], own_messages(step.turn, after=at)


def new_prompt(step: Step) -> Output | None:
    """The task's own input, from here on; None where it is the conversation as it stands."""
    task, turn = step.task, step.turn
    is_first = step.before is None
    goes_on = (is_first or step.follows_calls) and not task.input_var
    text = step.expanded(task.prompt_template) or ("" if goes_on else step.input_text)
    if not text.strip():
        if turn.checkpoint.get("prompt") and not step.follows_calls:
            persistence.save_checkpoint(turn, prompt=None)
        return None
    by_template = bool(task.prompt_template)
    prompt = {"task": task.id, "text": text, "at": last_reply_id(turn), "by_template": by_template}
    persistence.save_checkpoint(turn, prompt=prompt)
    return prompt
