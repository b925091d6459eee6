"""How a turn leaves `running`: over, waiting, or back in the queue. Each is one transaction."""

from __future__ import annotations

import random
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agents import events
from agents.database import clock
from agents.locks import lock_conversation
from agents.model_client.client import ModelError
from agents.models import Message, Turn, TurnState
from agents.queue.wakeup import wake_after_commit
from agents.statements import one, store
from agents.turns import journal
from agents.turns.interruptions import TurnFailed, TurnWaits
from agents.turns.kinds import kind_of
from agents.turns.transcript import NO_RESULT

OPEN_STATES = (TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING)
LOOSE_ENDS = """
SELECT EXISTS (SELECT 1 FROM agents_message WHERE turn_id = %s AND streaming),
       EXISTS (SELECT 1 FROM agents_toolcall
               WHERE turn_id = %s AND state IN ('', 'asked', 'running')),
       EXISTS (SELECT 1 FROM agents_toolcall WHERE turn_id = %s AND tool = 'run_agent')
"""
MAX_TRIES = 5  # of one model call
LONGEST_WAIT = 120.0  # seconds between two tries, whatever the server asks for

# The failure classes of Attempt, by the kind of a model's error.
CLASSES = {"busy": "capacity", "too_long": "logic", "bad_request": "logic"}


def end(turn: Turn, state: TurnState, error_class: str = "", error: str = "") -> None:
    with journal.fenced(turn):
        close_turn(turn, state, error_class, error)


def close_turn(turn: Turn, state: TurnState, error_class: str = "", error: str = "") -> None:
    """The end of a turn, in the caller's transaction: nothing of it is left half-done."""
    tie_loose_ends(turn)
    journal.resolve_error(turn)
    turn.state, turn.error_class, turn.error = state, error_class, error
    turn.waiting_for, turn.lease_until, turn.not_before = "", None, None
    turn.finished_at = timezone.now()
    store(turn, "state", "error_class", "error", "waiting_for", "lease_until", "not_before")
    store(turn, "finished_at", "checkpoint")
    kind_of(turn).settle(turn)
    events.record(turn.conversation_id, "turn.ended", f"turn:{turn.pk}", state=state)
    wake_after_commit()


def tie_loose_ends(turn: Turn) -> None:
    """A turn that ends in the middle leaves text, calls and other agents' work; most leave none."""
    streaming, calling, calls = one(LOOSE_ENDS, [turn.pk] * 3) or (True, True, True)
    if calls:
        stop_children(turn)
    if streaming:
        close_messages(turn)
    if calling:
        journal.interrupt_calls(turn, NO_RESULT)


def stop_children(turn: Turn, by: str = "") -> None:
    """What other agents do for this turn ends with it."""
    children = Turn.objects.filter(conversation__parent_call__turn=turn, state__in=OPEN_STATES)
    for child in children:
        request_stop(child, by)


@transaction.atomic
def request_stop(turn: Turn, by: str) -> None:
    """Stop a turn: at once when no worker has it, else by the worker, which is told at once."""
    lock_conversation(turn.conversation_id)
    rows = Turn.objects.select_for_update(no_key=True, of=("self",))
    turn = rows.select_related("conversation").get(pk=turn.pk)
    if turn.state == TurnState.RUNNING:
        Turn.objects.filter(pk=turn.pk).update(stop_requested=True)
        events.record(turn.conversation, "turn.stopping", f"turn:{turn.pk}", by)
        wake_after_commit()
    elif turn.is_open:
        close_turn(turn, TurnState.STOPPED)


def close_messages(turn: Turn) -> None:
    """Text that broke off stays as it was read, and says so."""
    for message in turn.messages.filter(streaming=True):
        message.streaming = False
        message.meta = {**message.meta, "broken_off": True}
        message.save(update_fields=["streaming", "meta"])
        journal.touch(message, turn.conversation_id)


def fail(turn: Turn, failure: TurnFailed) -> None:
    """The turn is over without success; the conversation says why and what to do."""
    with journal.fenced(turn):
        meta = {
            "title": failure.title or "This did not work",
            "advice": failure.advice,
            "resolved": False,
        }
        forget_tries(turn)
        journal.add_message(turn, "system", Message.Kind.ERROR, str(failure), meta=meta)
        close_turn(turn, TurnState.FAILED, failure.error_class, str(failure))


