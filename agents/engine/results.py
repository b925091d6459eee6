"""What a chain comes to: the output of its last task, whatever the handler of that was."""

from __future__ import annotations

from agents.chains.schema import END
from agents.chains.template import Output, text_of
from agents.engine import persistence
from agents.engine.steps import TextAdded
from agents.models import Message, Turn
from agents.models.checkpoint import Checkpoint


def show_result(turn: Turn, output: Output, passed: Checkpoint) -> TextAdded | None:
    """Say the result in the conversation, unless a message shows it already.

    The place at the end is saved together with it, so that it is said once.
    """
    text = text_of(output)
    if output.get("message") or turn.checkpoint.get("ended") or not text.strip():
        turn.checkpoint |= passed  # saved with the end of the turn
        return None
    with persistence.fenced(turn):
        message = persistence.add_message(turn, "assistant", Message.Kind.TEXT, text)
        persistence.checkpoint(turn, **passed)
    return TextAdded(message.pk, text)


def result_of(turn: Turn) -> str:
    """The result of the turn's chain.

    Of one that did not reach its end, or ended in a message without text, the last thing said.
    """
    if turn.checkpoint.get("task") == END:
        outputs: dict[str, Output] = turn.checkpoint.get("variables", {})
        last_output = outputs.get(str(turn.checkpoint.get("previous")), {})
        if text_of(last_output) or not last_output.get("message"):
            return text_of(last_output)
    return last_text(turn)


def last_text(turn: Turn) -> str:
    """What the model said last in a turn; nothing where it only called tools."""
    texts = turn.messages.filter(role="assistant", kind=Message.Kind.TEXT).order_by("-seq")
    return next((text for text in texts.values_list("text", flat=True) if text.strip()), "")
