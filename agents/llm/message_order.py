"""The order in which models take messages: instructions first, then a person's words."""

from __future__ import annotations

from agents.llm.reply import as_text
from agents.llm.request import ChatMessage

# What begins a conversation whose beginning was left out.
LEFT_OUT = "(What was said before is left out here.)"
SEEN_NEXT = "(I look at what follows.)"


def folded(messages: list[ChatMessage]) -> list[ChatMessage]:
    """System messages only at the beginning: what is said later goes before the user's next words.

    Many chat templates know no other place for them.
    """
    whole: list[ChatMessage] = []
    waiting = ""
    for message in messages:
        if message["role"] == "system" and whole and whole[-1]["role"] != "system":
            waiting = as_text(message.get("content"))
        elif waiting and message["role"] == "user":
            before, content = f"<context>\n{waiting}\n</context>\n\n", message.get("content")
            parts = [
                {"type": "text", "text": before},
                *(content if isinstance(content, list) else []),
            ]
            joined = parts if len(parts) > 1 else f"{before}{as_text(content)}"
            whole.append({**message, "content": joined})
            waiting = ""
        else:
            whole.append(message)
    return [*whole, {"role": "user", "content": waiting}] if waiting else whole


def with_results_answered(messages: list[ChatMessage]) -> list[ChatMessage]:
    """With a word of the model between the results of its calls and a user's words, or images."""
    whole: list[ChatMessage] = []
    for message in messages:
        if is_unanswered(whole, message):
            whole.append({"role": "assistant", "content": SEEN_NEXT})
        whole.append(message)
    return whole


def is_unanswered(before: list[ChatMessage], message: ChatMessage) -> bool:
    return bool(before) and (before[-1]["role"], message["role"]) == ("tool", "user")


def begun_by_user(messages: list[ChatMessage]) -> list[ChatMessage]:
    """Behind the system messages a user's is first, as Gemini and many chat templates want.

    The oldest messages of a long conversation are left out, wherever that cuts it.
    """
    first = next((n for n, each in enumerate(messages) if each["role"] != "system"), None)
    if first is None or messages[first]["role"] != "assistant":
        return messages
    return [*messages[:first], {"role": "user", "content": LEFT_OUT}, *messages[first:]]
