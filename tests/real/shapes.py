"""The replies of tests/fake_script.py as Anthropic and Gemini stream them.

Anthropic: platform.claude.com/docs/en/build-with-claude/streaming. Gemini:
ai.google.dev/api/generate-content, with the signatures of ai.google.dev/gemini-api/docs/thought-signatures.
"""

import json

SIGNATURE = "c2lnbmF0dXJl"


def as_openai(reply):
    """As the fake server itself does it."""
    return reply


def as_anthropic(reply, number=1):
    blocks = []
    if words := reply.get("reasoning"):
        blocks.append(
            (
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": words},
                {"type": "signature_delta", "signature": SIGNATURE},
            )
        )
    if words := reply.get("text"):
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": words}))
    for place, (name, arguments) in enumerate(reply.get("calls", [])):
        begun = {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        blocks.append((begun, delta))
    usage = {"input_tokens": 90, "output_tokens": 1}
    message = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-opus-5",
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    events = [{"type": "message_start", "message": message}]
    for index, (begun, *deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        for delta in deltas:
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    reason = "tool_use" if reply.get("calls") else "end_turn"
    events.append({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 7}})  # fmt: skip
    events.append({"type": "message_stop"})
    lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events]
    return streaming(reply, lines, ends_with=2)


def as_gemini(reply, number=1):
    """Its newest models sign the first call of a reply, and refuse the next request without it."""
    parts = []
    if words := reply.get("reasoning"):
        parts.append({"text": words, "thought": True})
    if words := reply.get("text"):
        parts.append({"text": words})
    for place, (name, arguments) in enumerate(reply.get("calls", [])):
        signed = {} if place else {"thoughtSignature": SIGNATURE}
        parts.append({"functionCall": {"name": name, "args": arguments}, **signed})
    usage = {"promptTokenCount": 90, "candidatesTokenCount": 7, "totalTokenCount": 97}
    more = {"usageMetadata": usage, "modelVersion": "gemini-3-pro", "responseId": f"r{number}"}

    def chunk(*contents, **end):
        content = {"role": "model", "parts": list(contents)}
        return {"candidates": [{"content": content, "index": 0, **end}], **more}

    chunks = [*(chunk(part) for part in parts), chunk({"text": ""}, finishReason="STOP")]
    lines = [f"data: {json.dumps(each)}\r\n\r\n" for each in chunks]
    return streaming(reply, lines, ends_with=1)


def streaming(reply, lines, ends_with):
    """What never ends lacks its last `ends_with` events."""
    whole = lines[:-ends_with] if "hang" in reply else lines
    more = {key: reply[key] for key in ("hang", "wait") if key in reply}
    return {"raw": "".join(whole), "headers": {"Content-Type": "text/event-stream"}, **more}