def forget_tries(turn: Turn) -> None:
    """The card that counted tries gives way to the final one."""
    turn.checkpoint.pop("try", None)
    for message in turn.messages.filter(kind=Message.Kind.ERROR, meta__resolved=False):
        message.meta = {**message.meta, "resolved": True, "next_try_at": None}
        message.save(update_fields=["meta"])
        journal.touch(message, turn.conversation_id)


def hold(turn: Turn, wait: TurnWaits) -> None:
    """Wait in place, without a lease and without a worker."""
    with journal.fenced(turn):
        journal.checkpoint(turn, because=wait.because)
        turn.state, turn.waiting_for = TurnState.WAITING, wait.waiting_for
        turn.lease_until, turn.pause_requested = None, False
        turn.save(update_fields=["state", "waiting_for", "lease_until", "pause_requested"])
        kind_of(turn).settle(turn)
        events.record(
            turn.conversation_id, "turn.waiting", f"turn:{turn.pk}", what=wait.waiting_for
        )


def go_on(turn: Turn) -> bool:
    """Put a waiting turn back into the queue at its checkpoint; False if it was not waiting."""
    moved = Turn.objects.filter(pk=turn.pk, state=TurnState.WAITING).update(
        state=TurnState.QUEUED, waiting_for="", not_before=None
    )
    if moved:
        events.record(turn.conversation_id, "turn.queued", f"turn:{turn.pk}")
        wake_after_commit()
    return bool(moved)


def model_failed(turn: Turn, error: ModelError) -> None:
    """Try again later while that may help, at most five times; else the turn has failed."""
    if may_try_later(turn, error):
        put_off(turn, error, int(turn.checkpoint.get("try", 1)))
        return
    if not error.transient:
        turn.checkpoint["final"] = True  # trying the same again would not help
    error_class = "transient" if error.transient else "logic"
    error_class = CLASSES.get(error.kind, error_class)
    fail(turn, TurnFailed(error_class, error.detail, error.sentence, error.advice))


def may_try_later(turn: Turn, error: ModelError) -> bool:
    return error.transient and int(turn.checkpoint.get("try", 1)) < MAX_TRIES


def put_off(turn: Turn, error: ModelError, tries: int) -> None:
    """Back into the queue until the next try, with a card that says when."""
    with journal.fenced(turn):
        seconds = delay(error, tries)
        turn.not_before = clock() + timedelta(seconds=seconds)
        turn.state, turn.lease_until = TurnState.QUEUED, None
        journal.checkpoint(turn, **{"try": tries + 1})
        turn.save(update_fields=["not_before", "state", "lease_until"])
        show_try(turn, error, tries + 1)
        kind_of(turn).settle(turn)
        wake_after_commit()


def delay(error: ModelError, tries: int) -> float:
    """Seconds: what the server asks for, else 1, 2, 4, 8 times the base with up to half more."""
    if error.retry_after is not None:
        return min(max(error.retry_after, 0.0), LONGEST_WAIT)
    base = float(settings.MODEL_RETRY_BASE) * float(2 ** (tries - 1))
    return min(base * random.uniform(1, 1.5), LONGEST_WAIT)


def show_try(turn: Turn, error: ModelError, number: int) -> None:
    meta = {
        "title": error.sentence,
        "advice": error.advice,
        "try": number,
        "tries": MAX_TRIES,
        "next_try_at": turn.not_before.isoformat() if turn.not_before else None,
        "resolved": False,
    }
    card = turn.messages.filter(kind=Message.Kind.ERROR, meta__resolved=False).last()
    if card is None:
        journal.add_message(turn, "system", Message.Kind.ERROR, error.detail, meta=meta)
        return
    card.text, card.meta = error.detail, meta
    card.save(update_fields=["text", "meta"])
    journal.touch(card, turn.conversation_id)


def cut_off(turn: Turn) -> None:
    """The task was cancelled: by a person's stop, or because the process goes down."""
    with transaction.atomic():
        wishes = Turn.objects.filter(pk=turn.pk).values_list("stop_requested", flat=True).first()
        if wishes:
            end(turn, TurnState.STOPPED)
            return
        with journal.fenced(turn):
            turn.state, turn.lease_until = TurnState.QUEUED, None
            turn.save(update_fields=["state", "lease_until"])
            events.record(turn.conversation_id, "turn.queued", f"turn:{turn.pk}")
            wake_after_commit()
