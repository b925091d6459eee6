"""Whose changes are asked for: those of a plan, a subtask, a turn, a conversation, or an undo.

Page, API, commands, tools and the reviewer ask here which recordings these are, what has been taken
back of them, and what taking them back is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from agents.changes.authorship import Origin
from agents.changes.compare import Change
from agents.changes.recording import compare_now
from agents.changes.store import Store
from agents.changes.undo import steps_of
from agents.changes.undo_preview import FolderMode, modes_before, modes_in_tree
from agents.changes.undo_steps import Step, as_changes
from agents.db import in_db
from agents.errors import NotFound
from agents.models import Conversation, Recording, Turn, Undo
from agents.pools import FILES
from agents.stored_text import gettext
from plans.changes.held import composed_changes
from plans.changes.recorded import Changes, changes_of, changes_text, recordings_of
from plans.changes.undone import TakenBack, UndoHistory, subject_of_plan, subject_of_turn
from plans.models import Plan, Subtask


@dataclass(frozen=True)
class Scope:
    """A conversation's are those of its turns that have ended, an undo's what it did itself."""

    about: Plan | Subtask | Turn | Conversation | Undo

    @classmethod
    def named(cls, plan: Plan, key: str) -> Scope:
        """Of the subtask with the key, or without one of the plan. Raises NotFound."""
        if not key:
            return cls(plan)
        subtask = plan.subtasks.filter(key=key).first()
        if subtask is None:
            raise NotFound(gettext("There is no subtask {key} in this plan.").format(key=key[:20]))
        return cls(subtask)

    @property
    def plan(self) -> Plan | None:
        about = self.about
        return (
            about.plan if isinstance(about, Subtask) else about if isinstance(about, Plan) else None
        )

    @property
    def subtask(self) -> Subtask | None:
        return self.about if isinstance(self.about, Subtask) else None

    @property
    def key(self) -> str:
        """The subtask's, else empty."""
        return self.subtask.key if self.subtask else ""

    @property
    def turn(self) -> Turn | None:
        return self.about if isinstance(self.about, Turn) else None

    @property
    def undo(self) -> Undo | None:
        return self.about if isinstance(self.about, Undo) else None

    @cached_property
    def conversation(self) -> Conversation:
        about = self.plan or self.about
        assert not isinstance(about, Subtask), "a subtask has a plan"
        return about if isinstance(about, Conversation) else about.conversation

    # What was recorded

    @cached_property
    def changes(self) -> Changes:
        rows, about = Recording.objects.order_by("turn"), self.about
        match about:
            case Plan():
                return changes_of(recordings_of.models(plan=about.pk))
            case Subtask():
                return changes_of(rows.filter(turn__attempt__subtask=about))
            case Turn():
                return changes_of(rows.filter(turn=about))
            case Conversation():
                return changes_of(rows.filter(turn__conversation=about, ended_at__isnull=False))
            case Undo():
                return Changes(about.root)

    async def text(self, path: str | None = None, *, diff: bool = False) -> str:
        """As models read them."""
        changes, files = await self.so_far()
        return await FILES.run(changes_text, changes, files, path, diff)

    async def so_far(self) -> tuple[Changes, list[Change]]:
        """What was recorded, and the files; of a turn that has not ended, those until now."""
        changes = await in_db(lambda: self.changes)
        lists = [each.changes for each in changes.kept]
        if self.turn is not None and changes.recordings and not changes.ended:
            await compare_now(recording := changes.recordings[-1])
            lists = [recording.changes] if recording.changes else []
        return changes, [*await FILES.run(composed_changes, changes.root, tuple(lists))]

    # What was taken back of it, and may be

    @property
    def subject(self) -> str:
        """As `Undo.subject` names it."""
        if self.turn is not None:
            return subject_of_turn(self.turn.pk)
        if self.plan is not None:
            return subject_of_plan(self.plan.pk, self.key)
        return f"undo:{self.about.pk}"

    @property
    def sentence(self) -> str:
        """For the conversation, which has one owner, who alone may undo."""
        match self.about:
            case Plan(title=title):
                return gettext("You undid the changes of the plan “{title}”.").format(title=title)
            case Subtask():
                return gettext("You undid the changes of subtask {number}.").format(
                    number=self.number
                )
            case Turn():
                return gettext("You undid the changes of a reply.")
            case _:
                return gettext("You undid an undo.")

    @property
    def number(self) -> int | str:
        """The subtask's, or its key once it has left the list."""
        assert self.subtask is not None
        return self.subtask.key if self.subtask.position is None else self.subtask.position

    @cached_property
    def undos(self) -> UndoHistory:
        return UndoHistory(self.conversation.pk)

    @cached_property
    def taken_back(self) -> TakenBack:
        recordings = self.changes.recordings
        if self.turn is not None:
            return self.undos.of_turn(self.turn.pk, recordings)
        assert self.plan is not None, "it is about one or the other"
        return self.undos.of_plan(self.plan.pk, recordings, self.key)

    @property
    def standing(self) -> list[Change]:
        """Its own that no undo has taken back."""
        own = (each for each in self.changes.files if each.origin == Origin.OWN)
        gone = self.taken_back
        return [] if gone.at else [each for each in own if each.path not in gone.paths]

    @cached_property
    def steps(self) -> list[Step]:
        """Of an undo. Raises NotFound where they are not kept any more."""
        assert self.undo is not None
        return steps_of(self.undo)

    def to_undo(self) -> list[Change]:
        """What taking all of it back has to look at. Raises NotFound."""
        if self.undo is not None:
            return as_changes(self.steps)
        return UndoHistory(self.conversation.pk).to_undo(self.changes)

    def modes_then(self, store: Store) -> FolderMode:
        """Of folders as they were before it."""
        if self.undo is not None:
            return modes_before(self.steps)
        return modes_in_tree(store, bytes.fromhex(self.changes.kept[0].before))
