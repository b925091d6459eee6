"""Which turns may start, and taking them: from the commit on each is one worker's."""

from __future__ import annotations

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from agents import events
from agents.models import Turn, TurnState
from agents.queue.leases import lease_length


def due() -> QuerySet[Turn]:
    """Turns that may start: queued, not held back, and the oldest of a lane that is free."""
    same_lane = Turn.objects.filter(conversation=OuterRef("conversation"), lane=OuterRef("lane"))
    live = same_lane.filter(state__in=[TurnState.RUNNING, TurnState.WAITING])
    older = same_lane.filter(state=TurnState.QUEUED, pk__lt=OuterRef("pk"))
    queued = Turn.objects.filter(Q(not_before=None) | Q(not_before__lte=Now()), state="queued")
    return queued.exclude(Exists(live)).exclude(Exists(older)).order_by("pk")


def claim(limit: int) -> list[Turn]:
    """Take up to `limit` due turns, each under a new epoch."""
    found = list(due().values_list("pk", flat=True)[:limit])  # reading needs no lock
    if not found:
        return []
    try:
        return claim_among(found)
    except IntegrityError:  # the lane of one of them was taken by another worker just now
        return [turn for pk in found for turn in claim_alone(pk)]


def claim_alone(pk: int) -> list[Turn]:
    try:
        return claim_among([pk])
    except IntegrityError:
        return []


@transaction.atomic
def claim_among(pks: list[int]) -> list[Turn]:
    """Those that are still due and that nobody else is writing to."""
    taken = take(free_among(pks))
    turns = list(Turn.objects.filter(pk__in=taken).select_related("conversation").order_by("pk"))
    for turn in turns:
        events.record(turn.conversation_id, "turn.started", f"turn:{turn.pk}")
    return turns


def free_among(pks: list[int]) -> list[int]:
    """On PostgreSQL locked here, the conversation too, without waiting for who holds them."""
    rows = due().filter(pk__in=pks)
    if connection.features.has_select_for_update_skip_locked:
        both = rows.select_related("conversation")
        rows = both.select_for_update(skip_locked=True, of=("self", "conversation"), no_key=True)
        return [turn.pk for turn in rows]
    return list(rows.values_list("pk", flat=True))


def take(pks: list[int]) -> list[int]:
    Turn.objects.filter(pk__in=pks, state=TurnState.QUEUED).update(
        state=TurnState.RUNNING,
        epoch=F("epoch") + 1,
        lease_until=Now() + lease_length(),
        not_before=None,
        started_at=Coalesce("started_at", Now()),
    )
    return pks
