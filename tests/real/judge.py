"""What the SDKs that OpenAI and Anthropic publish make of streams, refusals and requests.

Reads questions from standard input, a line of JSON each: {"answers": [URL, API, MODEL, STRICT, N]}
has it ask the server N times, {"requests": [API, [REQUEST, …]]} validates requests. Prints a line with a
list of verdicts for each. Run by the Python that has the SDKs.
"""

import json
import sys
from collections.abc import Iterable
from typing import Any

import anthropic
import openai
from anthropic.types import message_create_params
from openai.types.chat import completion_create_params
from pydantic import TypeAdapter, ValidationError

ASKED: Any = [{"role": "user", "content": "What is here?"}]
KEY: Any = {"api_key": "k", "max_retries": 0}
PARAMETERS: dict[str, Any] = {
    "chat_completions": completion_create_params.CompletionCreateParamsStreaming,
    "anthropic_messages": message_create_params.MessageCreateParamsStreaming,
}


def by_openai(url, model, strict):
    client = openai.OpenAI(base_url=url, _strict_response_validation=strict, **KEY)
    asked = {"model": model, "messages": ASKED, "stream_options": {"include_usage": True}}
    text, calls, finish, usage = "", {}, None, None
    for chunk in client.chat.completions.create(stream=True, **asked):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            words = choice.delta.content or ""
            text += words if isinstance(words, str) else ""  # Mistral's thinking is a list
            finish = choice.finish_reason or finish
            for piece in choice.delta.tool_calls or []:
                call = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = piece.id or call["id"]
                call["name"] += piece.function.name or ""
                call["arguments"] += piece.function.arguments or ""
    tokens = [usage.prompt_tokens, usage.completion_tokens] if usage else None
    made = [{**call, "arguments": json.loads(call["arguments"])} for call in calls.values()]
    return {"text": text, "calls": made, "finish": finish, "tokens": tokens}


def by_anthropic(url, model, strict):
    host = url.removesuffix("/v1")
    client = anthropic.Anthropic(base_url=host, _strict_response_validation=strict, **KEY)
    with client.messages.stream(model=model, max_tokens=100, messages=ASKED) as events:
        message = events.get_final_message()
    used = [block for block in message.content if block.type == "tool_use"]
    return {
        "text": "".join(block.text for block in message.content if block.type == "text"),
        "thinking": "".join(b.thinking for b in message.content if b.type == "thinking"),
        "calls": [{"id": b.id, "name": b.name, "arguments": b.input} for b in used],
        "finish": message.stop_reason,
        "tokens": [message.usage.input_tokens, message.usage.output_tokens],
    }


def judged(ask, *asked):
    try:
        return ask(*asked)
    except (AssertionError, ValueError) as error:  # Anthropic's says so that nothing came
        return {"error": type(error).__name__, "status": None, "words": str(error)}
    except (openai.APIError, anthropic.APIError) as error:
        status = getattr(error, "status_code", None)
        words = getattr(error, "message", str(error))
        return {"error": type(error).__name__, "status": status, "words": words}


def whole(value):
    """All of it: what is only iterable is validated when it is read."""
    if isinstance(value, dict):
        return {key: whole(each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [whole(each) for each in value]
    return value


def faults(adapter, request):
    """What is not as it is published; nothing where all is."""
    try:
        read = whole(adapter.validate_python(request))
    except ValidationError as error:
        return [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
    return list(dropped(request, read))


def dropped(sent, read, path=""):
    """The keys that the published types do not have."""
    if isinstance(sent, dict) and isinstance(read, dict):
        for key, value in sent.items():
            if key in read:
                yield from dropped(value, read[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(sent, list) and isinstance(read, list):
        for place, (one, other) in enumerate(zip(sent, read, strict=True)):
            yield from dropped(one, other, f"{path}.{place}")


def verdicts(question):
    if "answers" in question:
        url, api, *how, number = question["answers"]
        ask = by_anthropic if api == "anthropic_messages" else by_openai
        return [judged(ask, url, *how) for _ in range(number)]
    api, requests = question["requests"]
    adapter = TypeAdapter(PARAMETERS[api])
    return [faults(adapter, request) for request in requests]


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(verdicts(json.loads(line))), flush=True)  # noqa: T201
