"""Recording the folder of a turn: before it writes anything, and after its end.

Files are read on other threads, rows are written on the database's. Whatever goes wrong here, the
turn goes on: it is then noted that nothing is known of its changes.
"""

from __future__ import annotations

import asyncio
import logging
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
from agents.changes.authorship import Window, Windows
from agents.changes.compare import (
    Change,
    Sums,
    changes_between,
    read_changes,
    stored_changes,
    sums_of,
)
from agents.changes.paths import path_bytes, path_text
from agents.changes.scan import Skipped, Snapshot, record
from agents.changes.store import Store, StoreBroken
from agents.changes.undo import finish_undos, unfinished
from agents.changes.unified import diff_text, patch_text
from agents.conversation_tree import descendants
from agents.db import in_db
from agents.errors import Refused
from agents.models import Lane, Recording, SkippedFile, ToolCall, Turn
from agents.models.fields import stored_folder
from agents.pools import RECORDINGS
from agents.tools import permissions
from agents.tools.base import PLAN_TOOLS, SEARCH_TOOLS, Tool, ToolFailed
from agents.tools.confinement import Workspace

log = logging.getLogger(__name__)

# In the transaction that stores what an ended `turn` has changed.
turn_recorded = Signal()

MOST_DIFF = 60_000  # characters of a diff for a model
AGAIN = 5.0  # seconds until an undo that is still not over is looked at once more
MOST_SKIPPED = 1_000  # files that are named as not recorded
FAILURES = (OSError, Refused, StoreBroken)
WRITES_FILE = ("write_file", "edit_file")
# What writes nothing into the folder, or in turns of its own.
READS = {*PLAN_TOOLS, SEARCH_TOOLS, "list_files", "read_file", "search_files", "fetch_url"}


def writes(tool: Tool) -> bool:
    """Whether a call of it may change files of the folder."""
    return not tool.read_only and tool.name not in READS and tool.name != "run_agent"


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


async def record_before(turn: Turn) -> None:
    """Once for a turn, however often it is taken up again."""
    if turn.checkpoint.get("recorded"):
        return
    root = await in_db(folder_of, turn)
    began = timezone.now()
    snapshot = await RECORDINGS.run(recorded, root)
    if snapshot.stopped == Recording.Stopped.FAILED and await is_being_undone(root):
        await wait_for_undos(root)
        began = timezone.now()
        snapshot = await RECORDINGS.run(recorded, root)
    await in_db(save_before, turn, root, began, snapshot)
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


def recorded(root: Path) -> Snapshot:
    """What the folder holds now; where it cannot be recorded, that it failed."""
    try:
        with Store.of(root) as store, store.locked(root):
            return record(root, store)
    except FAILURES:
        log.exception("%s could not be recorded", root)
        return Snapshot(stopped=Recording.Stopped.FAILED)


