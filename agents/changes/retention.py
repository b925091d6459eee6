"""How long it is kept what turns changed: rows forget it first, then the generation of the folder's
store goes that only they needed.

A row is of the generations from the one in which it began: what is named by time needs no reading,
so a damaged store goes like any other. A recording that ended in a later one began in the first
that it needs; what an undo puts back is in its own (`Store.holds`).
"""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents.changes.store import Store, bytes_of, stores
from agents.db import AWAY
from agents.models import Message, Observation, PersonEdit, Recording, Undo

log = logging.getLogger(__name__)

QUIET = 10 * 60  # seconds without a writer: what is in no row yet was written since
MOST_BYTES = 4_000_000_000  # of one folder's store; then the oldest generation goes first
DAY = 24 * 60 * 60
AGE = 60_000_000_000  # nanoseconds: the row of a turn that begins now may be on its way

Rows = tuple[QuerySet[Recording], QuerySet[Undo]]


def forget_old() -> None:
    at_work = Recording.objects.filter(ended_at=None).values("root")
    before = time.time_ns() - AGE
    PersonEdit.objects.exclude(root__in=at_work).filter(ended__lt=before).delete()
    looks = Observation.objects.filter(until__lt=before)
    looks.exclude(recording__root__in=at_work).delete()
    late = timezone.now() - timedelta(days=settings.KEEP_CHANGES_DAYS)
    forget(Recording.objects.filter(began_at__lt=late), Undo.objects.filter(created_at__lt=late))


def forget(recordings: QuerySet[Recording], undos: QuerySet[Undo]) -> None:
    """What ended ones changed cannot be read any more then; how much it was, stays."""
    ended = recordings.filter(ended_at__isnull=False).exclude(before="")
    ended.update(before="", after="", changes="", folders="")
    for row in undos.filter(finished_at__isnull=False).exclude(steps=""):
        forget_undo(row)


@transaction.atomic
def forget_undo(row: Undo) -> None:
    """It cannot be undone any more, and its notice offers that no longer."""
    Undo.objects.filter(pk=row.pk).update(steps="")
    notices = Message.objects.filter(conversation=row.conversation_id, meta__undo=row.pk)
    for message in notices:
        message.meta = {name: value for name, value in message.meta.items() if name != "undo"}
        message.save(update_fields=["meta"])


def sweep() -> None:
    """Through the stores in which nobody writes; one where that fails is tried again later."""
    for name in stores().glob("*/root"):
        try:
            with Store(name.parent) as store:
                packs = store.folder / "pack"
                if packs.is_dir() and time.time() - packs.stat().st_mtime > QUIET:
                    with store.locked():
                        if time.time() - store.used_at > QUIET:
                            tidy(store)
        except AWAY:
            raise
        except Exception:
            log.exception("%s could not be made smaller", name.parent)


def tidy(store: Store) -> None:
    """Drop generations that no row needs, of too much the oldest with its rows, and begin a new one
    where the newest is old or large. The caller holds the lock."""
    root = json.loads((store.path / "root").read_text())
    store.remove_unfinished()
    generations = store.generations()
    while generations:
        oldest, *later = generations
        rows = rows_before(root, store.began(later[0]) if later else None)
        if later and sum(map(bytes_of, generations)) > MOST_BYTES:
            forget(*rows)
        if any(each.exists() for each in rows):
            break
        store.drop(oldest)
        generations = later
    if generations and (
        bytes_of(store.folder) > MOST_BYTES // 2
        or time.time() - store.began(store.folder) > settings.KEEP_CHANGES_DAYS * DAY
    ):
        store.begin_generation()


def rows_before(root: str, moment: float | None) -> Rows:
    """Those that need what was written until then."""
    recordings = Recording.objects.filter(root=root).exclude(before="")
    undos = Undo.objects.filter(root=root).exclude(steps="")
    if moment is None:
        return recordings, undos
    at = datetime.fromtimestamp(moment, UTC)
    return recordings.filter(began_at__lt=at), undos.filter(created_at__lt=at)
