"""Recording the folder of a turn: before it writes anything, and after its end.

Files are read on other threads, rows are written on the database's. Whatever goes wrong here, the
turn goes on: it is then noted that nothing is known of its changes.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.db.models import Q, QuerySet
from django.dispatch import Signal
from django.utils import timezone

from agents import events, persistence
from agents.changes.authorship import TICK, Edits, Evidence, Left, Origin, Writes
from agents.changes.compare import (
    Change,
    Sums,
    changes_between,
    read_changes,
    stored_changes,
    sums_of,
)
from agents.changes.scan import Skipped, Snapshot, record
from agents.changes.store import Oid, Store, StoreBroken
from agents.changes.undo import finish_undos, unfinished
from agents.changes.unified import diff_text, patch_text
from agents.conversation_tree import descendants
from agents.db import in_db
from agents.errors import Refused
from agents.models import Lane, PersonEdit, Recording, SkippedFile, ToolCall, Turn
from agents.models.fields import stored_folder
from agents.models.recording import Identity
from agents.pools import RECORDINGS
from agents.tools import permissions
from agents.tools.base import FILE_WRITING_TOOLS, READING_TOOLS, ToolFailed
from agents.tools.confinement import Workspace
from agents.tools.paths import path_bytes, path_text

log = logging.getLogger(__name__)

# In the transaction that stores what an ended `turn` has changed.
turn_recorded = Signal()

MOST_DIFF = 60_000  # characters of a diff for a model
AGAIN = 5.0  # seconds until an undo that is still not over is looked at once more
MOST_FOLDERS = 5_000  # that are looked at before each call
MOST_SKIPPED = 1_000  # files that are named as not recorded
FAILURES = (OSError, Refused, StoreBroken)


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


async def before_call(turn: Turn) -> None:
    """Record the folder before the first call that may write, and before others what they hide."""
    if not turn.checkpoint.get("recorded"):
        await record_before(turn)
    elif recording := await in_db(open_recording, turn.pk):
        own = await in_db(writes_of, [turn.pk], Path(recording.root))
        if taken := await RECORDINGS.run(taken_from, recording, own):
            await in_db(save_taken, turn, recording, taken)


def taken_from(recording: Recording, own: Writes) -> list[tuple[str, int]]:
    """Folders of before that have changed while the turn wrote nothing, by nothing that came: the
    call that follows may change them again, and the kernel notes the last time alone."""
    root, began = Path(recording.root), nanoseconds(recording.began_at)
    with suppress(*FAILURES), Store.of(root) as store:
        folders = folders_of(store, recording)
        if len(folders) > MOST_FOLDERS:
            return []
        inodes, found = {inode for inode, _ in folders.values()}, []
        for path, (inode, _) in folders.items():
            with suppress(OSError):
                status = (root / os.fsdecode(path)).lstat()
                at = status.st_ctime_ns
                if status.st_ino != inode or at < began or own.has(at):
                    continue
                with os.scandir(root / os.fsdecode(path)) as listing:
                    there = [each.stat(follow_symlinks=False) for each in listing]
                came = [each.st_ctime_ns for each in there if each.st_ino not in inodes]
                if all(abs(each - at) > TICK for each in came):
                    found.append((path_text(path), at))
        return found
    return []


def save_taken(turn: Turn, recording: Recording, taken: list[tuple[str, int]]) -> None:
    with persistence.fenced(turn):
        recording.taken = [*recording.taken, *taken]
        recording.save(update_fields=["taken"])


async def record_before(turn: Turn) -> None:
    """Once for a turn, however often it is taken up again."""
    if turn.checkpoint.get("recorded"):
        return
    root = await in_db(folder_of, turn)
    began = timezone.now()
    snapshot, folders = await RECORDINGS.run(recorded, root)
    if snapshot.stopped == Recording.Stopped.FAILED and await is_being_undone(root):
        await wait_for_undos(root)
        began = timezone.now()
        snapshot, folders = await RECORDINGS.run(recorded, root)
    await in_db(save_before, turn, root, began, snapshot, folders)
    await wait_for_undos(root)


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


def recorded(root: Path) -> tuple[Snapshot, Oid]:
    """What the folder holds now, and the list of its folders in the store; where it cannot be
    recorded, that it failed."""
    try:
        with Store.of(root) as store, store.locked(root):
            snapshot = record(root, store)
            folders = [(path_text(path), *each) for path, each in snapshot.folders.items()]
            oid = b"" if snapshot.stopped else store.add_blob(json.dumps(folders).encode())
            store.flush()
            return snapshot, oid
    except FAILURES:
        log.exception("%s could not be recorded", root)
        return Snapshot(stopped=Recording.Stopped.FAILED), b""


def save_before(turn: Turn, root: Path, began: datetime, snapshot: Snapshot, folders: Oid) -> None:
    with persistence.fenced(turn):
        Recording.objects.get_or_create(
            turn=turn,
            defaults={
                "root": str(root),
                "before": snapshot.tree.hex(),
                "folders": folders.hex(),
                "stopped": snapshot.stopped,
                "skipped": listed(snapshot),
                "leaves_out": snapshot.leaves_out,
                "began_at": began,
            },
        )
        persistence.checkpoint(turn, recorded=True)


def listed(snapshot: Snapshot) -> list[SkippedFile]:
    pairs = sorted(snapshot.skipped.items())[:MOST_SKIPPED]
    return [{"path": path_text(path), **file._asdict()} for path, file in pairs]  # type: ignore[typeddict-item]


# After


@dataclass
class Found:
    """What a turn has come to in its folder."""

    after: str = ""
    changes: str = ""
    sums: Sums = field(default_factory=Sums)
    stopped: str = ""
    leaves_out: bool = False


async def record_after(turn: Turn) -> None:
    """While the turn is still ours, as the last thing before it ends."""
    if not turn.checkpoint.get("recorded") or not turn.is_open:
        return
    if recording := await in_db(open_recording, turn.pk):
        found = await found_now(recording)
        await in_db(save_after, turn, recording, found)


async def record_ended(turn_id: int) -> None:
    """Of a turn that ended without it: it was stopped, or nobody had it. The first one counts."""
    if recording := await in_db(open_recording, turn_id):
        found = await found_now(recording)
        await in_db(save_ended, recording, found)


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


async def changes_so_far(turn_id: int) -> list[Change]:
    """Of a turn that has not ended, the folder as it is at this moment; of one that has, those that
    were recorded. Nothing where none are known."""
    recording = await in_db(Recording.objects.filter(pk=turn_id).select_related("turn").first)
    if recording is None or recording.stopped:
        return []
    if recording.ended_at:
        return await RECORDINGS.run(kept_changes, recording)
    recording.changes = (await found_now(recording)).changes
    return await RECORDINGS.run(kept_changes, recording)


def as_diff(root: Path, changes: list[Change], longest: int) -> str:
    with Store.of(root) as store:
        return diff_text(store, changes, longest)


def as_patch(root: Path, changes: list[Change], longest: int) -> str:
    with Store.of(root) as store:
        return patch_text(store, changes, longest)


def kept_changes(recording: Recording) -> list[Change]:
    """Nothing where they are not kept any more."""
    if not recording.changes:
        return []
    try:
        with Store.of(Path(recording.root)) as store:
            return read_changes(store, recording.changes)
    except StoreBroken:
        log.exception("the changes of turn %s cannot be read", recording.pk)
        return []


async def found_now(recording: Recording) -> Found:
    """The folder as it is now beside what it was, and whose changes these are."""
    if recording.stopped:
        return Found(stopped=recording.stopped)
    evidence, inside = await in_db(evidence_of, recording)
    return await RECORDINGS.run(compared, recording, evidence, inside)


def compared(recording: Recording, evidence: Evidence, inside: list[Recording]) -> Found:
    root = Path(recording.root)
    try:
        with Store.of(root) as store, store.locked(root):
            snapshot = record(root, store)
            if snapshot.stopped:
                return Found(stopped=snapshot.stopped)
            add_recorded(evidence, store, recording, inside)
            changes = changes_now(store, recording, evidence, snapshot)
            oid = store.add_blob(stored_changes(changes))
            store.flush()
            store.gather_small()
            sums, leaves_out = sums_of(changes), snapshot.leaves_out
            return Found(snapshot.tree.hex(), oid.hex(), sums, leaves_out=leaves_out)
    except FAILURES:
        log.exception("%s could not be recorded", root)
        return Found(stopped=Recording.Stopped.FAILED)


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


def save_after(turn: Turn, recording: Recording, found: Found) -> None:
    with persistence.fenced(turn):
        save_found(recording, found)


@transaction.atomic
def save_ended(recording: Recording, found: Found) -> None:
    """Readers hear of it; nobody else does, the turn is over. One that is tried again by now
    records its end itself."""
    turn = recording.turn
    events.lock_conversation(turn.conversation_id)
    is_open = Turn.objects.filter(pk=turn.pk, state__in=Turn.OPEN_STATES).exists()
    if not is_open and save_found(recording, found):
        events.record(turn.conversation_id, "turn.recorded", f"turn:{turn.pk}")
        turn_recorded.send(sender=Recording, turn=turn)


def save_found(recording: Recording, found: Found) -> bool:
    """Whether it was the first; a second one would tell of what came after the turn."""
    rows = Recording.objects.filter(pk=recording.pk, ended_at=None)
    return bool(
        rows.update(
            after=found.after,
            changes=found.changes,
            stopped=found.stopped,
            leaves_out=recording.leaves_out or found.leaves_out,
            ended_at=timezone.now(),
            **asdict(found.sums),
        )
    )


# Who may have written


def evidence_of(recording: Recording) -> tuple[Evidence, list[Recording]]:
    """What calls and people are known to have done since the folder was recorded, and what other
    turns were recorded in between."""
    began, root = nanoseconds(recording.began_at), Path(recording.root)
    same = Recording.objects.filter(root=recording.root).exclude(pk=recording.pk)
    meanwhile = same.filter(Q(ended_at=None) | Q(ended_at__gte=recording.began_at))
    helpers = [turn.pk for turn in descendants([recording.turn], Turn.objects.all())]
    # What agents that it called did here, it did.
    own = [recording.pk, *meanwhile.filter(pk__in=helpers).values_list("pk", flat=True)]
    others = meanwhile.exclude(pk__in=helpers)
    others_turns = list(others.values_list("pk", flat=True))
    evidence = Evidence(began, writes_of(own, root), edits=edits_in(recording.root, began))
    evidence.taken = [(path_bytes(path), at) for path, at in recording.taken]
    evidence.others = writes_of([*others_turns, *checking_beside(recording)], root)
    inside = others.filter(began_at__gte=recording.began_at, ended_at__isnull=False)
    return evidence, list(inside.order_by("ended_at"))


def add_recorded(
    evidence: Evidence, store: Store, recording: Recording, inside: Iterable[Recording]
) -> None:
    """What recordings know besides, as far as they are kept."""
    with suppress(StoreBroken):
        folders = folders_of(store, recording)
        evidence.folders = {path: inode for path, (inode, _) in folders.items()}
        by_turns = [edits_by(store, each) for each in inside]
        evidence.edits = sorted((*evidence.edits, *by_turns), key=lambda each: each.ended)


def writes_of(turns: Iterable[int], root: Path) -> Writes:
    """When calls of these turns, and commands of theirs besides, may have written in the folder."""
    writes, workspace, turns = Writes(), Workspace(root), list(turns)
    for call in calls_of(turns):
        assert call.started_at is not None, "only those that began are read"
        window = (nanoseconds(call.started_at), nanoseconds(call.finished_at or timezone.now()))
        if call.tool not in FILE_WRITING_TOOLS:
            writes.anywhere.append(window)
            continue
        with suppress(ToolFailed):
            parts = workspace.locate(str(call.arguments.get("path") or ""))
            writes.files.setdefault(os.fsencode("/".join(parts)), []).append(window)
    rows = Turn.objects.filter(pk__in=turns, checkpoint__has_key="commands")
    now = nanoseconds(timezone.now())
    for checkpoint in rows.values_list("checkpoint", flat=True):
        writes.anywhere += [(begin, end or now) for begin, end in checkpoint["commands"]]
    return writes


def calls_of(turns: Iterable[int]) -> QuerySet[ToolCall]:
    began = ToolCall.objects.filter(turn__in=turns, started_at__isnull=False)
    writing = began.exclude(tool__in=READING_TOOLS)
    return writing.only("tool", "arguments", "started_at", "finished_at")


def checking_beside(recording: Recording) -> QuerySet[Turn, int]:
    """Turns that ran commands of checks in the folder meanwhile, and are not recorded."""
    folder = stored_folder(recording.root)
    there = Turn.objects.filter(lane=Lane.CHECK, checkpoint__commands_in=folder)
    meanwhile = Q(finished_at=None) | Q(finished_at__gte=recording.began_at)
    return there.filter(meanwhile).values_list("pk", flat=True)


def edits_in(root: str, since: int) -> list[Edits]:
    """Those of people."""
    rows = PersonEdit.objects.filter(root=root, ended__gte=since).order_by("pk")
    return [
        Edits(
            row.began,
            row.ended,
            {path_bytes(path): each and (each[0], each[1]) for path, each in row.files.items()},
            {path_bytes(path): (each[0], each[1]) for path, each in row.folders.items()},
        )
        for row in rows
    ]


def edits_by(store: Store, recording: Recording) -> Edits:
    """What another turn left, which began and ended meanwhile. Raises StoreBroken."""
    assert recording.ended_at is not None
    files = dict[bytes, Left]()
    for each in read_changes(store, recording.changes) if recording.changes else ():
        is_theirs = each.origin != Origin.OUTSIDE and each.kind != "not_recorded"
        for path, _, new in each.sides if is_theirs else ():
            left = new.entry.oid if new else None
            files[path_bytes(path)] = left if each.is_own else Origin.UNSURE
    began, ended = nanoseconds(recording.began_at), nanoseconds(recording.ended_at)
    folders = folders_of(store, recording)
    before = bytes.fromhex(recording.before)

    def had(path: bytes) -> bool:
        return recording.stopped != "" or store.find(before, path) is not None

    return Edits(began, ended, files, folders, had, is_whole=not recording.stopped)


def folders_of(store: Store, recording: Recording) -> dict[bytes, Identity]:
    """The folders of before; none where they are not known. Raises StoreBroken."""
    if not recording.folders:
        return {}
    rows = json.loads(store.read(bytes.fromhex(recording.folders)))
    return {path_bytes(path): (inode, ctime) for path, inode, ctime in rows}


def nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
