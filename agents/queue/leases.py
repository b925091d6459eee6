"""Whose a running turn is, for how long, and what happens to those whose worker is gone."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from agents import events
from agents.models import Turn, TurnState
from agents.queue.wakeup import wake_after_commit
from agents.statements import rows
from agents.turns.kinds import all_kinds

STOPS = "SELECT id FROM agents_turn WHERE state = 'running' AND stop_requested"


class Held(NamedTuple):
    """A turn that is still its worker's, and whether somebody wants it stopped."""

    pk: int
    stop_requested: bool


def lease_length() -> timedelta:
    return timedelta(seconds=settings.PLANSIDE_LEASE_SECONDS)


def renew(turns: list[Turn]) -> list[Held]:
    """Lengthen the leases of what this worker runs; gives back what is still its own."""
    running = Turn.objects.filter(pk__in=[turn.pk for turn in turns], state=TurnState.RUNNING)
    epochs = {turn.pk: turn.epoch for turn in turns}
    now = running.values_list("pk", "epoch", "stop_requested")
    held = [Held(pk, stop) for pk, epoch, stop in now if epochs[pk] == epoch]
    running.filter(pk__in=[turn.pk for turn in held]).update(lease_until=Now() + lease_length())
    return held


def to_be_stopped() -> set[int]:
    """Running turns, of any worker, that somebody wants stopped."""
    return {pk for (pk,) in rows(STOPS)}


def release(turn: Turn) -> None:
    """Back into the queue, if it is still ours: the database was away while it ran."""
    ours = Turn.objects.filter(pk=turn.pk, epoch=turn.epoch)
    put_back(ours.filter(state=TurnState.RUNNING))


def put_back(turns: QuerySet[Turn]) -> None:
    """Turns whose worker is gone go back to the queue, to be continued at their checkpoint.

    What another process is writing to at this moment is left for the next look.
    """
    for pk in turns.values_list("pk", flat=True):
        with transaction.atomic():
            found = turns.filter(pk=pk).select_related("conversation")
            if connection.features.has_select_for_update_skip_locked:
                found = found.select_for_update(
                    skip_locked=True, of=("self", "conversation"), no_key=True
                )
            for turn in found:
                turn.state, turn.lease_until = TurnState.QUEUED, None
                turn.save(update_fields=["state", "lease_until"])
                events.record(turn.conversation_id, "turn.queued", f"turn:{turn.pk}")
                wake_after_commit()


def put_back_orphans(*, all_of_them: bool, but: frozenset[int] = frozenset()) -> None:
    """`all_of_them` when the home's lock proves that no other worker lives; `but` are our own."""
    running = Turn.objects.filter(state=TurnState.RUNNING).exclude(pk__in=but)
    put_back(running if all_of_them else running.filter(lease_until__lt=Now()))
    for kind in all_kinds():
        kind.repair()
