"""Where turns, steps, model calls and tool calls reach logs, metrics and traces.

By default no text of a person, a model or a tool leaves by a trace; with
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true it does, as messages made of parts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from opentelemetry.trace import Span, get_current_span
from structlog.contextvars import (
    bind_contextvars,
    bound_contextvars,
    get_contextvars,
    unbind_contextvars,
)

from agents.models import ToolCall, Turn, TurnState
from agents.normalization import split_url
from agents.telemetry import metrics, tracing
from agents.telemetry.log_context import Fact, as_attributes

if TYPE_CHECKING:
    from agents.chains.schema import Task
    from agents.llm.reply import Reply
    from agents.llm.request import ModelRequest
    from agents.tools.base import ToolResult

log = logging.getLogger("agents.turns")

FOUND_LATER = ("version", "subtask", "attempt")  # facts that `add_facts` adds


@contextmanager
def turn(turn: Turn) -> Iterator[None]:
    """One turn from its claim until it leaves `running`."""
    plan = turn.plan
    agent = turn.conversation.agent_id
    facts: tracing.Facts = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": agent,
        "gen_ai.agent.name": str(turn.config.get("name") or agent),
        "gen_ai.provider.name": str(turn.config.get("provider") or ""),
        "gen_ai.request.model": str(turn.config.get("model") or ""),
        "planside.turn.kind": turn.kind,
        "planside.turn.epoch": turn.epoch,
    }
    known = {"plan": plan} if plan else {}
    with (
        bound_contextvars(conversation=turn.conversation_id, turn=turn.pk, **known),
        tracing.span(f"invoke_agent {agent}", facts, is_root=True) as span,
    ):
        began = monotonic()
        try:
            yield
        finally:
            ended(turn, span, monotonic() - began)
            unbind_contextvars(*FOUND_LATER)


def ended(turn: Turn, span: Span, seconds: float) -> None:
    # Still `running` means that another worker has it now, which reports its real end.
    state = "lost" if turn.state == TurnState.RUNNING else str(turn.state)
    waiting_for = turn.waiting_for or None
    metrics.turns.labels(turn.kind, state, turn.error_class).inc()
    metrics.turn_seconds.labels(turn.kind).observe(seconds)
    tracing.note(span, {"planside.turn.state": state, "planside.turn.waiting_for": waiting_for})
    if state == TurnState.FAILED:
        tracing.fail(span, turn.error_class or "logic")
    log.log(
        logging.INFO if state == TurnState.FAILED else logging.DEBUG,
        "turn %s",
        state,
        extra={"kind": turn.kind, "error": turn.error_class, "seconds": round(seconds, 3)},
    )


def add_facts(**facts: Fact) -> None:
    """What a turn is about, once that is known: for the rest of its log lines and spans."""
    if "turn" in get_contextvars():
        bind_contextvars(**facts)
    tracing.note(get_current_span(), as_attributes())


def step(task: Task) -> AbstractContextManager[Span]:
    """One task of a chain."""
    facts = {"planside.step.task": task.id, "planside.step.handler": task.handler}
    return tracing.span(f"step {task.id}", facts)


class ModelCall:
    """A request to a model under way."""

    def __init__(self, request: ModelRequest, span: Span) -> None:
        self.request, self.span = request, span
        self.provider, self.began = request.endpoint.provider, monotonic()
        self.answers, self.outcome = False, "broken_off"

    def first_piece(self) -> None:
        self.answers = True
        seconds = monotonic() - self.began
        metrics.first_piece_seconds.labels(self.provider).observe(seconds)
        tracing.note(self.span, {"gen_ai.response.time_to_first_chunk": seconds})

    def answered(self, reply: Reply) -> None:
        self.outcome = "done"
        self.used(reply)
        finish = [reply.finish_reason] if reply.finish_reason else None
        facts: tracing.Facts = {"gen_ai.response.finish_reasons": finish}
        tracing.note(self.span, {**facts, **exchange(self.request, reply)})

    def used(self, reply: Reply) -> None:
        metrics.tokens.labels(self.provider, "in").inc(reply.tokens_in)
        metrics.tokens.labels(self.provider, "out").inc(reply.tokens_out)
        metrics.cached_tokens.labels(self.provider).inc(reply.cached_tokens)
        facts: tracing.Facts = {
            "gen_ai.usage.input_tokens": reply.tokens_in,
            "gen_ai.usage.output_tokens": reply.tokens_out,
            "gen_ai.usage.cache_read.input_tokens": reply.cached_tokens or None,
            "gen_ai.usage.cache_creation.input_tokens": reply.stored_tokens or None,
            "planside.usage.estimated": reply.estimated,
        }
        tracing.note(self.span, facts)


@contextmanager
def model_call(
    request: ModelRequest, spent: Callable[[], Reply | None] = lambda: None
) -> Iterator[ModelCall]:
    """One request until its reply is whole; who stops reading breaks it off, which has `spent`."""
    facts: tracing.Facts = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": request.endpoint.provider,
        "gen_ai.request.model": request.model,
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.output.type": "text",
    }
    try:
        parts = split_url(request.endpoint.address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        facts = {**facts, "server.address": parts.hostname, "server.port": port}
    except ValueError:  # no address at all: the request will say so itself
        pass
    with tracing.span(f"chat {request.model}".strip(), facts, is_client=True) as span:
        call = ModelCall(request, span)
        try:
            yield call
        except Exception as error:
            call.outcome = tracing.error_type_of(error)
            raise
        finally:
            if call.outcome != "done" and (reply := spent()):
                call.used(reply)
            seconds = monotonic() - call.began
            metrics.model_seconds.labels(call.provider, call.outcome).observe(seconds)


async def tool_call(
    call: ToolCall, outcome: Awaitable[tuple[str, ToolResult]]
) -> tuple[str, ToolResult]:
    """One call while it is carried out. A tool that failed says so in its state."""
    began, state = monotonic(), "broken_off"
    facts = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.call.id": call.call_id,
        "gen_ai.tool.type": "function",
    }
    if tracing.captures_content():
        facts["gen_ai.tool.call.arguments"] = as_json(call.arguments)
    try:
        with tracing.span(f"execute_tool {call.tool}", facts) as span:
            state, result = await outcome
            if state != ToolCall.State.DONE:
                tracing.fail(span, state)
            if tracing.captures_content():
                tracing.note(span, {"gen_ai.tool.call.result": result.text})
            return state, result
    finally:
        tool = call.tool.partition("__")[0]
        metrics.tool_seconds.labels(tool, state).observe(monotonic() - began)


# Messages as the GenAI conventions write them.

Part = dict[str, object]


def exchange(request: ModelRequest, reply: Reply) -> tracing.Facts:
    """The messages of a request and of its reply, where the operator captures content."""
    if not tracing.captures_content():
        return {}
    asked = [{"role": m.get("role"), "parts": parts_of(m)} for m in request.messages]
    system = [
        part for message in request.messages if is_system(message) for part in parts_of(message)
    ]
    calls = [call_part(call.id, call.name, call.arguments) for call in reply.calls]
    parts = [*([text_part(reply.text)] if reply.text else []), *calls]
    answer = {"role": "assistant", "parts": parts, "finish_reason": reply.finish_reason}
    return {
        "gen_ai.system_instructions": as_json(system),
        "gen_ai.input.messages": as_json([message for message in asked if not is_system(message)]),
        "gen_ai.output.messages": as_json([answer]),
    }


def is_system(message: Part) -> bool:
    return message.get("role") == "system"


def parts_of(message: Part) -> list[Part]:
    content = content_of(message)
    if message.get("role") == "tool":
        response = {"type": "tool_call_response", "id": message.get("tool_call_id")}
        return [{**response, "result": content}]
    calls = message.get("tool_calls")
    parts = [text_part(content)] if content else []
    for call in calls if isinstance(calls, list) else []:
        function = call["function"]
        parts.append(call_part(call["id"], function["name"], function["arguments"]))
    return parts


def content_of(message: Part) -> str:
    """The text; images are left out."""
    content = message.get("content") or ""
    if not isinstance(content, list):
        return str(content)
    return "\n".join(str(part["text"]) for part in content if "text" in part)


def text_part(content: str) -> Part:
    return {"type": "text", "content": content}


def call_part(id: object, name: object, arguments: object) -> Part:
    return {"type": "tool_call", "id": id, "name": name, "arguments": arguments}


def as_json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, default=str)
