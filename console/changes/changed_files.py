"""The page of what a subtask, a plan or a turn changed: its files, their diffs, and the undo."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import urlencode

from django.core.exceptions import ObjectDoesNotExist
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.translation import gettext

from agents.changes.authorship import Origin
from agents.changes.compare import Change, Version, text_of
from agents.changes.store import Store, StoreBroken
from agents.changes.unified import mode_of
from agents.errors import NotFound
from agents.models import Conversation, ToolCall
from agents.tools.images import NotShown, image_of
from console.changes.lines import Diff, change_signs, diff_of_files
from console.form_parsing import number
from console.language import format_size
from plans.changes.scope import Scope

MOST_DRAWN = 20  # files of which the page has the diffs; of more, each is fetched
MOST_LISTED = 100  # files on one page
LONGEST_COMMAND = 80  # characters of one that is named


def address(scope: Scope, name: str = "changed-files", /, **more: object) -> str:
    """Of a page, file or verb about the changes of a plan, a subtask or a turn."""
    about: dict[str, object] = {"turn": scope.turn.pk} if scope.turn else {}
    if scope.plan is not None:
        about = {"plan": scope.plan.pk, **({"subtask": scope.key} if scope.key else {})}
    return address_of(scope.conversation.pk, name, **about, **more)


def address_of(conversation: int, name: str = "changed-files", /, **about: object) -> str:
    return f"{reverse(name, args=[conversation])}?{urlencode(about)}"


def scope_of(request: HttpRequest, conversation: Conversation) -> Scope:
    """Raises Http404 for what is not of this conversation."""
    given = request.GET if "plan" in request.GET or "turn" in request.GET else request.POST
    try:
        if turn := number(given.get("turn")):
            return Scope(conversation.turns.get(pk=turn))
        plan = conversation.plans.get(pk=number(given.get("plan")) or 0)
        return Scope.named(plan, given.get("subtask", ""))
    except (ObjectDoesNotExist, NotFound):
        raise Http404 from None


def commands_in(scope: Scope) -> list[str]:
    """What its turns ran besides, whose doing elsewhere no undo takes back."""
    turns = [each.turn_id for each in scope.changes.recordings]
    calls = ToolCall.objects.filter(turn__in=turns, tool="shell", state="done").order_by("pk")
    commands = [str(each.arguments.get("command") or "") for each in calls]
    return [cut(each) for each in dict.fromkeys(filter(None, commands))]


def cut(command: str) -> str:
    return command if len(command) <= LONGEST_COMMAND else f"{command[: LONGEST_COMMAND - 1]}…"


# The files


@dataclass(frozen=True)
class ChangedFile:
    """One file of the page. What is not `is_drawn` is fetched once it is unfolded."""

    id: str
    change: Change
    address: str
    diff: Diff | None = None
    images: dict[str, str] = field(default_factory=dict)
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
            return "user" if self.change.origin == "outside" else "people"
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
    def note(self) -> str:
        """Both in a line: new · +42 −3; of one that was edited the lines alone."""
        kind = "" if self.change.kind == "modified" and self.signs else self.kind
        return " · ".join(filter(None, [kind, self.signs]))

    @property
    def size(self) -> str:
        old, new = self.change.old, self.change.new
        if old and new:
            words = gettext("Binary file, {now}, was {was}")
            return words.format(now=format_size(new.size), was=format_size(old.size))
        gone = gettext("Binary file, {size}, removed")
        words, side = (gettext("Binary file, {size}, new"), new) if new else (gone, old)
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
    """One page of them."""

    groups: list[Group]
    page: Page[Change]

    @property
    def files(self) -> list[ChangedFile]:
        return [file for group in self.groups for file in group.files]

    @property
    def count(self) -> int:
        return self.page.paginator.count


def listed_files(scope: Scope, number: int = 1) -> ListedFiles:
    """The turn's own first. Up to MOST_DRAWN files have their diffs; of more, each one's is fetched
    when it is unfolded."""
    listed = in_order(scope)
    page = Paginator(listed, MOST_LISTED).get_page(max(number, 1))
    with Store.of(Path(scope.changes.root)) as store:
        files = [
            drawn_file(scope, store, change, f"file-{n}", with_diff=len(listed) <= MOST_DRAWN)
            for n, change in enumerate(page, page.start_index())
        ]
    counts = Counter(change.origin for change in listed)
    groups = [
        Group(origin, [f for f in files if f.change.origin == origin], counts[origin])
        for origin in ORDER
    ]
    return ListedFiles([each for each in groups if each.files], page)


def standing_files(scope: Scope) -> Iterator[ChangedFile]:
    """Its own that no undo has taken back, each with its place on the page; no diffs."""
    standing = {each.path for each in scope.standing}
    for place, each in enumerate(in_order(scope), 1):
        if each.origin == Origin.OWN and each.path in standing:
            yield ChangedFile(f"file-{place}", each, place_of(scope, place), is_drawn=False)


def place_of(scope: Scope, place: int) -> str:
    """The address of the file with this number, on its page."""
    page = math.ceil(place / MOST_LISTED)
    return f"{address(scope, **({'page': page} if page > 1 else {}))}#file-{place}"


ORDER = ("own", "both", "unsure", "outside")


def in_order(scope: Scope) -> list[Change]:
    return sorted(scope.changes.files, key=lambda c: (ORDER.index(c.origin), c.path))


def one_file(scope: Scope, path: str, origin: str, id: str) -> ChangedFile:
    """With all of its diff. Raises NotFound."""
    change = scope.changes.change_of(path, origin)
    with Store.of(Path(scope.changes.root)) as store:
        return drawn_file(scope, store, change, id, with_diff=True, is_whole=True)


def drawn_file(
    scope: Scope, store: Store, change: Change, id: str, *, with_diff: bool, is_whole: bool = False
) -> ChangedFile:
    named = {"path": change.path, "origin": change.origin, "id": id}
    sides = {side: each for side, each in (("new", change.new), ("old", change.old)) if each}
    images = {
        side: address(scope, "changed-blob", **named, side=side)
        for side, each in sides.items()
        if with_diff and change.is_binary and is_image(store, each)
    }
    diff = None
    if with_diff and change.kind != "not_recorded" and not change.is_binary:
        diff = diff_of(store, change)
        diff = diff if is_whole else diff.shortened()
    side = next(iter(sides), "old")
    download = address(scope, "changed-blob", **named, side=side, save=1)
    link = link_words(store, change) if with_diff else ""
    to = address(scope, "changed-file", **named)
    return ChangedFile(id, change, to, diff, images, download, is_drawn=with_diff, link=link)


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
