"""What open pages see before there is an event: text while it is being written, cut into blocks and
sent at most 25 times a second, and how far a tool call is, twice a second.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol, cast

from channels.layers import get_channel_layer

from agents.db import AWAY
from agents.errors import TurnLost
from agents.events import text_group_of
from agents.tools import progress

FRAME_SECONDS = 0.04
FRAME_CHARACTERS = 4_000  # a longer frame is sent less often, so that what is sent stays the same
SAVE_SECONDS = 1.0
PROGRESS_SECONDS = 0.5

FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`]*$)|~{3,})")

Save = Callable[[int, str], Awaitable[None]]


class Layer(Protocol):
    """The channel layer, as console.live has it."""

    async def group_send(self, group: str, message: dict[str, object]) -> None: ...


def split_blocks(text: str) -> list[str]:
    """Cut markdown at blank lines outside code fences; joined again they are the same text."""
    blocks: list[str] = []
    current: list[str] = []
    fence, is_blank = "", True
    for line in text.splitlines(keepends=True):
        current.append(line)
        if fence or line.strip():
            fence, is_blank = fence_after(line, fence), False
        elif not is_blank:
            blocks.append("".join(current))
            current, is_blank = [], True
    if current:
        blocks.append("".join(current))
    return blocks


def fence_after(line: str, fence: str) -> str:
    """The code fence that is open behind this line, or nothing."""
    match = FENCE.match(line)
    if not match:
        return fence
    mark = match.group(1)
    if not fence:
        return mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not line[match.end() :].strip()
    return "" if closes else fence


def frame_seconds(characters: int) -> float:
    """Until the next frame, which carries that much text."""
    return FRAME_SECONDS * max(1, characters / FRAME_CHARACTERS)


class LiveText:
    """Shows the text of one message while it grows, and saves it every second.

    A frame carries every block touched since the last save, so that a reader who has the saved
    row and one frame has everything. The first token goes out at once; a model that falls silent
    leaves nothing unsent and nothing unsaved.
    """

    def __init__(self, conversation_id: int, message_id: int, save: Save) -> None:
        self.group = text_group_of(conversation_id)
        self.message_id = message_id
        self.save = save
        self.head = ""  # blocks that are closed and saved
        self.parts: list[str] = []  # what came after them
        self.first_open = 0
        self.sent_at = 0.0  # on the loop's clock
        self.sending: asyncio.Task[None] | None = None
        self.saving: asyncio.Task[None] | None = None

    @property
    def text(self) -> str:
        return self.head + "".join(self.parts)

    @property
    def pause(self) -> float:
        """Seconds between two frames."""
        return frame_seconds(sum(map(len, self.parts)))

    async def add(self, text: str) -> None:
        self.parts.append(text)
        if self.sending is None or self.sending.done():  # after what else is there already
            now = asyncio.get_running_loop().time()
            wait = max(0.0, self.sent_at + self.pause - now)
            self.sent_at = now + wait
            self.sending = asyncio.create_task(self._later(wait, self.send))
        if self.saving is None or self.saving.done():
            self.saving = asyncio.create_task(self._later(SAVE_SECONDS, self.keep))

    async def send(self) -> None:
        layer = cast("Layer | None", get_channel_layer())
        if layer is None:
            return
        blocks = list(enumerate(split_blocks("".join(self.parts)), self.first_open))
        frame = {
            "type": "text.streamed",
            "message": self.message_id,
            "at": len(self.head),
            "blocks": blocks,
        }
        await layer.group_send(self.group, frame)

    async def keep(self) -> None:
        """Save the text; what is saved need not be sent again, but for the block still open.

        One more frame closes the gap for a reader who came between two saves and heard nothing
        since, because the model fell silent.
        """
        length = len(self.parts)
        await self.save(self.message_id, self.text)
        await self.send()
        *closed, last = split_blocks("".join(self.parts[:length])) or [""]
        self.head += "".join(closed)
        self.parts = [last, *self.parts[length:]]
        self.first_open += len(closed)

    async def close(self) -> None:
        """No frame and no save of this text comes after this."""
        for task in (self.sending, self.saving):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait([task])

    async def _later(self, seconds: float, action: Callable[[], Awaitable[None]]) -> None:
        await asyncio.sleep(seconds)
        with suppress(TurnLost):  # whoever lost the turn learns it at its next step
            await action()


class LiveProgress:
    """Shows what a call said last of how far it is. What it says meanwhile is passed over."""

    def __init__(
        self, conversation_id: int, call_id: int, save: Callable[[str], Awaitable[None]]
    ) -> None:
        self.group = text_group_of(conversation_id)
        self.call_id = call_id
        self.save = save
        self.words = ""
        self.is_news = False
        self.telling: asyncio.Task[None] | None = None

    def hear(self, words: str) -> None:
        self.words, self.is_news = words, True
        if self.telling is None or self.telling.done():
            self.telling = asyncio.create_task(self.tell())

    async def tell(self) -> None:
        """Saved first: who reads the row after this has nothing older than the pages show."""
        while self.is_news:
            self.is_news = False
            with suppress(TurnLost, *AWAY):
                await self.save(self.words)
                await self.send()
            await asyncio.sleep(PROGRESS_SECONDS)

    async def send(self) -> None:
        if (layer := get_channel_layer()) is not None:
            frame = {"type": "call.progress", "call": self.call_id, "words": self.words}
            await layer.group_send(self.group, frame)

    async def close(self) -> None:
        """Nothing is shown of it after this."""
        if self.telling is not None:
            self.telling.cancel()
            await asyncio.wait([self.telling])


@asynccontextmanager
async def live_progress(
    conversation_id: int, call_id: int, save: Callable[[str], Awaitable[None]]
) -> AsyncIterator[None]:
    """What is called in here may say how far it is."""
    live = LiveProgress(conversation_id, call_id, save)
    try:
        with progress.listening(live.hear):
            yield
    finally:
        await live.close()
