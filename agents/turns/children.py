"""A conversation of one agent with another: how it begins, bubbles up, and answers its call."""

from __future__ import annotations

from collections.abc import Callable

from agents import events
from agents.models import Conversation, Message, ToolCall, Turn, TurnState
from agents.turns import journal
from agents.turns.endings import go_on

Opener = Callable[[Conversation, str, Turn], bool]

_openers: list[Opener] = []


def register_opener(opener: Opener) -> None:
    """Plug in a function that may begin a child conversation in its own way; True if it did."""
    _openers.append(opener)


def open_child(child: Conversation, task: str, parent: Turn, config: dict[str, object]) -> None:
    """The child's first turn: by a plug-in, or a plain answer."""
    if any(opener(child, task, parent) for opener in _openers):
        return
    answering = Turn.objects.create(conversation=child, config=config)
    journal.add_message(answering, "user", Message.Kind.TEXT, task)
    events.record(child, "turn.queued", f"turn:{answering.pk}")


def parent_waits(conversation: Conversation) -> bool:
    """Whether somebody still waits for what this conversation comes to."""
    call = conversation.parent_call
    return call is not None and call.state == ToolCall.State.RUNNING


def deliver(conversation: Conversation, text: str, *, failed: bool = False) -> None:
    """The result of the call this conversation answers; the parent's turn goes on."""
    call = conversation.parent_call
    if call is None or not parent_waits(conversation):
        return
    state = ToolCall.State.FAILED if failed else ToolCall.State.DONE
    journal.close_call(call, state, text or "(no answer)")
    go_on(call.turn)


def answer_parent(turn: Turn) -> None:
    """A child's turn that is over answers with its last words."""
    if turn.is_open or turn.conversation.parent_call_id is None:
        return
    if turn.state != TurnState.DONE:
        why = turn.error or "It was stopped."
        deliver(turn.conversation, f"The agent did not finish: {why}", failed=True)
        return
    texts = turn.messages.filter(role="assistant", kind=Message.Kind.TEXT).exclude(text="")
    last = texts.order_by("seq").last()
    deliver(turn.conversation, last.text if last else "")


def ancestors(conversation: Conversation) -> list[Turn]:
    """The turns that wait for this conversation, the nearest first; the last is a person's."""
    turns: list[Turn] = []
    call = conversation.parent_call
    while call is not None:
        turns.append(call.turn)
        call = call.turn.conversation.parent_call
    return turns


def descendants(turn: Turn) -> list[Turn]:
    """The open turns of all agents that work for this one."""
    found: list[Turn] = []
    level = [turn.pk]
    while level:
        children = Turn.objects.filter(
            conversation__parent_call__turn__in=level,
            state__in=[TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING],
        )
        rows = list(children.select_related("conversation"))
        found += rows
        level = [row.pk for row in rows]
    return found


def bubble(turn: Turn, kind: str, text: str, **meta: object) -> None:
    """What only a person can settle is said where the person is."""
    above = ancestors(turn.conversation)
    if above:
        journal.add_message(above[-1], "assistant", kind, text, meta=dict(meta))
