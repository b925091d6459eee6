"""What an agent asked in a chat, and waits for."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

from agents.models import ToolCall


@dataclass(frozen=True)
class Asked:
    """Calls that wait for leave, and a question that waits for an answer."""

    calls: list[ToolCall]
    question: str = ""

    @property
    def shape(self) -> str:
        return "question" if self.question else "waiting"

    @property
    def words(self) -> str:
        if self.calls and not self.question:
            return gettext("Waiting for you: {tool}").format(tool=self.calls[0].tool)
        return gettext("Waiting for your answer")

    def __bool__(self) -> bool:
        return bool(self.calls or self.question)
