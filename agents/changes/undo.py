"""Taking back what turns changed: the preview, the row that is written first, and the files.

The row names every step before the first file is touched. Whoever finds it unfinished carries it
out to its end: each step is done, or its file is left as somebody changed it meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ParamSpec

from django.db import connections, transaction
from django.dispatch import Signal
from django.utils import timezone

from agents import events, persistence
from agents.changes.compare import Change
from agents.changes.store import Store, StoreBroken
from agents.changes.undo_preview import Fate, FolderMode, Row, preview, steps_for
from agents.changes.undo_steps import Stayed, Step, carry_out, read_steps, store_steps
from agents.db import in_db
from agents.errors import Conflict, Invalid, NotFound, Refused
from agents.models import Conversation, Lane, Message, Recording, Turn, TurnState, Undo
from agents.models.fields import stored_folder
from agents.persistence import put
from agents.pools import RECORDINGS
from agents.stored_text import gettext, ngettext, ngettext_noop, sentences, text_of
from agents.tools import permissions
from agents.tools.confinement import Workspace
from agents.tools.paths import path_bytes
from agents.workspace.edits import noted
from agents.workspace.files import AgentFiles

log = logging.getLogger(__name__)

# After files of the folder `root` were put back, before that counts as finished: again where a
# process ends between the two.
files_restored = Signal()
P = ParamSpec("P")


@dataclass(frozen=True)
class Wanted:
    """What is to be taken back: `paths` of it, or all; of files that were changed since only those
    named in `force`. `seen` is the digest of the preview that a person has read."""

    paths: tuple[str, ...] | None = None
    force: tuple[str, ...] | bool = ()
    seen: str = ""

    def means(self, row: Row) -> bool:
        """Whether it, or what was moved with it, is named."""
        return self.paths is None or not row.together.isdisjoint(self.paths)

    def takes(self, row: Row) -> bool:
        is_said = self.force is True or not row.together.isdisjoint(self.force or ())
        return self.means(row) and (is_said or not row.needs_word)


@dataclass(frozen=True)
class Preview:
    rows: list[Row]

    @property
    def digest(self) -> str:
        """Another one as soon as the preview would be."""
        facts = [
            (row.path, row.fate, row.now and row.now.oid, row.to and row.to.oid)
            for row in self.rows
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


class PreviewChanged(Conflict):
    """The files are not any more as they were when the preview was read."""


class NothingToUndo(Conflict):
    """All files are as they were, were changed again since, or cannot be put back."""


def undo_preview(conversation: Conversation, root: str, changes: Iterable[Change]) -> Preview:
    """What taking these changes back would do now. It shows how files are by now, so it is
    for whoever may still work in the folder."""
    with locked_store(conversation, root) as store:
        rows = preview(Path(root), store, changes)
        store.flush()
    return Preview(rows)


def undo(
    row: Undo,
    changes: list[Change],
    wanted: Wanted,
    mode_before: Callable[[Store], FolderMode],
) -> Undo:
    """Take the changes back, at once. The new `row` says of what they are, where and by whom;
    `mode_before` knows the folders as they were before them.

    Raises Conflict where nothing is left to be undone, or a turn writes in the folder.
    """
    folder = Path(row.root)
    with locked_store(row.conversation, row.root) as store:
        rows = preview(folder, store, changes)
        if wanted.seen and wanted.seen != Preview(rows).digest:
            raise PreviewChanged(gettext("The files have changed since: look once more."))
        demand_named(wanted, changes)
        steps = steps_for(folder, rows, wanted.takes, mode_before(store))
        if not steps:
            raise NothingToUndo(why_nothing([row for row in rows if wanted.means(row)]))
        row.steps = store_steps(store, steps)
        store.flush()
        row.whole = all(wanted.takes(each) and each.fate != Fate.LOST for each in rows)
        row.kept = kept_of(rows, wanted)
        begin(row)
        finish(row, store, steps)
    return row


def kept_of(rows: list[Row], wanted: Wanted) -> dict[str, str]:
    """By path, why files stay that are meant: no word was given for them, or none would help."""
    lost = {row.path: row.stayed for row in rows if row.fate == Fate.LOST and row.why != "moved"}
    kept = dict[str, str]()
    for row in filter(wanted.means, rows):
        if row.fate == Fate.LOST:
            whys = (lost[path] for path in (row.path, *row.others) if path in lost)
            kept[row.path] = str(next(whys, Stayed.BLOCKED))
        elif not wanted.takes(row):
            kept[row.path] = str(row.stayed)
    return kept


@contextmanager
def locked_store(conversation: Conversation, root: str) -> Iterator[Store]:
    """Raises Conflict where the agent works in another folder by now, or may not any more, and
    NotFound where what was recorded cannot be read."""
    folder = Path(root)
    if permissions.of_conversation(conversation).folder.resolve() != folder:
        raise Conflict(gettext("The agent does not work in that folder any more."))
    with while_kept(), Store.of(folder) as store, store.locked(folder):
        yield store


@contextmanager
def while_kept() -> Iterator[None]:
    """Raises NotFound where what was recorded cannot be read any more."""
    try:
        yield
    except StoreBroken:
        log.exception("what was recorded cannot be read")
        raise NotFound(gettext("What it changed is not kept any more.")) from None


def demand_named(wanted: Wanted, changes: Iterable[Change]) -> None:
    """Raises Invalid where no file is named, and NotFound for one that these changes are not of."""
    if wanted.paths is None:
        return
    if not wanted.paths:
        raise Invalid(gettext("Name the files whose changes are to be undone."), "paths")
    known = {path for each in changes for path, _, _ in each.sides}
    for path in wanted.paths:
        if path not in known:
            raise NotFound(gettext("{path} was not changed.").format(path=path[:300]), "paths")


def why_nothing(rows: list[Row]) -> str:
    if any(row.fate == Fate.CHANGED for row in rows):
        return gettext("Nothing to undo: all of it was changed again since.")
    if any(row.needs_word for row in rows):
        return gettext("Nothing to undo: others wrote there too, or may have.")
    if rows:
        return gettext("Nothing to undo: what is left cannot be put back.")
    return gettext("Nothing to undo.")


def demand_quiet(root: str) -> None:
    """Raises Conflict while a turn that may write works there."""
    writing = Recording.objects.filter(root=root, ended_at=None, turn__state=TurnState.RUNNING)
    if writing.exists():
        raise Conflict(gettext("An agent is writing in this folder. Pause or stop it first."))
    checking = Turn.objects.filter(lane=Lane.CHECK, state=TurnState.RUNNING)
    if checking.filter(checkpoint__commands_in=stored_folder(root)).exists():
        sentence = gettext(
            "Checks are being run in this folder: wait until they are through, or stop them."
        )
        raise Conflict(sentence)


async def enter_folder(turn: Turn) -> None:
    """Before a command of a turn that is not recorded: an undo that has begun is waited for, one
    that comes later finds the turn's row. Raises Conflict where one was cut off for good."""
    root = await in_db(note_folder, turn)
    if not await finish_undos(root):
        raise Conflict(gettext("Files are being put back in this folder: try again after that."))


