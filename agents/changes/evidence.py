"""What is known of who wrote in a recorded folder, read from rows and from the store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from agents.changes.authorship import Edits, Evidence, Left, Origin, Window, Writes, above
from agents.changes.compare import read_changes
from agents.changes.store import Store, StoreBroken
from agents.conversation_tree import descendants
from agents.models import Lane, PersonEdit, Recording, ToolCall, Turn
from agents.models.fields import stored_folder
from agents.models.recording import Identity
from agents.tools.base import FILE_WRITING_TOOLS, READING_TOOLS, ToolFailed
from agents.tools.confinement import Workspace
from agents.tools.paths import path_bytes


def evidence_of(recording: Recording) -> tuple[Evidence, list[Recording]]:
    """What calls and people are known to have done since the folder was recorded, and what other
    turns were recorded in between."""
    began, root = nanoseconds(recording.began_at), Path(recording.root)
    same = Recording.objects.filter(root=recording.root).exclude(pk=recording.pk)
    meanwhile = same.filter(Q(ended_at=None) | Q(ended_at__gte=recording.began_at))
    own = own_turns(recording)
    others = meanwhile.exclude(pk__in=own)
    others_turns = list(others.values_list("pk", flat=True))
    evidence = Evidence(began, writes_of(own, root), edits=edits_in(recording.root, began))
    evidence.taken = [(path_bytes(path), at) for path, at in recording.taken]
    evidence.written = {path_bytes(path): inode for path, _, inode in recording.written}
    look_after_calls(evidence, own)
    evidence.others = writes_of([*others_turns, *checking_beside(recording)], root)
    evidence.others.anywhere += lost_calls(own)
    inside = others.filter(began_at__gte=recording.began_at, ended_at__isnull=False)
    return evidence, list(inside.order_by("ended_at"))


def own_turns(recording: Recording) -> list[int]:
    """The turn, and those of agents that it called: what these did here, it did."""
    below = [turn.pk for turn in descendants([recording.turn], Turn.objects.all())]
    there = Recording.objects.filter(root=recording.root, pk__in=below) if below else ()
    return [recording.pk, *(each.pk for each in there)]


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
        wrote_nothing = call.state == ToolCall.State.FAILED and not getattr(call, "wrote", "")
        if call.tool not in FILE_WRITING_TOOLS:
            writes.anywhere.append(window)
        elif not wrote_nothing and (path := named_file(workspace, call)):
            writes.files.setdefault(path, []).append(window)
    rows = Turn.objects.filter(pk__in=turns, checkpoint__has_key="commands")
    now = nanoseconds(timezone.now())
    for checkpoint in rows.values_list("checkpoint", flat=True):
        writes.anywhere += [(begin, end or now) for begin, end in checkpoint["commands"]]
    return writes


def lost_calls(turns: Iterable[int]) -> list[Window]:
    """When calls ran, or were taken for running, whose process died: others may have written."""
    rows = Turn.objects.filter(pk__in=list(turns), checkpoint__has_key="lost")
    return [(a, b) for lost in rows.values_list("checkpoint__lost", flat=True) for a, b in lost]


def named_file(workspace: Workspace, call: ToolCall) -> bytes:
    """The file that a call wrote, or names; empty where it is none of the folder."""
    if wrote := getattr(call, "wrote", ""):
        return path_bytes(wrote)
    with suppress(ToolFailed):
        return os.fsencode("/".join(workspace.locate(str(call.arguments.get("path") or ""))))
    return b""


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
    rows = writing.only("tool", "arguments", "state", "started_at", "finished_at", "folders")
    return rows.annotate(wrote=F("file_change__path"))


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
    if not recording.folders:
        return {}
    with Store.of(Path(recording.root)) as store:
        rows = json.loads(store.read(bytes.fromhex(recording.folders)))
    return {path_bytes(path): (inode, ctime) for path, inode, ctime in rows}


def nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000


def joined(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name
