"""How a turn leaves `running`: over, waiting, or back in the queue. Each is one transaction."""

from __future__ import annotations

import random
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from agents import events, persistence, search
from agents.actors import Actor
from agents.db import clock
from agents.engine.handlers import handler_of
from agents.engine.prompt import NO_RESULT, NOT_RUN
from agents.engine.usage import count_time, rest
from agents.errors import TurnFailed, TurnWaits
from agents.events import lock_conversation, wake_after_commit
from agents.llm.errors import ModelError
from agents.models import Message, ToolCall, Turn, TurnState
from agents.models.turn import Checkpoint
from agents.statements import prepared, store
from agents.stored_text import gettext

MAX_TRIES = 5  # of one model call
TRIES = {"bad_call": 2}  # where more would be no use
LONGEST_WAIT = 120.0  # seconds between two tries, whatever the server asks for

# The failure classes of Attempt, by the kind of a model's error.
CLASSES = {"busy": "capacity", "too_long": "logic", "bad_request": "logic"}


def end(turn: Turn, state: TurnState, error_class: str = "", error: str = "") -> None:
    with persistence.fenced(turn):
        close_turn(turn, state, error_class, error)


def close_turn(turn: Turn, state: TurnState, error_class: str = "", error: str = "") -> None:
    """The end of a turn, in the caller's transaction: nothing of it is left half-done."""
    count_time(turn)
    *unfinished, is_followed = open_work.first(turn=turn.pk) or (True, True, True, True)
    close_open_work(turn, *unfinished)
    persistence.resolve_error(turn, stopped=state == TurnState.STOPPED)
    turn.state, turn.error_class, turn.error = state, error_class, error
    turn.waiting_for, turn.lease_until, turn.not_before = "", None, None
    turn.finished_at = timezone.now()
    ended = ("state", "error_class", "error", "waiting_for", "lease_until", "not_before")
    store(turn, *ended, "finished_at", "checkpoint")
    handler_of(turn).settle(turn)
    events.record(turn.conversation_id, "turn.ended", f"turn:{turn.pk}", state=state)
    if is_followed:  # its lane is free for the next one
        wake_after_commit()


def close_open_work(turn: Turn, streaming: bool, calling: bool, called_agents: bool) -> None:
    """A turn that ends in the middle leaves text, calls and other agents' work; most leave none.

    Text that broke off stays as it was read, and says so, or that it was cleared meanwhile. What
    other agents do for it ends too.
    """
    if called_agents:
        for child in Turn.objects.filter(
            conversation__parent_call__turn=turn, state__in=Turn.OPEN_STATES
        ):
            request_stop(child, "")
    if streaming:
        for message in turn.messages.filter(streaming=True).select_related("conversation"):
            message.streaming = False
            is_cleared = message.seq <= message.conversation.cleared_seq
            message.meta = {**message.meta, "broken_off": True, "cleared": is_cleared}
            message.save(update_fields=["streaming", "meta"])
            search.index_message(message)
            persistence.touch(message, turn.conversation_id)
    if calling:
        persistence.interrupt_calls(turn, NO_RESULT, NOT_RUN)


@prepared
def open_work(turn: int) -> QuerySet[Turn, tuple[bool, bool, bool, bool]]:
    """Text, calls and other agents' work that a turn leaves, and whether another waits behind it.

    Whoever queues one locks the conversation first, as this transaction has: none is missed.
    """
    calls = ToolCall.objects.filter(turn=OuterRef("pk"))
    same_lane = Turn.objects.filter(conversation=OuterRef("conversation"), lane=OuterRef("lane"))
    return Turn.objects.filter(pk=turn).values_list(
        Exists(Message.objects.filter(turn=OuterRef("pk"), streaming=True)),
        Exists(calls.filter(state__in=persistence.UNSETTLED)),
        Exists(calls.filter(tool="run_agent")),
        Exists(same_lane.filter(state=TurnState.QUEUED).exclude(pk=OuterRef("pk"))),
    )


@transaction.atomic
def request_stop(turn: Turn, by: Actor) -> None:
    """Stop a turn: at once when no worker has it, else by the worker, which is woken at once."""
    lock_conversation(turn.conversation_id)
    rows = Turn.objects.select_for_update(no_key=True, of=("self",))
    turn = rows.select_related("conversation").get(pk=turn.pk)
    if turn.state == TurnState.RUNNING:
        Turn.objects.filter(pk=turn.pk).update(stop_requested=True)
        events.record(turn.conversation, "turn.stopping", f"turn:{turn.pk}", by)
    elif turn.is_open:
        close_turn(turn, TurnState.STOPPED)


def fail(turn: Turn, failure: TurnFailed) -> None:
    """The turn is over without success; the conversation says why and what to do."""
    with persistence.fenced(turn):
        meta = {
            "title": failure.title or gettext("This did not work"),
            "advice": failure.advice,
            "remedy": failure.remedy,
            "words": failure.words,
            "retry_helps": failure.error_class != "logic" or not failure.remedy,
            "resolved": False,
        }
        reset_retries(turn)
        persistence.add_message(turn, "system", Message.Kind.ERROR, str(failure), meta=meta)
        close_turn(turn, TurnState.FAILED, failure.error_class, str(failure))


def reset_retries(turn: Turn) -> None:
    """The card that counted tries gives way to the final one."""
    turn.checkpoint.pop("try", None)
    persistence.resolve_error_cards(turn)


