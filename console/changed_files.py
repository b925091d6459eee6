"""The page of what a subtask, a plan or a turn changed: its files, their diffs, and the undo."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.translation import gettext

from agents.changes.compare import Change, Version, text_of
from agents.changes.store import Store, StoreBroken
from agents.changes.unified import mode_of
from agents.errors import NotFound
from agents.models import Conversation, ToolCall, Turn
from agents.tools.images import NotShown, image_of
from console.changes.lines import Diff, change_signs, diff_of_files
from console.form_parsing import number
from console.language import format_size
from plans.changes.recorded import Changes, changes_named, changes_of_turn
from plans.changes.undone import TakenBack, UndoHistory
from plans.models import Plan

MOST_DRAWN = 20  # files of which the page has the diffs; of more, each is fetched
MOST_LISTED = 100  # files on one page
LONGEST_COMMAND = 80  # characters of one that is named
Side = Literal["old", "new"]


@dataclass(frozen=True)
class Subject:
    """What the page is about: the subtask with the key, the whole plan, or one turn."""

    conversation: Conversation
    plan: Plan | None = None
    key: str = ""
    turn: Turn | None = None

    @cached_property
    def changes(self) -> Changes:
        if self.turn is not None:
            return changes_of_turn(self.turn.pk)
        assert self.plan is not None, "it is about one or the other"
        return changes_named(self.plan, self.key)

    @cached_property
    def subtask_number(self) -> int | str:
        assert self.plan is not None
        return self.plan.subtasks.get(key=self.key).position or self.key

    @property
    def query(self) -> str:
        if self.turn is not None:
            return urlencode({"turn": self.turn.pk})
        assert self.plan is not None
        return urlencode({"plan": self.plan.pk, **({"subtask": self.key} if self.key else {})})

    def address(self, name: str, **more: object) -> str:
        query = f"{self.query}&{urlencode(more)}" if more else self.query
        return f"{reverse(name, args=[self.conversation.pk])}?{query}"

    @property
    def title(self) -> str:
        if self.turn is not None:
            return gettext("Changes of this reply")
        if not self.key:
            return gettext("Changes of the plan")
        return gettext("Changes of subtask {number}").format(number=self.subtask_number)

    @property
    def began_at(self) -> datetime | None:
        return self.changes.kept[0].began_at if self.changes.kept else None

    @cached_property
    def taken_back(self) -> TakenBack:
        """What undos have taken back of it."""
        undos, recordings = UndoHistory(self.conversation.pk), self.changes.recordings
        if self.turn is not None:
            return undos.of_turn(self.turn.pk, recordings)
        assert self.plan is not None
        return undos.of_plan(self.plan.pk, recordings, self.key)

    def commands(self) -> list[str]:
        """What its turns ran besides, whose doing elsewhere no undo takes back."""
        turns = [each.turn_id for each in self.changes.recordings]
        calls = ToolCall.objects.filter(turn__in=turns, tool="shell", state="done").order_by("pk")
        commands = [str(each.arguments.get("command") or "") for each in calls]
        return [cut(each) for each in dict.fromkeys(filter(None, commands))]


def cut(command: str) -> str:
    return command if len(command) <= LONGEST_COMMAND else f"{command[: LONGEST_COMMAND - 1]}…"


def subject_of(request: HttpRequest, conversation: Conversation) -> Subject:
    """Raises Http404 for what is not of this conversation."""
    given = request.GET if "plan" in request.GET or "turn" in request.GET else request.POST
    if turn := number(given.get("turn")):
        found = conversation.turns.filter(pk=turn).first()
        if found is None:
            raise Http404
        return Subject(conversation, turn=found)
    plan = Plan.objects.filter(conversation=conversation, pk=number(given.get("plan")) or 0).first()
    key = given.get("subtask", "")
    if plan is None or (key and not plan.subtasks.filter(key=key).exists()):
        raise Http404
    return Subject(conversation, plan, key)


# The files


@dataclass(frozen=True)
class ChangedFile:
    """One file of the page. What is not `is_drawn` is fetched once it is unfolded."""

    id: str
    change: Change
    address: str
    diff: Diff | None = None
    images: dict[Side, str] = field(default_factory=dict)
    download: str = ""
    is_drawn: bool = True
    link: str = ""  # where a link leads, in a sentence

    @property
    def name(self) -> str:
        return self.change.path.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.change.path.rpartition("/")[0]

    @property
    def icon(self) -> str:
        if self.change.origin != "own":
            return "people" if self.change.origin == "unsure" else "user"
        return "cube" if self.change.is_binary else "file"

    @property
    def is_link(self) -> bool:
        """Whether nothing but links was and is there."""
        sides = [side for side in (self.change.old, self.change.new) if side]
        return bool(sides) and all(side.is_link for side in sides)

    @property
    def signs(self) -> str:
        return change_signs(self.change.added or 0, self.change.removed or 0)

    @property
    def kind(self) -> str:
        """In a word, where no lines are counted."""
        if self.is_link and self.change.kind == "added":
            return gettext("new link")
        words = {
            "added": gettext("new"),
            "deleted": gettext("removed"),
            "renamed": gettext("renamed"),
            "not_recorded": gettext("not recorded"),
        }
        return words.get(self.change.kind, gettext("changed"))

    @property
    def size(self) -> str:
        old, new = self.change.old, self.change.new
        if old and new:
            words = gettext("Binary file, {now}, was {was}")
            return words.format(now=format_size(new.size), was=format_size(old.size))
        words = (
            gettext("Binary file, {size}, new") if new else gettext("Binary file, {size}, removed")
        )
        side = new or old
        return words.format(size=format_size(side.size)) if side else ""

    @property
    def why(self) -> str:
        """Why there is nothing to be shown."""
        reasons = {
            "too_large": gettext("Over 20 MB, not recorded."),
            "unreadable": gettext("It could not be read, so it was not recorded."),
            "hard_link": gettext("A hard link, which may lead elsewhere: not recorded."),
            "too_deep": gettext("Too many folders deep, not recorded."),
        }
        return reasons.get(self.change.why, "")

    @property
    def mode(self) -> str:
        """What became of its permissions or kind."""
        old, new = self.change.old, self.change.new
        if not old or not new or old.mode == new.mode:
            return ""
        if mode_of(old) != mode_of(new) and "120000" in (mode_of(old), mode_of(new)):
            return gettext("A link now.") if new.is_link else gettext("A file now, it was a link.")
        sentence = gettext("Permissions {was}, now {now}.")
        return sentence.format(was=f"{old.mode & 0o7777:o}", now=f"{new.mode & 0o7777:o}")

    @property
    def changed_at(self) -> datetime | None:
        return datetime.fromisoformat(self.change.at) if self.change.at else None


@dataclass(frozen=True)
class Group:
    """Files by whose change they are; `count` of all pages."""

    origin: str
    files: list[ChangedFile]
    count: int


@dataclass(frozen=True)
class ListedFiles:
    """One page of them, from the file with the number `first` on, of `count`."""

    groups: list[Group]
    first: int
    count: int
    page: int

    @property
    def files(self) -> list[ChangedFile]:
        return [file for group in self.groups for file in group.files]

    @property
    def last(self) -> int:
        return self.first + len(self.files) - 1

    @property
    def has_earlier(self) -> bool:
        return self.first > 1

    @property
    def has_later(self) -> bool:
        return self.last < self.count


def listed_files(subject: Subject, page: int = 1) -> ListedFiles:
    """The turn's own first. Up to MOST_DRAWN files have their diffs; of more, each one's is fetched
    when it is unfolded."""
    listed = in_order(subject)
    page = min(max(page, 1), page_of(len(listed)))
    start, folded = (page - 1) * MOST_LISTED, len(listed) > MOST_DRAWN
    with Store.of(Path(subject.changes.root)) as store:
        files = [
            drawn_file(subject, store, change, f"file-{n}", with_diff=not folded)
            for n, change in enumerate(listed[start : start + MOST_LISTED], start + 1)
        ]
    counts = Counter(change.origin for change in listed)
    groups = [
        Group(origin, [f for f in files if f.change.origin == origin], counts[origin])
        for origin in ORDER
    ]
    return ListedFiles([each for each in groups if each.files], start + 1, len(listed), page)


def page_of(place: int) -> int:
    """Where the file with this number is."""
    return max(1, math.ceil(place / MOST_LISTED))


ORDER = ("own", "unsure", "outside")


def in_order(subject: Subject) -> list[Change]:
    return sorted(subject.changes.files, key=lambda c: (ORDER.index(c.origin), c.path))


def one_file(subject: Subject, path: str, origin: str, id: str) -> ChangedFile:
    """With all of its diff. Raises NotFound."""
    change = one_change(subject, path, origin)
    with Store.of(Path(subject.changes.root)) as store:
        return drawn_file(subject, store, change, id, with_diff=True, is_whole=True)


def one_change(subject: Subject, path: str, origin: str) -> Change:
    """Raises NotFound."""
    found = [c for c in subject.changes.files if c.path == path and c.origin == origin]
    if not found:
        raise NotFound(gettext("{path} was not changed.").format(path=path[:300]))
    return found[0]


def drawn_file(
    subject: Subject,
    store: Store,
    change: Change,
    id: str,
    *,
    with_diff: bool,
    is_whole: bool = False,
) -> ChangedFile:
    named = {"path": change.path, "origin": change.origin, "id": id}
    address = subject.address("changed-file", **named)
    images: dict[Side, str] = {}
    if change.is_binary and with_diff:
        if change.old and is_image(store, change.old):
            images["old"] = subject.address("changed-blob", **named, side="old")
        if change.new and is_image(store, change.new):
            images["new"] = subject.address("changed-blob", **named, side="new")
    diff = None
    if with_diff and change.kind != "not_recorded" and not change.is_binary:
        diff = diff_of(store, change)
        diff = diff if is_whole else diff.shortened()
    side = "new" if change.new else "old"
    download = subject.address("changed-blob", **named, side=side, save=1)
    link = link_words(store, change) if with_diff else ""
    return ChangedFile(id, change, address, diff, images, download, is_drawn=with_diff, link=link)


def link_words(store: Store, change: Change) -> str:
    """Where a link leads that came, changed or went; nothing of what is no link."""
    try:
        was, now = (
            link_or_text(store, side) if side and side.is_link else None
            for side in (change.old, change.new)
        )
    except StoreBroken:
        return ""
    if was is not None and now is not None and was != now:
        return gettext("A link to {target}, it was one to {was}.").format(target=now, was=was)
    if now is not None:
        return gettext("A link to {target}.").format(target=now)
    return gettext("It was a link to {target}.").format(target=was) if was is not None else ""


def is_image(store: Store, version: Version) -> bool:
    try:
        image_of(store.read(version.entry.oid))
    except (NotShown, StoreBroken):
        return False
    return True


def diff_of(store: Store, change: Change) -> Diff:
    try:
        old, new = (link_or_text(store, side) for side in (change.old, change.new))
    except StoreBroken:
        return Diff(note=gettext("What it held is not kept any more."))
    if old is None or new is None:
        return Diff(note=gettext("A binary file: it cannot be shown line by line."))
    is_edited = change.old and change.new
    same = gettext("The same lines.") if is_edited else gettext("An empty file.")
    return diff_of_files(old, new, same)


def link_or_text(store: Store, side: Version | None) -> str | None:
    if side is not None and side.is_link:
        return store.read(side.entry.oid).decode(errors="replace")
    return text_of(store, side)
