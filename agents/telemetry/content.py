"""What was said, as spans show it: only where the operator has asked for it.

By default no text of a person, a model or a tool leaves by a trace; with
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true it does, as messages made of parts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from django.conf import settings

from agents.telemetry import tracing

if TYPE_CHECKING:
    from agents.llm.reply import Reply
    from agents.llm.request import ModelRequest

Part = dict[str, object]


def is_enabled() -> bool:
    return tracing.is_on() and bool(settings.OTEL_CAPTURE_CONTENT)


def exchange(request: ModelRequest, reply: Reply) -> tracing.Facts:
    """The messages of a request and of its reply."""
    if not is_enabled():
        return {}
    system = [part for each in request.messages if is_system(each) for part in parts_of(each)]
    asked = [message(each) for each in request.messages if not is_system(each)]
    parts = [text(reply.text)] if reply.text else []
    parts += [requested(call.id, call.name, call.arguments) for call in reply.calls]
    answer = {"role": "assistant", "parts": parts, "finish_reason": reply.finish_reason}
    return {
        "gen_ai.system_instructions": as_json(system),
        "gen_ai.input.messages": as_json(asked),
        "gen_ai.output.messages": as_json([answer]),
    }


def tool_arguments(arguments: dict[str, object]) -> dict[str, str]:
    return {"gen_ai.tool.call.arguments": as_json(arguments)} if is_enabled() else {}


def tool_result(result: str) -> tracing.Facts:
    return {"gen_ai.tool.call.result": result} if is_enabled() else {}


def is_system(wire: dict[str, object]) -> bool:
    return wire.get("role") == "system"


def message(wire: dict[str, object]) -> dict[str, object]:
    return {"role": wire.get("role"), "parts": parts_of(wire)}


def parts_of(wire: dict[str, object]) -> list[Part]:
    content = str(wire.get("content") or "")
    if wire.get("role") == "tool":
        answered = {"type": "tool_call_response", "id": wire.get("tool_call_id")}
        return [{**answered, "result": content}]
    calls = wire.get("tool_calls")
    parts = [text(content)] if content else []
    for call in calls if isinstance(calls, list) else []:
        function = call["function"]
        parts.append(requested(call["id"], function["name"], function["arguments"]))
    return parts


def text(content: str) -> Part:
    return {"type": "text", "content": content}


def requested(id: object, name: object, arguments: object) -> Part:
    return {"type": "tool_call", "id": id, "name": name, "arguments": arguments}


def as_json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, default=str)
