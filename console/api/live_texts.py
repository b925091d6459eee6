"""Replies while they are being written, for readers of a conversation's stream of events.

Each piece says where in the message's text it begins: what a reader had from there on is replaced.
So a reader that was cut off, or came late, has the whole text with the first piece.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple, cast

from django.db.models import Q

from agents.db import in_db
from agents.events import Document
from agents.models import Message

MOST_KEPT = 50  # texts that a reader has, the newest


class Text(NamedTuple):
    kind: str
    text: str
    streaming: bool


class LiveTexts:
    """What one reader has of the texts of one conversation."""

    def __init__(self, conversation_id: int) -> None:
        self.conversation_id = conversation_id
        self.known: dict[int, Text] = {}

    async def being_written(self) -> str:
        """The texts that are growing now, as far as they are saved."""
        return self.frames_of(await in_db(read, self.conversation_id, Q(streaming=True)))

    async def after_events(self, events: Iterable[Document]) -> str:
        """The texts of the messages that these are about, as they are now."""
        subjects = [str(event["subject"]).partition(":") for event in events]
        ids = {int(id) for noun, _, id in subjects if noun == "message" and id.isdecimal()}
        return self.frames_of(await in_db(read, self.conversation_id, Q(pk__in=ids))) if ids else ""

    async def after_frame(self, frame: Document) -> str:
        """A frame has the text from a place up to which it is saved: more may be missing here.

        It may also come after the end of its message, or be of one that is written anew.
        """
        message_id, at, blocks = cast(
            tuple[int, int, list[tuple[int, str]]], (frame["message"], frame["at"], frame["blocks"])
        )
        text = "".join(block for _, block in blocks)
        known = self.known.get(message_id)
        if known is None or not known.streaming or len(known.text) < at:
            found = await in_db(read, self.conversation_id, Q(pk=message_id))
            known = found.get(message_id)
            if known is None or len(known.text) < at or not known.streaming:
                return self.frames_of(found)
        return self.frames_of({message_id: known._replace(text=known.text[:at] + text)})

    def frames_of(self, found: dict[int, Text]) -> str:
        """What is new in these, as frames of the stream."""
        frames = []
        for id, now in found.items():
            known = self.known.pop(id, Text(now.kind, "", True))
            # A row is behind the frames, and a frame may be behind the row.
            is_behind = now.streaming and known.text.startswith(now.text)
            self.known[id] = known if is_behind else now
            if is_behind or known == now:
                continue
            begin = shared_beginning(known.text, now.text)
            data = {
                "message": id,
                "kind": now.kind,
                "from": begin,
                "text": now.text[begin:],
                "done": not now.streaming,
            }
            frames.append(f"event: text\ndata: {json.dumps(data)}\n\n")
        for id in list(self.known)[:-MOST_KEPT]:
            del self.known[id]
        return "".join(frames)


def shared_beginning(one: str, other: str) -> int:
    """How many characters both begin with."""
    if other.startswith(one):
        return len(one)
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def read(conversation_id: int, wanted: Q) -> dict[int, Text]:
    """What models say and think, by message, in the order in which it was begun."""
    kinds = (Message.Kind.TEXT, Message.Kind.REASONING)
    rows = Message.objects.filter(
        wanted,
        conversation_id=conversation_id,
        role=Message.Role.ASSISTANT,
        kind__in=kinds,
        hidden=False,
    )
    columns = rows.order_by("seq").values_list("pk", "kind", "text", "streaming")
    return {pk: Text(str(kind), text, streaming) for pk, kind, text, streaming in columns}
