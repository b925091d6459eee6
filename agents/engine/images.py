"""Images in results of tools and in messages of a person: named by their key until it is known
which of them are sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agents.llm.images import Part, image_part, parts_of, text_part
from agents.llm.request import ChatMessage
from agents.models import Attachment

MOST_IMAGES = 8  # of a request, the newest ones
STORED = "stored_image"
ATTACHED_FILES = "Attached files, in the workspace"


def with_images(text: str, images: Iterable[int]) -> object:
    """The content of a message: its text, and behind it the images of these keys."""
    named = [{"type": STORED, STORED: key} for key in images]
    return [text_part(text), *named] if named else text


def with_files(text: str, files: Sequence[Attachment]) -> object:
    """A person's message: the text, where its files lie, and the images among them."""
    return with_images(text_with_files(text, files), [each.pk for each in files if each.is_shown])


def text_with_files(text: str, files: Sequence[Attachment]) -> str:
    """By their paths, so that a model can read them with the file tools."""
    if not files:
        return text
    paths = ", ".join(f"{each.path} ({each.size:,} bytes)" for each in files)
    return f"{text}\n\n{ATTACHED_FILES}: {paths}".strip()


def with_images_of(text: str, message: ChatMessage) -> object:
    """Another text with the images that came with this message."""
    named = [part for part in parts_of(message) if part["type"] == STORED]
    return [text_part(text), *named] if named else text


def images_in(messages: list[ChatMessage]) -> list[int]:
    """The keys of the images that are named, in order."""
    parts = [part for message in messages for part in parts_of(message)]
    return [key_of(part) for part in parts if part["type"] == STORED]


def key_of(part: Part) -> int:
    """0 where the part is none of ours."""
    return int(str(part.get(STORED) or 0))


def load_images(messages: list[ChatMessage]) -> list[ChatMessage]:
    """The newest images as data in place of their names. The texts say what the others were."""
    named = images_in(messages)
    if not named:
        return messages
    newest = Attachment.objects.filter(pk__in=named[-MOST_IMAGES:])
    loaded = {each.pk: image_part(each.media_type, bytes(each.data)) for each in newest}

    def content_of(parts: list[Part]) -> list[Part]:
        found = [loaded.get(key_of(part), part) for part in parts]
        return [part for part in found if part["type"] != STORED]

    return [
        {**message, "content": content_of(parts)} if (parts := parts_of(message)) else message
        for message in messages
    ]
