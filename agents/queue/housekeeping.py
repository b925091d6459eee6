"""Beside the queue: recordings of turns that ended without one, and what is no longer kept of them
and of deleted files."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agents.changes.compaction import empty, keep_only, remove_unfinished
from agents.changes.recording import record_all_ended
from agents.changes.store import Store, stores
from agents.changes.undo import finish_cut_off, in_own_connection, unfinished
from agents.db import AWAY, in_db
from agents.models import Message, Recording, Undo
from agents.pools import RECORDINGS
from agents.workspace import attachments, trash
from agents.workspace.files import remove_cut_off

log = logging.getLogger(__name__)

INTERVAL = 30.0  # seconds
HOURLY = 120  # intervals
DAY = 24 * 60 * 60
QUIET = 10 * 60  # seconds without a recording: what is written and not in a row yet is not live
MOST_BYTES = 4_000_000_000  # of one folder's store; then the oldest recordings go first


async def keep_recordings() -> None:
    """For ever."""
    for number in count():
        try:
            for pk in await in_db(unfinished):
                await RECORDINGS.run(in_own_connection, finish_cut_off, pk)
            await record_all_ended()
            await in_db(forget_old)
            for folder in await RECORDINGS.run(due_stores):
                await RECORDINGS.run(in_own_connection, compact, folder)
            await RECORDINGS.run(in_own_connection, trash.sweep)
            await RECORDINGS.run(in_own_connection, attachments.remove_cut_off)
            if number % HOURLY == 1:
                await RECORDINGS.run(in_own_connection, remove_cut_off)
        except AWAY:
            pass  # the worker logs that the database is away
        except Exception:
            log.exception("recordings could not be looked after; trying again")
        await asyncio.sleep(INTERVAL)


def forget_old() -> None:
    """What they changed cannot be read any more then; how much it was, stays."""
    late = timezone.now() - timedelta(days=settings.KEEP_CHANGES_DAYS)
    old = Recording.objects.filter(began_at__lt=late, ended_at__isnull=False).exclude(before="")
    forget(old.values_list("pk", flat=True))
    undone = Undo.objects.filter(created_at__lt=late, finished_at__isnull=False).exclude(steps="")
    for row in undone:
        forget_undo(row)


@transaction.atomic
def forget_undo(row: Undo) -> None:
    """It cannot be undone any more, and its notice offers that no longer."""
    Undo.objects.filter(pk=row.pk).update(steps="")
    notices = Message.objects.filter(conversation=row.conversation_id, meta__undo=row.pk)
    for message in notices:
        message.meta = {name: value for name, value in message.meta.items() if name != "undo"}
        message.save(update_fields=["meta"])


def forget(recordings: Iterable[int]) -> None:
    rows = Recording.objects.filter(pk__in=list(recordings))
    rows.update(before="", after="", changes="")


def due_stores() -> list[Path]:
    """Those that are quiet now and were not made smaller today."""
    now, due = time.time(), []
    for folder in sorted(stores().glob("*/pack")):
        with suppress(OSError):
            marker = folder.with_name("compacted")
            if now - changed(folder) > QUIET and now - changed(marker) > DAY:
                due.append(folder.parent)
    return due


def changed(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


def compact(folder: Path) -> None:
    """Throw away what no row names; of too much, the oldest recordings besides. Where that fails
    it is tried again tomorrow, and nothing more is forgotten for it."""
    try:
        root = json.loads((folder / "root").read_text())
        seen = changed(folder / "pack")
        while seen := compacted(folder, root, seen):
            if size_of(folder) <= MOST_BYTES or not forget_oldest(root):
                return
    except AWAY:
        raise
    except Exception:  # of the files, or what a damaged pack makes the library raise
        log.exception("%s could not be made smaller", folder)
        with suppress(OSError):
            (folder / "compacted").touch()


Live = tuple[list[bytes], list[bytes]]  # trees, and lists of changes


def live_objects(root: str) -> Live:
    rows = Recording.objects.filter(root=root)
    named = list(rows.values_list("before", "after", "changes"))
    trees = {each for before, after, _ in named for each in (before, after)}
    undos = Undo.objects.filter(root=root).values_list("steps", flat=True)
    lists = {*(changes for _, _, changes in named), *undos}
    return [bytes.fromhex(each) for each in trees if each], [
        bytes.fromhex(each) for each in lists if each
    ]


def compacted(folder: Path, root: str, seen: float) -> float:
    """When it was changed by that; 0 where somebody else has written since it was `seen`, since
    what they wrote may be in no row yet."""
    with Store(folder) as store, store.locked():
        if changed(folder / "pack") != seen:
            return 0
        trees, lists = live_objects(root)
        remove_unfinished(store)
        if trees or lists:
            keep_only(store, trees, lists)
        else:
            empty(store)
        (folder / "compacted").touch()
        return changed(folder / "pack")


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "pack").iterdir())


def forget_oldest(root: str) -> bool:
    """A tenth of what is kept of a folder; false where there is nothing more."""
    kept = Recording.objects.filter(root=root, ended_at__isnull=False).exclude(before="")
    oldest = list(kept.order_by("began_at").values_list("pk", flat=True))
    forget(oldest[: max(1, len(oldest) // 10)])
    return bool(oldest)
