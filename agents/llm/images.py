"""Images in a request.

A message holds them as the chat-completions API has them, as parts of its content with a data URL,
in the result of the tool that gave them. Each adapter puts them where its API wants them.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.llm.request import ChatMessage

Part = dict[str, object]

IMAGE_TOKENS = 1_000  # estimated; providers count between 85 and some 1,600 for one
ATTACHED = "[the images of the tool results above, in order]"


def image_part(media_type: str, data: bytes) -> Part:
    url = f"data:{media_type};base64,{b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def parts_of(message: ChatMessage) -> list[Part]:
    """What a message's content is made of; nothing where it is plain text."""
    content = message.get("content")
    return content if isinstance(content, list) else []


def is_image(part: Part) -> bool:
    return part["type"] == "image_url"


def count_images(messages: list[ChatMessage]) -> int:
    return sum(is_image(part) for message in messages for part in parts_of(message))


def without_images(messages: list[ChatMessage]) -> list[ChatMessage]:
    """For a model that does not see: the texts name them."""
    return [text_alone(message) for message in messages]


def behind_results(messages: list[ChatMessage]) -> list[ChatMessage]:
    """In chat completions a tool's message is text alone, and nothing may stand between the results

    of one reply: so their images follow the last of them, in a message of the user.
    """
    sent: list[ChatMessage] = []
    waiting: list[Part] = []
    for message in [*messages, {}]:
        if waiting and message.get("role") != "tool":
            sent.append({"role": "user", "content": [text_part(ATTACHED), *waiting]})
            waiting = []
        if message.get("role") == "tool":
            waiting += filter(is_image, parts_of(message))
            message = text_alone(message)
        sent.append(message)
    return sent[:-1]


def text_part(text: str) -> Part:
    return {"type": "text", "text": text}


def text_alone(message: ChatMessage) -> ChatMessage:
    parts = parts_of(message)
    if not parts:
        return message
    texts = [str(part["text"]) for part in parts if part["type"] == "text"]
    return {**message, "content": "\n".join(texts)}
