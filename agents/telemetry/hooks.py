"""Where turns, steps, model calls and tool calls are seen by logs, metrics and traces."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agents.models import ToolCall, Turn, TurnState
from agents.telemetry import content, metrics, tracing
from agents.telemetry.log_context import Fact, about, add, as_attributes

if TYPE_CHECKING:
    from agents.chains.schema import Task
    from agents.llm.reply import Reply
    from agents.llm.request import ModelRequest
    from agents.tools.base import ToolResult

log = logging.getLogger("agents.turns")


@contextmanager
def turn(turn: Turn) -> Iterator[None]:
    """One turn from its claim until it leaves `running`."""
    plan = turn.checkpoint.get("plan")
    facts = {"conversation": turn.conversation_id, "turn": turn.pk}
    with about(**facts, **({"plan": plan} if plan else {})):
        began = monotonic()
        with turn_span(turn) as span:
            yield
            tell_end(turn, monotonic() - began, span)


def turn_span(turn: Turn) -> AbstractContextManager[tracing.Noted]:
    if not tracing.is_on():
        return tracing.OFF
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
    return tracing.span(f"invoke_agent {agent}", facts, is_root=True)


def tell_end(turn: Turn, seconds: float, span: tracing.Noted) -> None:
    """`running` means that somebody else has it now: not ours to tell."""
    state = "lost" if turn.state == TurnState.RUNNING else str(turn.state)
    metrics.turns.labels(turn.kind, state, turn.error_class).inc()
    metrics.turn_seconds.labels(turn.kind).observe(seconds)
    span.note({"planside.turn.state": state, "planside.turn.waiting_for": turn.waiting_for or None})
    if failed := state == TurnState.FAILED:
        span.failed(turn.error_class or "logic")
    log.log(
        logging.INFO if failed else logging.DEBUG,
        "turn %s",
        state,
        extra={"kind": turn.kind, "error": turn.error_class, "seconds": round(seconds, 3)},
    )


def found(**facts: Fact) -> None:
    """What a turn is about, once that is known: for the rest of its log lines and spans."""
    add(**facts)
    tracing.note(as_attributes())


def step(task: Task) -> AbstractContextManager[tracing.Noted]:
    """One task of a chain."""
    if not tracing.is_on():
        return tracing.OFF
    facts = {"planside.step.task": task.id, "planside.step.handler": task.handler}
    return tracing.span(f"step {task.id}", facts)


class ModelCall:
    """A request to a model under way."""

    def __init__(self, request: ModelRequest, span: tracing.Noted) -> None:
        self.request, self.span = request, span
        self.provider, self.began = request.endpoint.provider, monotonic()
        self.answers, self.outcome = False, "broken_off"

    def first_piece(self) -> None:
        self.answers = True
        seconds = monotonic() - self.began
        metrics.first_piece_seconds.labels(self.provider).observe(seconds)
        self.span.note({"gen_ai.response.time_to_first_chunk": seconds})

    def answered(self, reply: Reply) -> None:
        self.outcome = "done"
        metrics.tokens.labels(self.provider, "in").inc(reply.tokens_in)
        metrics.tokens.labels(self.provider, "out").inc(reply.tokens_out)
        if self.span is not tracing.NOWHERE:
            self.span.note(reply_facts(reply))
            self.span.note(content.exchange(self.request, reply))

    def over(self) -> None:
        seconds = monotonic() - self.began
        metrics.model_seconds.labels(self.provider, self.outcome).observe(seconds)


@contextmanager
def model_call(request: ModelRequest) -> Iterator[ModelCall]:
    """One request until its reply is whole; who stops reading breaks it off."""
    with model_span(request) as span:
        call = ModelCall(request, span)
        try:
            yield call
        except Exception as error:
            call.outcome = tracing.error_type_of(error)
            raise
        finally:
            call.over()


def model_span(request: ModelRequest) -> AbstractContextManager[tracing.Noted]:
    if not tracing.is_on():
        return tracing.OFF
    facts: tracing.Facts = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": request.endpoint.provider,
        "gen_ai.request.model": request.model,
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.output.type": "text",
        **server_facts(request.endpoint.address),
    }
    return tracing.lone_span(f"chat {request.model}".strip(), facts)


def server_facts(address: str) -> tracing.Facts:
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:  # no address at all: the request will say so itself
        return {}
    return {"server.address": parts.hostname, "server.port": port}


def reply_facts(reply: Reply) -> tracing.Facts:
    reasons = [reply.finish_reason] if reply.finish_reason else None
    return {
        "gen_ai.usage.input_tokens": reply.tokens_in,
        "gen_ai.usage.output_tokens": reply.tokens_out,
        "planside.usage.estimated": reply.estimated,
        "gen_ai.response.finish_reasons": reasons,
    }


async def tool_call(
    call: ToolCall, outcome: Awaitable[tuple[str, ToolResult]]
) -> tuple[str, ToolResult]:
    """One call while it is carried out. A tool that failed says so in its state."""
    began, state = monotonic(), "broken_off"
    try:
        with tool_span(call) as span:
            state, result = await outcome
            if state != ToolCall.State.DONE:
                span.failed(state)
            span.note(content.tool_result(result.text))
            return state, result
    finally:
        tool = call.tool.partition("__")[0]
        metrics.tool_seconds.labels(tool, state).observe(monotonic() - began)


def tool_span(call: ToolCall) -> AbstractContextManager[tracing.Noted]:
    if not tracing.is_on():
        return tracing.OFF
    facts = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool,
        "gen_ai.tool.call.id": call.call_id,
        "gen_ai.tool.type": "function",
        **content.tool_arguments(call.arguments),
    }
    return tracing.span(f"execute_tool {call.tool}", facts)