def save_before(turn: Turn, root: Path, began: datetime, snapshot: Snapshot) -> None:
    with persistence.fenced(turn):
        Recording.objects.get_or_create(
            turn=turn,
            defaults={
                "root": str(root),
                "before": snapshot.tree.hex(),
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
        found = await RECORDINGS.run(compared, recording, await in_db(windows_of, recording))
        await in_db(save_after, turn, recording, found)


async def record_ended(turn_id: int) -> None:
    """Of a turn that ended without it: it was stopped, or nobody had it. The first one counts."""
    if recording := await in_db(open_recording, turn_id):
        found = await RECORDINGS.run(compared, recording, await in_db(windows_of, recording))
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
    found = await RECORDINGS.run(compared, recording, await in_db(windows_of, recording))
    recording.changes = found.changes
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


def compared(recording: Recording, windows: Windows) -> Found:
    """The folder as it is now beside what it was, and whose changes these are."""
    if recording.stopped:
        return Found(stopped=recording.stopped)
    root = Path(recording.root)
    try:
        with Store.of(root) as store, store.locked(root):
            snapshot = record(root, store)
            if snapshot.stopped:
                return Found(stopped=snapshot.stopped)
            changes = changes_now(store, recording, windows, snapshot)
            oid = store.add_blob(stored_changes(changes))
            store.flush()
            store.gather_small()
            sums, leaves_out = sums_of(changes), snapshot.leaves_out
            return Found(snapshot.tree.hex(), oid.hex(), sums, leaves_out=leaves_out)
    except FAILURES:
        log.exception("%s could not be recorded", root)
        return Found(stopped=Recording.Stopped.FAILED)


def changes_now(
    store: Store, recording: Recording, windows: Windows, snapshot: Snapshot
) -> list[Change]:
    skipped = {
        path_bytes(each["path"]): Skipped(each["reason"], each["size"], each.get("at", 0))
        for each in recording.skipped
    }
    if len(skipped) == MOST_SKIPPED:  # how further ones were is not known
        last = max(skipped)
        skipped |= {path: each for path, each in snapshot.skipped.items() if path > last}
    before = bytes.fromhex(recording.before)
    return changes_between(store, before, skipped, snapshot, windows, Path(recording.root))


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


# When who may have written


def windows_of(recording: Recording) -> Windows:
    """Of the turn's calls, and of those of other turns in the same folder meanwhile."""
    windows = Windows(nanoseconds(recording.began_at))
    workspace = Workspace(Path(recording.root))
    for call in calls_of([recording.turn_id]):
        add_window(windows.wide, windows.files, call, workspace)
    windows.wide += command_windows([recording.turn_id])
    same = Recording.objects.filter(root=recording.root).exclude(pk=recording.pk)
    meanwhile = same.filter(Q(ended_at=None) | Q(ended_at__gte=recording.began_at))
    helpers = descendants([recording.turn], Turn.objects.all())  # what they did, it did
    turns = list(meanwhile.exclude(turn__in=helpers).values_list("pk", flat=True))
    for call in calls_of(turns).filter(
        Q(finished_at=None) | Q(finished_at__gte=recording.began_at)
    ):
        add_window(windows.others_wide, windows.others_files, call, workspace)
    windows.others_wide += command_windows([*turns, *checking_beside(recording)])
    return windows


def checking_beside(recording: Recording) -> QuerySet[Turn, int]:
    """Turns that ran commands of checks in the folder meanwhile, and are not recorded."""
    folder = stored_folder(recording.root)
    there = Turn.objects.filter(lane=Lane.CHECK, checkpoint__commands_in=folder)
    meanwhile = Q(finished_at=None) | Q(finished_at__gte=recording.began_at)
    return there.filter(meanwhile).values_list("pk", flat=True)


def command_windows(turns: Iterable[int]) -> list[Window]:
    """When commands ran in turns by no call of the model: what is known to be done is checked."""
    rows = Turn.objects.filter(pk__in=list(turns), checkpoint__has_key="commands")
    now = nanoseconds(timezone.now())
    checkpoints = rows.values_list("checkpoint", flat=True)
    return [(begin, end or now) for each in checkpoints for begin, end in each["commands"]]


def calls_of(turns: Iterable[int]) -> QuerySet[ToolCall]:
    began = ToolCall.objects.filter(turn__in=list(turns), started_at__isnull=False)
    return began.exclude(tool__in=READS).only("tool", "arguments", "started_at", "finished_at")


def add_window(
    wide: list[Window], files: dict[bytes, list[Window]], call: ToolCall, workspace: Workspace
) -> None:
    until = call.finished_at or timezone.now()
    assert call.started_at is not None, "only those that began are read"
    window = (nanoseconds(call.started_at), nanoseconds(until))
    if call.tool not in WRITES_FILE:
        wide.append(window)
        return
    try:
        parts = workspace.locate(str(call.arguments.get("path") or ""))
    except ToolFailed:
        return
    path = b"/".join(part.encode(errors="surrogateescape") for part in parts)
    files.setdefault(path, []).append(window)


def nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
