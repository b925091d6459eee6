"""What became of something that a person typed, and the notices that answer it without a model."""

from __future__ import annotations

from dataclasses import dataclass

from agents import actions as talk
from agents.attachments import Files
from agents.errors import Refused
from agents.models import Conversation, Message, Turn


@dataclass(frozen=True)
class ChatResult:
    """The person's message, the turn that will answer it, and the conversation to go on in.

    That is another one after /new, whose message is not stored. `refused` is why a message that
    was to start or cancel a plan did nothing, `notice` the text of a notice in place of a reply.
    """

    message: Message
    turn: Turn | None
    conversation: Conversation
    refused: Refused | None = None
    notice: str = ""


def typed(
    c: Conversation, text: str, by: str, command: str, *, stays: bool = False, files: Files = ()
) -> Message:
    """A message that no model answers; it `stays` where it decided about a plan."""
    meta: dict[str, object] = {"command": command}
    if files:
        meta["attachments"] = list(files)
    kind, role = Message.Kind.TEXT, "user"
    return talk.add_message(c, kind, text, role, meta=meta, by=by, stays=stays)


def with_notice(c: Conversation, message: Message, notice: str, **meta: object) -> ChatResult:
    talk.add_message(c, Message.Kind.NOTICE, notice, meta=dict(meta))
    return ChatResult(message, None, c, notice=notice)


def with_refusal(c: Conversation, message: Message, refusal: Refused) -> ChatResult:
    talk.add_message(c, Message.Kind.NOTICE, str(refusal))
    return ChatResult(message, None, c, refusal, str(refusal))
