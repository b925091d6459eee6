"""Everything a running turn writes. Each write is fenced by the epoch it was claimed with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Unpack

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.sql import UpdateQuery
from django.utils import timezone

from agents import events, search
from agents.actors import Actor
from agents.errors import TurnLost, TurnStopped, TurnWaits
from agents.models import (
    Attachment,
    Conversation,
    FileChange,
    Message,
    Progress,
    StoredImage,
    ToolCall,
    Turn,
    TurnState,
)
from agents.models.turn import Checkpoint
from agents.statements import insert, prepared, store, updating
from agents.timestamps import timestamp

if TYPE_CHECKING:
    from agents.llm.reply import Reply
    from agents.llm.request import ModelRequest
    from agents.tools import file_changes
    from agents.tools.images import Image


UNSETTLED = ["", ToolCall.State.ASKED, ToolCall.State.RUNNING]


@prepared
def own_claim(turn: int, epoch: int) -> QuerySet[Conversation, tuple[bool, bool]]:
    """Locks the conversation and then the turn: from left to right, as PostgreSQL joins them."""
    held = Conversation.objects.filter(
        turns__pk=turn, turns__epoch=epoch, turns__state=TurnState.RUNNING
    )
    wishes = held.values_list("turns__stop_requested", "turns__pause_requested")
    return wishes.select_for_update(no_key=True)


@prepared
def change_of_message(message: int, seq: int) -> UpdateQuery:
    return updating(Message.objects.filter(pk=message), changed_seq=seq)


@contextmanager
def fenced(turn: Turn) -> Iterator[None]:
    """A transaction that commits only while this claim of the turn holds."""
    with transaction.atomic():
        wishes = own_claim.first(turn=turn.pk, epoch=turn.epoch)
        if wishes is None:
            raise TurnLost
        turn.stop_requested, turn.pause_requested = wishes
        yield


def check_stop_requested(turn: Turn) -> None:
    """Before each model call and each tool: does the person want it to go on?"""
    if turn.stop_requested:
        raise TurnStopped
    if turn.pause_requested:
        raise TurnWaits(Turn.WaitingFor.PAUSE)


def checkpoint(turn: Turn, **changes: Unpack[Checkpoint]) -> None:
    """Remember what a resumed turn needs; within a fenced transaction."""
    turn.checkpoint = {**turn.checkpoint, **changes}
    store(turn, "checkpoint")


def save_checkpoint(turn: Turn, **changes: Unpack[Checkpoint]) -> None:
    with fenced(turn):
        checkpoint(turn, **changes)


def start_message(turn: Turn, kind: str = Message.Kind.TEXT) -> Message:
    """The message that is being written; after a crash or a retry, the unfinished one anew."""
    with fenced(turn):
        last = None
        if turn.epoch > 1 or turn.checkpoint.get("writing"):  # the first try finds none
            mine = turn.messages.filter(role="assistant", kind=kind)
            last = mine.filter(meta__unfinished=True).last()
        turn.checkpoint["writing"] = True
        if last is not None:
            last.text, last.streaming = "", True
            last.changed_seq = events.record(
                turn.conversation_id, "message.updated", f"message:{last.pk}"
            )
            last.save(update_fields=["text", "streaming", "changed_seq"])
            return last
        return add_message(turn, "assistant", kind, streaming=True, meta={"unfinished": True})


def add_message(
    turn: Turn,
    role: str,
    kind: str,
    text: str = "",
    *,
    streaming: bool = False,
    meta: dict[str, object] | None = None,
) -> Message:
    """Append a message of this turn."""
    message = Message(turn=turn, role=role, kind=kind, text=text, streaming=streaming)
    message.meta = meta or {}
    return put(message, turn.conversation_id)


@transaction.atomic(savepoint=False)
def put(message: Message, conversation_id: int, by: Actor = "") -> Message:
    """Store a new message; the number of the event that adds it is its place.

    Both at once: a reader that has seen the number looks for the message no more.
    """
    subject = f"turn:{message.turn_id}" if message.turn_id else ""
    seq = events.record(conversation_id, "message.added", subject, by)
    message.conversation_id, message.seq, message.changed_seq = conversation_id, seq, seq
    insert(message)
    search.index_message(message)
    return message


@transaction.atomic(savepoint=False)
def touch(message: Message | int, conversation_id: int, type: str = "message.updated") -> None:
    """Tell readers that a message, or what hangs on it, is to be read again."""
    pk = message if isinstance(message, int) else message.pk
    seq = events.record(conversation_id, type, f"message:{pk}")
    change_of_message.update(message=pk, seq=seq)


def save_text(turn: Turn, message_id: int, text: str) -> None:
    """Keep what was streamed so far. Readers have it already: no event."""
    with fenced(turn):
        Message.objects.filter(pk=message_id).update(text=text)


def close_message(turn: Turn, message: Message, text: str, **meta: object) -> None:
    message.text, message.streaming = text, False
    message.meta = {**message.meta, **meta}
    message.meta.pop("unfinished", None)
    message.changed_seq = events.record(
        turn.conversation_id, "message.updated", f"message:{message.pk}"
    )
    store(message, "text", "streaming", "meta", "changed_seq")
    search.index_message(message)


def finish_reply(
    turn: Turn, message: Message, request: ModelRequest, reply: Reply, cost: Decimal | None
) -> None:
    """The model has answered: text, calls and usage. `cost` is in US dollars."""
    if reply.calls or reply.wanted_back:
        origin = {"provider": request.endpoint.provider, "model": request.model}
        message.wanted_back = {**origin, **reply.wanted_back}
        store(message, "wanted_back")
    calls = [
        ToolCall(
            message=message,
            turn=turn,
            call_id=call.id,
            position=position,
            tool=call.name[:200],
            arguments=call.arguments,
            reason=call.broken or "",
        )
        for position, call in enumerate(reply.calls)
    ]
    if calls:
        ToolCall.objects.bulk_create(calls)
    at_limit = {"at_limit": True} if reply.finish_reason == "length" and reply.text else {}
    used = reply.tokens_in + reply.tokens_out
    name = f"{request.endpoint.provider}/{request.model}"
    close_message(turn, message, reply.text, tokens=used, model=name, **at_limit)
    turn.checkpoint.pop("writing", None)
    count_reply(turn, reply, cost)


def count_reply(turn: Turn, reply: Reply, cost: Decimal | None) -> None:
    """A reply that came whole; within the transaction that also stores where the chain goes."""
    resolve_error(turn)
    count_usage(turn, reply, cost)


def count_lost_reply(turn: Turn, reply: Reply, cost: Decimal | None) -> None:
    """A reply that broke off: what it used until then is paid for, and counts for budgets."""
    with fenced(turn):
        count_usage(turn, reply, cost)


def count_usage(turn: Turn, reply: Reply, cost: Decimal | None) -> None:
    if cost is not None:
        turn.cost = (turn.cost or 0) + cost
    turn.usage_estimated = turn.usage_estimated or reply.estimated
    turn.tokens_in += reply.tokens_in
    turn.tokens_out += reply.tokens_out
    turn.tokens_cached += reply.cached_tokens
    store(turn, "tokens_in", "tokens_out", "tokens_cached", "cost", "usage_estimated")


def resolve_error(turn: Turn, *, stopped: bool = False) -> None:
    """The model answers again, or is not asked again: the card that counted the tries says so."""
    if turn.checkpoint.pop("try", 0):
        resolve_error_cards(turn, stopped=stopped)


def resolve_error_cards(turn: Turn, *, stopped: bool = False) -> None:
    """Their error is over, or another card takes their place, or the turn was `stopped` before it
    was tried again: none offers a retry."""
    for message in turn.messages.filter(kind=Message.Kind.ERROR, meta__resolved=False):
        message.meta = {**message.meta, "resolved": True, "stopped": stopped}
        message.save(update_fields=["meta"])
        touch(message, turn.conversation_id)


def begin_call(turn: Turn, call: ToolCall) -> None:
    """A call that a person has just allowed is carried out even if the turn then pauses."""
    with fenced(turn):
        if turn.stop_requested or not call.decision:
            check_stop_requested(turn)
        if call.state != ToolCall.State.RUNNING:  # else it is repeated: what it did before counts
            call.state, call.started_at = ToolCall.State.RUNNING, timezone.now()
        call.progress = None
        store(call, "state", "writes", "started_at", "progress")
        touch(call.message_id, turn.conversation_id, "tool.started")


def save_progress(turn: Turn, call_id: int, words: str) -> None:
    """How far a call is, in place of what it said before. Open pages hear of it without an event,
    and with the end of the call it is gone."""
    progress: Progress = {"words": words, "at": timestamp(timezone.now())}
    with fenced(turn):
        running = ToolCall.objects.filter(pk=call_id, state=ToolCall.State.RUNNING)
        running.update(progress=progress)


def keep_file_change(turn: Turn, call: ToolCall, change: file_changes.FileChange) -> None:
    """What the call is about to replace, before it does. Carried out once more after a crash, it
    finds what it wrote itself: then what was there first stays."""
    with fenced(turn):
        kept = FileChange.objects.filter(call=call)
        if not (change.changes_nothing and kept.exists()):
            FileChange.objects.update_or_create(call=call, defaults=asdict(change))


def ask_for_call(turn: Turn, call: ToolCall, identity: str) -> None:
    """Stop at a call that a person has to allow; `identity` is that of the tool."""
    with fenced(turn):
        call.state, call.asked_at = ToolCall.State.ASKED, timezone.now()
        call.asked_as = identity
        call.save(update_fields=["state", "asked_at", "asked_as"])
        touch(call.message_id, turn.conversation_id, "tool.asked")


def end_call(
    turn: Turn,
    call: ToolCall,
    state: str,
    result: str,
    images: Sequence[Image] = (),
    **changes: Unpack[Checkpoint],
) -> None:
    """`changes` of the checkpoint that belong to it."""
    with fenced(turn):
        if images:
            call.images = [stored_image(turn.conversation_id, image) for image in images]
            store(call, "images")
        close_call(call, state, result)
        if changes:
            checkpoint(turn, **changes)


def stored_image(conversation_id: int, image: Image) -> StoredImage:
    kept = Attachment.objects.create(
        conversation_id=conversation_id, media_type=image.media_type, data=image.data
    )
    return {
        "attachment": kept.pk,
        "media_type": image.media_type,
        "size": len(image.data),
        "width": image.width,
        "height": image.height,
    }


def show_images(call: ToolCall, files: Iterable[Attachment]) -> None:
    """Those of a person's files that models can be shown, as images of the call's result."""
    images: list[StoredImage] = [
        {
            "attachment": each.pk,
            "media_type": each.media_type,
            "size": each.size,
            "width": each.width,
            "height": each.height,
        }
        for each in files
        if each.width is not None and each.height is not None
    ]
    if images:
        call.images = images
        store(call, "images")


def close_call(call: ToolCall, state: str, result: str) -> None:
    call.state, call.result, call.finished_at = state, result, timezone.now()
    call.progress = None
    store(call, "state", "result", "finished_at", "progress")
    touch(call.message_id, call.turn.conversation_id, "tool.finished")


def interrupt_calls(turn: Turn, no_result: str, not_run: str) -> None:
    """Calls that were in flight when the turn ended did not report back; others never began."""
    for call in turn.tool_calls.filter(state__in=UNSETTLED):
        close_call(call, ToolCall.State.INTERRUPTED, no_result if call.started_at else not_run)
