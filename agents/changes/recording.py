"""Recording the folder of a turn: before it writes anything, and after its end.

Files are read on other threads, rows are written on the database's. Whatever goes wrong here, the
turn goes on: it is then noted that nothing is known of its changes.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone

from agents import events, persistence
from agents.changes.authorship import FILE_CLOCK, Evidence, Look
from agents.changes.compare import (
    Change,
    Sums,
    changes_between,
    store_changes,
    sums_of,
)
from agents.changes.evidence import add_recorded, evidence_of, seen_so_far, stored_files
from agents.changes.scan import Skipped, Snapshot, record
from agents.changes.store import Store, StoreBroken
from agents.changes.undo import finish_undos, unfinished
from agents.changes.watch import FolderWatch
from agents.conversation_tree import ancestors
from agents.db import in_db
from agents.errors import Refused
from agents.models import Observation, Recording, SkippedFile, ToolCall, Turn
from agents.pools import RECORDINGS
from agents.tools import permissions
from agents.tools.paths import path_bytes, path_text

log = logging.getLogger(__name__)

# In the transaction that stores what an ended `turn` has changed.
turn_recorded = Signal()

MOST_DIFF = 60_000  # characters of a diff for a model
AGAIN = 5.0  # seconds until an undo that is still not over is looked at once more
MOST_SKIPPED = 1_000  # files that are named as not recorded
T = TypeVar("T")
FAILURES = (OSError, Refused, StoreBroken)

# Of turns that are at work here; where there is none, everything is looked at.
watches: WeakKeyDictionary[Turn, FolderWatch] = WeakKeyDictionary()


# Before


async def enter(turn: Turn, *, at_start: bool) -> None:
    """Before a turn works. One that is taken up again goes on with its recording, and waits for an
    undo that began while nobody had it; `at_start` records the folder at once, so that what others
    change meanwhile is told apart."""
    if turn.checkpoint.get("recorded"):
        await in_db(reopen, turn)
        if recording := await in_db(open_recording, turn.pk):
            await wait_for_undos(Path(recording.root))
    elif at_start:
        await record_before(turn)


def reopen(turn: Turn) -> None:
    """What a turn changed was recorded, and it works all the same: its process died before it could
    end, or it had failed and is tried again. What it does now counts too."""
    with persistence.fenced(turn):
        ended = Recording.objects.filter(pk=turn.pk, ended_at__isnull=False)
        forgotten = ended.filter(before="", stopped="")
        forgotten.update(stopped=Recording.Stopped.FAILED)
        ended.exclude(before="").update(stopped="")
        ended.update(ended_at=None, after="", changes="", **asdict(Sums()))


async def before_call(turn: Turn, call: ToolCall) -> None:
    """Record the folder before the first call that may write; note what changed before others."""
    if not turn.checkpoint.get("recorded"):
        await record_before(turn)
        return
    if turn not in watches and (recording := await in_db(open_recording, turn.pk)):
        watches[turn] = FolderWatch(recording, seen=await in_db(seen_so_far, recording))
    look = await look_for(turn, call)
    if look and look.files:
        await in_db(save_look, turn, look)


async def after_call(turn: Turn, call: ToolCall) -> None:
    """Note what it changed. The clock of files moves on meanwhile: what others change from now on
    is later than the call."""
    await asyncio.sleep(FILE_CLOCK / 1e9)
    if look := await look_for(turn, call):
        await in_db(save_look, turn, look, call)


async def look_for(turn: Turn, call: ToolCall) -> Look | None:
    """None where the folder cannot be looked at."""
    if watch := watches.get(turn):
        with suppress(*FAILURES):
            return await RECORDINGS.run(watch.look, call)
    return None


def save_look(
    turn: Turn, look: Look, call: ToolCall | None = None, recording: int | None = None
) -> None:
    with persistence.fenced(turn):
        Observation.objects.create(
            recording_id=recording or turn.pk,
            call=call,
            since=look.since,
            until=look.until,
            files=stored_files(look),
        )


async def record_before(turn: Turn) -> None:
    root = await in_db(folder_of, turn)
    while True:
        began = timezone.now()
        snapshot, folders = await RECORDINGS.run(recorded, root, stored_folders)
        if snapshot.stopped != Recording.Stopped.FAILED or not await is_being_undone(root):
            break
        await wait_for_undos(root)
    recording = await in_db(save_before, turn, root, began, snapshot, folders or "")
    watches[turn] = FolderWatch(recording, snapshot)
    await look_for_callers(turn, recording)
    await wait_for_undos(root)


async def look_for_callers(turn: Turn, recording: Recording) -> None:
    """Note what others changed until now for the turns that called this one. Its own looks begin
    here, and what it changes is theirs too."""
    for caller in await in_db(recorded_callers, recording):
        watch = FolderWatch(caller, seen=await in_db(seen_so_far, caller))
        with suppress(*FAILURES):
            look = await RECORDINGS.run(watch.look)
            if look and look.files:
                await in_db(save_look, turn, look, None, caller.pk)


def recorded_callers(recording: Recording) -> list[Recording]:
    callers = ancestors(recording.turn.conversation)
    there = Recording.objects.filter(turn__in=callers, root=recording.root, ended_at=None)
    return list(there.filter(stopped=""))


async def wait_for_undos(root: Path) -> None:
    """Those that began before the turn's row could be seen, however long they take; none begins
    after."""
    while True:
        with suppress(*FAILURES):
            if await finish_undos(root):
                return
        if not await is_being_undone(root):
            return
        await asyncio.sleep(AGAIN)


async def is_being_undone(root: Path) -> bool:
    return bool(await in_db(unfinished, str(root)))


def folder_of(turn: Turn) -> Path:
    return permissions.of_turn(turn).folder.resolve()


def recorded(root: Path, store_more: Callable[[Store, Snapshot], T]) -> tuple[Snapshot, T | None]:
    """What the folder holds now, and what more is stored of it; where it cannot be recorded, that
    it failed."""
    try:
        with Store.of(root) as store, store.locked(root):
            snapshot = record(root, store)
            more = None if snapshot.stopped else store_more(store, snapshot)
            store.flush()
            store.gather_small()
            return snapshot, more
    except FAILURES:
        log.exception("%s could not be recorded", root)
        return Snapshot(stopped=Recording.Stopped.FAILED), None


def stored_folders(store: Store, snapshot: Snapshot) -> str:
    folders = [(path_text(path), inode) for path, (inode, _) in snapshot.folders.items()]
    return store.add_blob(json.dumps(folders).encode()).hex()


def save_before(
    turn: Turn, root: Path, began: datetime, snapshot: Snapshot, folders: str
) -> Recording:
    with persistence.fenced(turn):
        recording, _ = Recording.objects.get_or_create(
            turn=turn,
            defaults={
                "root": str(root),
                "before": snapshot.tree.hex(),
                "folders": folders,
                "stopped": snapshot.stopped,
                "skipped": listed(snapshot),
                "leaves_out": snapshot.leaves_out,
                "began_at": began,
            },
        )
        persistence.checkpoint(turn, recorded=True)
        return recording


def listed(snapshot: Snapshot) -> list[SkippedFile]:
    pairs = sorted(snapshot.skipped.items())[:MOST_SKIPPED]
    return [{"path": path_text(path), **file._asdict()} for path, file in pairs]  # type: ignore[typeddict-item]


# After

FOUND = ("after", "changes", "stopped", "leaves_out", *asdict(Sums()))


async def record_after(turn: Turn) -> None:
    """While the turn is still ours, as the last thing before it ends."""
    if turn.checkpoint.get("recorded") and turn.is_open:
        await end_recording(turn.pk, partial(save_after, turn))


async def record_ended(turn_id: int) -> None:
    """Of a turn that ended without it: it was stopped, or nobody had it. The first one counts."""
    await end_recording(turn_id, save_ended)


async def end_recording(turn_id: int, save: Callable[[Recording], object]) -> None:
    if recording := await in_db(open_recording, turn_id):
        await compare_now(recording)
        await in_db(save, recording)


async def record_all_ended() -> None:
    """What earlier processes left to be recorded."""
    for pk in await in_db(unrecorded):
        await record_ended(pk)


def unrecorded() -> list[int]:
    open_ones = Recording.objects.filter(ended_at=None)
    ended = open_ones.exclude(turn__state__in=Turn.OPEN_STATES)
    return list(ended.order_by("began_at").values_list("pk", flat=True))


def open_recording(turn_id: int) -> Recording | None:
    return Recording.objects.filter(pk=turn_id, ended_at=None).select_related("turn").first()


async def compare_now(recording: Recording) -> None:
    """Note in the row, unsaved, what is another in the folder now, and whose changes these are."""
    if not recording.stopped:
        evidence = await in_db(evidence_of, recording)
        await RECORDINGS.run(compare_with, recording, evidence)


def compare_with(recording: Recording, evidence: Evidence) -> None:
    def store_changed(store: Store, now: Snapshot) -> tuple[str, Sums]:
        add_recorded(evidence, store, recording)
        changes = changes_now(store, recording, evidence, now)
        return store_changes(store, changes), sums_of(changes)

    now, changed = recorded(Path(recording.root), store_changed)
    recording.after, recording.stopped = now.tree.hex(), now.stopped
    recording.leaves_out |= now.leaves_out
    recording.changes, sums = changed or ("", Sums())
    for name, number in asdict(sums).items():
        setattr(recording, name, number)


def changes_now(
    store: Store, recording: Recording, evidence: Evidence, snapshot: Snapshot
) -> list[Change]:
    skipped = {
        path_bytes(each["path"]): Skipped(each["reason"], each["size"], each.get("at", 0))
        for each in recording.skipped
    }
    if len(skipped) == MOST_SKIPPED:  # how further ones were is not known
        last = max(skipped)
        skipped |= {path: each for path, each in snapshot.skipped.items() if path > last}
    before = bytes.fromhex(recording.before)
    return changes_between(store, before, skipped, snapshot, evidence)


def save_after(turn: Turn, recording: Recording) -> None:
    with persistence.fenced(turn):
        save_found(recording)


@transaction.atomic
def save_ended(recording: Recording) -> None:
    """Readers hear of it; nobody else does, the turn is over. One that is tried again by now
    records its end itself."""
    turn = recording.turn
    events.lock_conversation(turn.conversation_id)
    is_open = Turn.objects.filter(pk=turn.pk, state__in=Turn.OPEN_STATES).exists()
    if not is_open and save_found(recording):
        events.record(turn.conversation_id, "turn.recorded", f"turn:{turn.pk}")
        turn_recorded.send(sender=Recording, turn=turn)


def save_found(recording: Recording) -> bool:
    """Whether it was the first; a second one would tell of what came after the turn."""
    found = {name: getattr(recording, name) for name in FOUND}
    rows = Recording.objects.filter(pk=recording.pk, ended_at=None)
    return bool(rows.update(ended_at=timezone.now(), **found))
