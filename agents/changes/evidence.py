"""What is known of who wrote in a recorded folder, read from rows and from the store."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from django.db.models import Q, QuerySet
from django.utils import timezone

from agents.changes.authorship import TICK, Edits, Evidence, Left, Origin, Writes, above
from agents.changes.compare import read_changes
from agents.changes.store import Store, StoreBroken
from agents.conversation_tree import descendants
from agents.models import Lane, PersonEdit, Recording, ToolCall, Turn
from agents.models.fields import stored_folder
from agents.models.recording import Identity
from agents.tools.base import FILE_WRITING_TOOLS, READING_TOOLS, ToolFailed
from agents.tools.confinement import Workspace
from agents.tools.paths import path_bytes, path_text

MOST_FOLDERS = 5_000  # that are looked at before and after each call
MOST_TOUCHED = 1_000  # of them that one call names


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
    look_after_calls(evidence, own)
    evidence.others = writes_of([*others_turns, *checking_beside(recording)], root)
    inside = others.filter(began_at__gte=recording.began_at, ended_at__isnull=False)
    return evidence, list(inside.order_by("ended_at"))


def add_recorded(
    evidence: Evidence, store: Store, recording: Recording, inside: Iterable[Recording]
) -> None:
    """What recordings know besides, as far as they are kept."""
    with suppress(StoreBroken):
        folders = folders_of(recording)
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


def look_after_calls(evidence: Evidence, turns: Iterable[int]) -> None:
    """What calls of these turns changed, as they say themselves: nothing of it where one does not,
    or where commands of checks ran besides."""
    calls = list(calls_of(turns).order_by("started_at"))
    checked = Turn.objects.filter(pk__in=turns, checkpoint__has_key="commands")
    if checked.exists() or any(call.folders is None for call in calls):
        return
    evidence.touched, evidence.removed = set(), set()
    for call in calls:
        assert call.started_at is not None, "only those that began are read"
        began = nanoseconds(call.started_at)
        by_others = {path for path, at in evidence.taken if at < began}
        for folder, names in (call.folders or {}).items():
            path = path_bytes(folder)
            evidence.touched.add(path)
            evidence.removed |= {joined(path, path_bytes(each)) for each in names} - by_others


def calls_of(turns: Iterable[int]) -> QuerySet[ToolCall]:
    began = ToolCall.objects.filter(turn__in=turns, started_at__isnull=False)
    writing = began.exclude(writes=False).exclude(writes=None, tool__in=READING_TOOLS)
    return writing.only("tool", "arguments", "started_at", "finished_at", "folders")


def checking_beside(recording: Recording) -> QuerySet[Turn, int]:
    """Turns that ran commands of checks in the folder meanwhile, and are not recorded."""
    folder = stored_folder(recording.root)
    there = Turn.objects.filter(lane=Lane.CHECK, checkpoint__commands_in=folder)
    meanwhile = Q(finished_at=None) | Q(finished_at__gte=recording.began_at)
    return there.filter(meanwhile).values_list("pk", flat=True)


def edits_in(root: str, since: int) -> list[Edits]:
    """Those of people."""
    rows = PersonEdit.objects.filter(root=root, ended__gte=since).order_by("pk")
    return [edits_of(row) for row in rows]


def edits_of(row: PersonEdit) -> Edits:
    files = {path_bytes(path): each and (each[0], each[1]) for path, each in row.files.items()}
    folders = {path_bytes(path): (each[0], each[1]) for path, each in row.folders.items()}
    nearest = (next((each for each in above(path) if each in folders), b"") for path in files)
    return Edits(row.began, row.ended, files, folders, frozenset(nearest))


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
    folders = folders_of(recording)
    before = bytes.fromhex(recording.before)

    def had(path: bytes) -> bool:
        return recording.stopped != "" or store.find(before, path) is not None

    return Edits(began, ended, files, folders, had=had, is_whole=not recording.stopped)


def folders_of(recording: Recording) -> Mapping[bytes, Identity]:
    """The folders of before; none where they are not known. Raises StoreBroken."""
    return read_folders(recording.root, recording.folders) if recording.folders else {}


@lru_cache(maxsize=4)
def read_folders(root: str, oid: str) -> Mapping[bytes, Identity]:
    """Read before and after each call; what is stored under a digest never changes."""
    with Store.of(Path(root)) as store:
        rows = json.loads(store.read(bytes.fromhex(oid)))
    return {path_bytes(path): (inode, ctime) for path, inode, ctime in rows}


def nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000


def known_so_far(recording: Recording) -> tuple[Evidence, set[bytes]]:
    """Of a turn that is at work, and the entries that looks have found to differ from before."""
    began, root = nanoseconds(recording.began_at), Path(recording.root)
    own = writes_of([recording.pk], root)
    seen = {path_bytes(path) for path, _ in recording.taken}
    for folders in calls_of([recording.pk]).values_list("folders", flat=True):
        for folder, names in (folders or {}).items():
            seen |= {joined(path_bytes(folder), path_bytes(name)) for name in names}
    return Evidence(began, own, edits=edits_in(recording.root, began)), seen


def taken_from(
    store: Store, recording: Recording, evidence: Evidence, seen: set[bytes]
) -> list[tuple[str, int]]:
    """Entries of folders of before that others removed or brought while the turn wrote nothing,
    with the ctimes of these folders, but for what people are known to have done: the kernel notes
    the last change alone, so a call that follows may hide this one. Raises StoreBroken."""
    folders, found = folders_of(recording), []
    for path, now in folder_times(recording):
        at = evidence.unexplained(path, folders[path][0], now or 0)
        if at >= evidence.began and not evidence.own.has(at):
            names = differing(store, recording, path, evidence)
            entries = {joined(path, name) for name in names} - seen
            found += [(path_text(entry), at) for entry in entries]
    return found[: MOST_TOUCHED - len(recording.taken)]


def folders_touched(
    store: Store, recording: Recording, call: ToolCall
) -> dict[str, list[str]] | None:
    """Folders of before in which something may have come or gone since a call began, with what
    differs there from before; those that are not at their place are among them. None where there
    is too much. Raises StoreBroken."""
    if call.started_at is None or len(folders_of(recording)) > MOST_FOLDERS:
        return None
    began = nanoseconds(call.started_at) - TICK
    found = {
        path_text(path): [path_text(name) for name in differing(store, recording, path)]
        for path, at in folder_times(recording)
        if at is None or at >= began
    }
    return found if len(found) + sum(map(len, found.values())) <= MOST_TOUCHED else None


def differing(
    store: Store, recording: Recording, folder: bytes, quiet: Evidence | None = None
) -> set[bytes]:
    """The names that are in it no more, those of folders that were not there before, and of new
    files that were changed last while the turn wrote nothing; nothing of a folder that is gone."""
    tree = bytes.fromhex(recording.before)
    if folder:
        entry = store.find(tree, folder)
        tree = entry.oid if entry and entry.is_folder else b""
    before = {*store.tree(tree)} if tree else set()
    try:
        with os.scandir(os.fsencode(recording.root) + b"/" + folder) as listing:
            now = {each.name: each.stat(follow_symlinks=False) for each in listing}
    except OSError:
        return set()
    gone, new = before - now.keys(), now.keys() - before
    return gone | {name for name in new if is_of_others(now[name], quiet)}


def is_of_others(status: os.stat_result, quiet: Evidence | None) -> bool:
    """Whether a new entry is one to note: a folder, or a file that others changed last."""
    if stat.S_ISDIR(status.st_mode):
        return True
    at = status.st_ctime_ns
    return quiet is not None and at >= quiet.began and not quiet.own.has(at)


def joined(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def folder_times(recording: Recording) -> Iterator[tuple[bytes, int | None]]:
    """The ctimes of folders of before, None for one that is not at its place; none of too many.

    Raises StoreBroken.
    """
    folders = folders_of(recording)
    for path, (inode, _) in folders.items() if len(folders) <= MOST_FOLDERS else ():
        status = None
        with suppress(OSError):
            status = (Path(recording.root) / os.fsdecode(path)).lstat()
        is_there = status is not None and status.st_ino == inode
        yield path, status.st_ctime_ns if status and is_there else None
