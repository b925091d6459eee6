"""Drawings that are remembered, as many as fit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class SizedCache(Generic[Key]):
    """The texts used last, up to a number of characters in all."""

    def __init__(self, most_characters: int) -> None:
        self.most_characters = most_characters
        self.characters = 0
        self.kept: OrderedDict[Key, str] = OrderedDict()
        self.lock = Lock()

    def get(self, key: Key) -> str | None:
        with self.lock:
            text = self.kept.get(key)
            if text is not None:
                self.kept.move_to_end(key)
            return text

    def __setitem__(self, key: Key, text: str) -> None:
        with self.lock:
            self.characters += len(text) - len(self.kept.pop(key, ""))
            self.kept[key] = text
            while self.characters > self.most_characters:
                _, oldest = self.kept.popitem(last=False)
                self.characters -= len(oldest)