async def finish_undos(root: Path) -> bool:
    """Wait for an undo that is writing there, and finish what a process has left of one; false
    where that cannot be done. Raises Conflict where the wait is over a minute."""
    await RECORDINGS.run(wait_for_writers, root)
    cut_off = await in_db(unfinished, str(root))
    for pk in cut_off:
        await RECORDINGS.run(in_own_connection, finish_cut_off, pk)
    return not cut_off or not await in_db(unfinished, str(root))


def in_own_connection(work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """On a thread that reads files between its queries, so on none that others wait for."""
    try:
        work(*args, **kwargs)
    finally:
        connections.close_all()


def note_folder(turn: Turn) -> Path:
    with persistence.fenced(turn):
        root = permissions.of_turn(turn).folder.resolve()
        persistence.checkpoint(turn, commands_in=stored_folder(str(root)))
    return root


def wait_for_writers(root: Path) -> None:
    with Store.of(root) as store, store.locked(root):
        pass


@transaction.atomic
def begin(row: Undo) -> None:
    """From here on it is carried out, whatever happens to this process."""
    events.lock_conversation(row.conversation_id)
    demand_quiet(row.root)
    if row.reverses is not None and row.reverses.is_reversed:
        raise Conflict(gettext("This was undone already."))
    row.save()


def finish(row: Undo, store: Store, steps: list[Step]) -> None:
    """Carry out what is left of it, and report that; the caller holds the store's lock."""
    workspace = Workspace(Path(row.root))
    with noted(workspace, *(os.fsdecode(path_bytes(step.path)) for step in steps)):
        files = partial(AgentFiles.of, row.conversation)
        kept = carry_out(workspace.root, store, steps, f"undo {row.pk}", files)
    row.kept = {**row.kept, **kept}
    row.files, row.removed = counts_of(step for step in steps if step.path not in kept)
    row.whole = row.whole and not kept
    record_end(row, outcome_of(row))


def give_up(row: Undo) -> None:
    """What is left of it is lost, and how far it came is not known. Nobody is to wait for it."""
    row.steps, row.files, row.removed, row.whole = "", 0, 0, False
    words = gettext("It was cut off, and what was left to do is lost: look through the files.")
    record_end(row, sentences(text_of(row.sentence), words))


def record_end(row: Undo, words: str) -> None:
    """It is over, and the conversation says what came of it."""
    files_restored.send(sender=Undo, root=row.root)
    row.finished_at = timezone.now()
    with transaction.atomic():
        events.lock_conversation(row.conversation_id)
        row.save(update_fields=["steps", "kept", "files", "removed", "whole", "finished_at"])
        message = Message(role="system", kind=Message.Kind.NOTICE, text=words)
        message.meta = {"undo": row.pk} if row.steps else {}
        put(message, row.conversation_id, row.by)
        seq = events.record(row.conversation_id, "files.undone", f"undo:{row.pk}", row.by)
        close_notices(row, seq)


def close_notices(row: Undo, seq: int) -> None:
    """The notice of the undo that this one reverses offers that no more, once nothing of it is
    left; nor do those of undos that brought back what it has taken away once more."""
    undone = [row.reverses_id] if row.whole and row.reverses_id else []
    if row.whole and not row.reverses_id:
        again = Undo.objects.filter(conversation=row.conversation_id, reverses__subject=row.subject)
        undone += again.filter(pk__lt=row.pk).values_list("pk", flat=True)
    notices = Message.objects.filter(conversation=row.conversation_id, meta__undo__in=undone)
    for message in notices:
        message.meta, message.changed_seq = {**message.meta, "reversed": True}, seq
        message.save(update_fields=["meta", "changed_seq"])


def counts_of(steps: Iterable[Step]) -> tuple[int, int]:
    """How many files they put back or took away, and how many of these they took away. What left
    one path and came back at another is one file, and was put back."""
    steps = list(steps)
    came = Counter(step.to.oid for step in steps if step.to and not step.expect and step.to.size)
    left = [step.expect.oid for step in steps if step.expect and not step.to]
    moved = (Counter(left) & came).total()
    return len(steps) - moved, len(left) - moved


# What came of an undo: files put back, taken away, and left as they were for a reason.
OUTCOMES = {
    "restored": ngettext_noop("{n} file restored.", "{n} files restored."),
    "removed": ngettext_noop("{n} file removed.", "{n} files removed."),
    "changed": ngettext_noop(
        "{n} file stayed: it was changed meanwhile.",
        "{n} files stayed: they were changed meanwhile.",
    ),
    "unsure": ngettext_noop(
        "{n} file stayed: others may have written it.",
        "{n} files stayed: others may have written them.",
    ),
    "full": ngettext_noop(
        "{n} file stayed: the disk is full.", "{n} files stayed: the disk is full."
    ),
    "forbidden": ngettext_noop(
        "{n} file stayed: writing it is not permitted.",
        "{n} files stayed: writing them is not permitted.",
    ),
    "not_kept": ngettext_noop(
        "{n} file stayed: what it was is not kept any more.",
        "{n} files stayed: what they were is not kept any more.",
    ),
    "blocked": ngettext_noop(
        "{n} file stayed: something else stands in its place.",
        "{n} files stayed: something else stands in their place.",
    ),
    "failed": ngettext_noop(
        "{n} file stayed: the disk failed.", "{n} files stayed: the disk failed."
    ),
}


def outcome_of(row: Undo) -> str:
    counts = {"restored": row.files - row.removed, "removed": row.removed}
    counts |= dict(sorted(Counter(row.kept.values()).items()))
    said = (ngettext(*OUTCOMES[what], n).format(n=n) for what, n in counts.items() if n)
    return sentences(text_of(row.sentence), *said)


def unfinished(root: str = "") -> list[int]:
    """Undos that have begun and not ended, in all folders or in one, the oldest first."""
    rows = Undo.objects.filter(finished_at=None).order_by("pk")
    return list((rows.filter(root=root) if root else rows).values_list("pk", flat=True))


def finish_cut_off(pk: int) -> None:
    """One that a process began and did not end."""
    row = Undo.objects.filter(pk=pk, finished_at=None).first()
    if row is None:
        return
    folder = Path(row.root)
    try:
        with Store.of(folder) as store, store.locked(folder):
            row.refresh_from_db()
            if row.finished_at is None:  # whoever held the lock was at work on it
                finish_or_give_up(row, store)
    except (StoreBroken, Refused, OSError):
        log.exception("undo %s could not be finished", pk)


def finish_or_give_up(row: Undo, store: Store) -> None:
    try:
        steps = read_steps(store, row.steps)
    except StoreBroken as broken:
        if broken.for_now:
            raise
        log.exception("what was left of undo %s is lost", row.pk)
        give_up(row)
        return
    finish(row, store, steps)


def steps_of(row: Undo) -> list[Step]:
    """What an undo itself has done. Raises NotFound where that is not kept any more."""
    if not row.steps:
        raise NotFound(gettext("What it changed is not kept any more."))
    with while_kept(), Store.of(Path(row.root)) as store:
        steps = read_steps(store, row.steps)
    return [step for step in steps if step.path not in row.kept]