def suspend(turn: Turn, wait: TurnWaits) -> None:
    """Wait in place, without a lease and without a worker; not once it is to be stopped."""
    with persistence.fenced(turn):
        if turn.stop_requested:
            close_turn(turn, TurnState.STOPPED)
            return
        because = wait.because
        if wait.waiting_for == Turn.WaitingFor.PAUSE:
            if not because and not turn.pause_requested:  # resumed before this could be written
                return_to_queue(turn)
                return
            # A person's pause comes before a limit; any other wait it outlasts.
            because = "" if turn.pause_requested else because
            turn.pause_requested = False
        persistence.checkpoint(turn, because=because)
        count_time(turn)
        turn.state, turn.waiting_for = TurnState.WAITING, wait.waiting_for
        turn.lease_until = None
        turn.save(update_fields=["state", "waiting_for", "lease_until", "pause_requested"])
        if wait.waiting_for != Turn.WaitingFor.CHILD:
            rest(turn)
        handler_of(turn).settle(turn)
        events.record(
            turn.conversation_id, "turn.waiting", f"turn:{turn.pk}", what=wait.waiting_for
        )


def hold(turn: Turn, *, counts: bool) -> None:
    """A queued turn waits in place until it is resumed, and is then tried at once.

    `counts` whether the time until then is its own.
    """
    turn.state, turn.waiting_for, turn.not_before = TurnState.WAITING, Turn.WaitingFor.PAUSE, None
    turn.counted_at = clock() if counts else None
    turn.checkpoint = {**turn.checkpoint, "because": ""}
    turn.save(update_fields=["state", "waiting_for", "not_before", "counted_at", "checkpoint"])


def requeue(turn: Turn) -> bool:
    """Put a waiting turn back into the queue at its checkpoint; False if it was not waiting."""
    count_time(turn)
    moved = Turn.objects.filter(pk=turn.pk, state=TurnState.WAITING).update(
        state=TurnState.QUEUED, waiting_for="", not_before=None
    )
    if moved:
        events.record(turn.conversation_id, "turn.queued", f"turn:{turn.pk}")
        handler_of(turn).resume(turn)
    return bool(moved)


def model_failed(turn: Turn, error: ModelError) -> None:
    """Try again later while that may help, at most five times; else the turn has failed.

    Until the next try it is back in the queue, with a card that says when.
    """
    if not may_try_later(turn, error):
        if not error.transient:
            turn.checkpoint["final"] = True  # trying the same again would not help
        error_class = CLASSES.get(error.kind, "transient" if error.transient else "logic")
        failure = TurnFailed(
            error_class, error.detail, error.sentence, error.advice, error.remedy, error.details
        )
        fail(turn, failure)
        return
    tries = int(turn.checkpoint.get("try", 1))
    with persistence.fenced(turn):
        if turn.stop_requested:
            close_turn(turn, TurnState.STOPPED)
            return
        next_try: Checkpoint = {"try": tries + 1}
        persistence.checkpoint(turn, **next_try)
        if turn.pause_requested:  # then it is tried again at once when it is resumed
            show_retry(turn, error, tries + 1)
            suspend(turn, TurnWaits(Turn.WaitingFor.PAUSE))
            return
        turn.not_before = clock() + timedelta(seconds=delay(error, tries))
        count_time(turn)
        turn.state, turn.lease_until = TurnState.QUEUED, None
        turn.save(update_fields=["not_before", "state", "lease_until"])
        show_retry(turn, error, tries + 1)
        handler_of(turn).settle(turn)
        wake_after_commit()


def may_try_later(turn: Turn, error: ModelError) -> bool:
    return error.transient and int(turn.checkpoint.get("try", 1)) < tries_of(error)


def tries_of(error: ModelError) -> int:
    return TRIES.get(error.kind, MAX_TRIES)


def delay(error: ModelError, tries: int) -> float:
    """Seconds: what the server asks for, else 1, 2, 4, 8 times the base with up to half more."""
    if error.retry_after is not None:
        return min(max(error.retry_after, 0.0), LONGEST_WAIT)
    base = float(settings.MODEL_RETRY_BASE) * float(2 ** (tries - 1))
    return min(base * random.uniform(1, 1.5), LONGEST_WAIT)


def show_retry(turn: Turn, error: ModelError, number: int) -> None:
    meta = {
        "title": error.sentence,
        "advice": error.advice,
        "remedy": error.remedy,
        "words": error.details,
        "try": number,
        "tries": tries_of(error),
        "resolved": False,
    }
    card = turn.messages.filter(kind=Message.Kind.ERROR, meta__resolved=False).last()
    if card is None:
        persistence.add_message(turn, "system", Message.Kind.ERROR, error.detail, meta=meta)
        return
    card.text, card.meta = error.detail, meta
    card.save(update_fields=["text", "meta"])
    persistence.touch(card, turn.conversation_id)


def interrupt(turn: Turn) -> None:
    """The task was cancelled: by a person's stop, or because the process goes down."""
    with transaction.atomic():
        wishes = Turn.objects.filter(pk=turn.pk).values_list("stop_requested", flat=True).first()
        if wishes:
            end(turn, TurnState.STOPPED)
            return
        with persistence.fenced(turn):
            return_to_queue(turn)


def return_to_queue(turn: Turn) -> None:
    """A running turn goes on from its checkpoint, in the caller's transaction."""
    count_time(turn)
    turn.state, turn.lease_until = TurnState.QUEUED, None
    turn.save(update_fields=["state", "lease_until"])
    events.record(turn.conversation_id, "turn.queued", f"turn:{turn.pk}")
