"""What is known of who wrote in a recorded folder, read from rows and from the store."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from agents.changes.authorship import Edit, Evidence, Look, Seen, Window, Writes
from agents.changes.store import Store, StoreBroken
from agents.conversation_tree import descendants
from agents.models import Lane, Observation, PersonEdit, Recording, ToolCall, Turn
from agents.models.fields import stored_folder
from agents.models.recording import Identities, Identity, StoredLook
from agents.tools.base import FILE_WRITING_TOOLS, READING_TOOLS, ToolFailed
from agents.tools.confinement import Workspace
from agents.tools.paths import path_bytes, path_text


def evidence_of(recording: Recording) -> Evidence:
    """What calls and people are known to have done since the folder was recorded, and what looks at
    it found."""
    root = Path(recording.root)
    same = Recording.objects.filter(root=recording.root).exclude(pk=recording.pk)
    meanwhile = same.filter(Q(ended_at=None) | Q(ended_at__gte=recording.began_at))
    turns = own_turns(recording)
    others = list(meanwhile.exclude(pk__in=turns).values_list("pk", flat=True))
    looks = list(Observation.objects.filter(recording__in=turns).select_related("call"))
    seen = {each.call_id for each in looks if each.call_id}
    evidence = Evidence(
        nanoseconds(recording.began_at),
        own=writes_of(turns, root),
        unseen=writes_of(turns, root, seen),
        others=writes_of([*others, *checking_beside(recording)], root),
        looks=[look_of(each) for each in looks],
        edits=edits_in(recording.root, nanoseconds(recording.began_at)),
    )
    evidence.others.anywhere += lost_calls(turns)
    return evidence


def add_recorded(evidence: Evidence, store: Store, recording: Recording) -> None:
    """What the recording knows besides, as far as it is kept."""
    before = bytes.fromhex(recording.before)
    skipped = {path_bytes(each["path"]) for each in recording.skipped}
    evidence.had = lambda path: path in skipped or store.find(before, path) is not None
    with suppress(StoreBroken):
        evidence.folders = folders_of(store, recording)


def own_turns(recording: Recording) -> list[int]:
    """The turn, and those of agents that it called: what these did here, it did."""
    below = [turn.pk for turn in descendants([recording.turn], Turn.objects.all())]
    there = Recording.objects.filter(root=recording.root, pk__in=below) if below else ()
    return [recording.pk, *(each.pk for each in there)]


def writes_of(turns: Iterable[int], root: Path, without: Collection[int] = ()) -> Writes:
    """When calls of these turns, and commands of theirs besides, may have written in the folder."""
    writes, workspace, turns = Writes(), Workspace(root), list(turns)
    for call in calls_of(turns).exclude(pk__in=without):
        window = window_of(call)
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


def calls_of(turns: Iterable[int]) -> QuerySet[ToolCall]:
    began = ToolCall.objects.filter(turn__in=turns, started_at__isnull=False)
    writing = began.exclude(writes=False).exclude(writes=None, tool__in=READING_TOOLS)
    rows = writing.only("tool", "arguments", "state", "started_at", "finished_at")
    return rows.annotate(wrote=F("file_change__path"))


def checking_beside(recording: Recording) -> QuerySet[Turn, int]:
    """Turns that ran commands of checks in the folder meanwhile, and are not recorded."""
    folder = stored_folder(recording.root)
    there = Turn.objects.filter(lane=Lane.CHECK, checkpoint__commands_in=folder)
    meanwhile = Q(finished_at=None) | Q(finished_at__gte=recording.began_at)
    return there.filter(meanwhile).values_list("pk", flat=True)


def edits_in(root: str, since: int) -> list[Edit]:
    rows = PersonEdit.objects.filter(root=root, ended__gte=since).order_by("pk")
    return [Edit(row.began, row.ended, with_names(row.files)) for row in rows]


def with_names(files: Identities) -> dict[bytes, Identity | None]:
    return {path_bytes(path): each and (each[0], each[1]) for path, each in files.items()}


def look_of(row: Observation) -> Look:
    """As it was stored."""
    files = {
        path_bytes(path): Seen((inode, changed) if inode else None, moment, path_bytes(was))
        for path, (inode, changed, moment, was) in row.files.items()
    }
    return Look(row.since, row.until, files, window_of(row.call) if row.call else None)


def stored_files(look: Look) -> StoredLook:
    return {
        path_text(path): (*(seen.there or (0, 0)), seen.moment, path_text(seen.was))
        for path, seen in look.files.items()
    }


def seen_so_far(recording: Recording) -> dict[bytes, Identity | None]:
    """What was there at the last looks, of what these found changed."""
    rows = Observation.objects.filter(recording=recording).order_by("pk")
    return {path: seen.there for row in rows for path, seen in look_of(row).files.items()}


def folders_of(store: Store, recording: Recording) -> dict[bytes, int]:
    """The inodes of the folders of before; none where they are not known. Raises StoreBroken."""
    if not recording.folders:
        return {}
    rows = json.loads(store.read(bytes.fromhex(recording.folders)))
    return {path_bytes(path): inode for path, inode, *_ in rows}


def window_of(call: ToolCall) -> Window:
    """When it ran, or has run until now."""
    assert call.started_at is not None, "only those that began are read"
    return nanoseconds(call.started_at), nanoseconds(call.finished_at or timezone.now())


def nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000
