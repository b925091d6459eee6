"""How files were when the run of a plan began, by which a check says that one is unchanged.

An attempt keeps, by path, the digest of every file that a check of its approved version wants
unchanged, whichever subtask it is of. The first that is known holds, whatever is retried, revised
or reworded, until a person takes the file as it is.
"""

from __future__ import annotations

import io
import stat
from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from django.db.models import Exists, OuterRef
from django.utils import timezone

from agents import persistence
from agents.changes.store import Store, StoreBroken
from agents.db import in_db
from agents.errors import Conflict
from agents.models import Recording, Turn
from agents.pools import FILES
from agents.stored_text import gettext
from agents.tools import permissions
from agents.tools.base import ToolFailed
from agents.tools.confinement import Workspace
from agents.tools.paths import path_bytes
from plans.check_probes import ABSENT, Baseline, digest_of, file_digest
from plans.check_results import approved_checks
from plans.models import Attempt, Plan, PlanVersion, Subtask


async def note_beginning(turn: Turn) -> None:
    """Before anything is done in an attempt: what checks will want to find as it was. The files may
    be large, so they are read on a thread that nobody else waits for."""
    attempt, paths = await in_db(to_be_noted, turn)
    if attempt is not None and paths:
        folder = (await in_db(permissions.of_turn, turn)).folder
        now = await FILES.run(digests, paths, Workspace(folder))
        await in_db(save_beginning, turn, attempt, now)


def to_be_noted(turn: Turn) -> tuple[Attempt | None, set[str]]:
    """The attempt, where its plan has checks, and the files of which nothing is known yet."""
    checked = Subtask.objects.filter(plan=OuterRef("subtask__plan"), checks_made__gt=0)
    rows = Attempt.objects.select_related("subtask__plan").annotate(checked=Exists(checked))
    attempt = rows.filter(turn=turn).first()
    if attempt is None or not attempt.checked:
        return None, set()
    if approved_checks(attempt):
        with persistence.fenced(turn):
            persistence.checkpoint(turn, checks=True)
    plan = attempt.subtask.plan_id
    text = PlanVersion.objects.get(plan=plan, version=attempt.version).text
    checks = [check for each in text["subtasks"] for check in each["checks"]]
    paths = {str(check["path"]) for check in checks if check.get("unchanged")}
    noted = Attempt.objects.filter(subtask__plan=plan, before__isnull=False) if paths else ()
    return attempt, paths.difference(*(each.before or () for each in noted))


def digests(paths: Collection[str], workspace: Workspace) -> dict[str, str]:
    """Of those that could be read; of the others nobody can say later that they are unchanged."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            found[path] = digest_of(workspace, path)
        except ToolFailed:
            continue
    return found


def save_beginning(turn: Turn, attempt: Attempt, now: dict[str, str]) -> None:
    """A person may have taken one of them as it is meanwhile."""
    with persistence.fenced(turn):
        add_to(Attempt.objects.select_for_update().get(pk=attempt.pk), now, over=False)


def add_to(attempt: Attempt, found: Mapping[str, object], *, over: bool) -> None:
    known = attempt.before or {}
    attempt.before = {**known, **found} if over else {**found, **known}
    attempt.save(update_fields=["before"])


class Known(NamedTuple):
    """What attempts have noted of a file, or else which recording was made as the run began."""

    baseline: Baseline | None
    recording: Recording | None = None

    def in_folder(self, workspace: Workspace, path: str) -> Baseline | None:
        """By that recording, if it is of this folder and kept; reads files."""
        made = self.recording
        if made is None or made.root != str(workspace.root.resolve()):
            return self.baseline
        digest = recorded_digest(made, "/".join(workspace.entry_parts(path)))
        return Baseline(digest, made.began_at) if digest else self.baseline


def known_of(plan: Plan, path: str) -> Known:
    """The first attempt has looked at what was approved by then; how a file was that only a later
    version names is in its recording of the folder."""
    rows = Attempt.objects.filter(subtask__plan=plan).order_by("pk")
    attempts = list(rows.values_list("turn", "turn__started_at", "before"))
    noted = [(each[path], began) for _, began, each in attempts if began and each and path in each]
    if taken := [kept for kept, _ in noted if isinstance(kept, list)]:  # by a person
        digest, moment = taken[-1]
        return Known(Baseline(digest, datetime.fromisoformat(moment)))
    baseline = Baseline(*noted[0]) if noted else None
    if not attempts or path in (attempts[0][2] or ()):
        return Known(baseline)
    return Known(baseline, Recording.objects.filter(turn=attempts[0][0]).exclude(before="").first())


def recorded_digest(recording: Recording, path: str) -> str:
    """As it was recorded, or nothing where that is not known."""
    with Store.of(Path(recording.root)) as store:
        try:
            entry = store.find(bytes.fromhex(recording.before), path_bytes(path))
            if entry is not None and stat.S_ISREG(entry.mode):
                return file_digest(io.BytesIO(store.read(entry.oid)), entry.mode)
        except StoreBroken:
            return ""
    is_skipped = any(each["path"] == path for each in recording.skipped)
    return "" if entry is not None or is_skipped or recording.leaves_out else ABSENT


def take(plan: Plan, path: str, folder: Path) -> None:
    """Measure it from now on by what is there. Raises Conflict where that cannot be told."""
    attempt = Attempt.objects.select_for_update().filter(subtask__plan=plan).order_by("pk").last()
    if attempt is None:
        raise Conflict(gettext("The plan has not begun: every file is as it is now."))
    try:
        digest = digest_of(Workspace(folder), path)
    except ToolFailed as why:
        raise Conflict(str(why)) from None
    add_to(attempt, {path: [digest, timezone.now().isoformat()]}, over=True)
