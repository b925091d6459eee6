"""The agent's files as the page shows them: rows of the tree, and the one that is open."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from urllib.parse import quote, urlencode

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy, pgettext

from agents.errors import NotFound, Refused
from agents.hidden_characters import count_hidden
from agents.tools.base import ToolFailed
from agents.tools.images import NotShown, image_of
from agents.workspace.files import AgentFiles, Item, refusals
from console.attachments import LARGEST_PICTURE
from console.changes.lines import Diff
from console.downloads import PDF_SIGN
from console.language import format_size
from console.markdown import coloured, render
from console.plan_marks import LastChange, Marks
from console.visible_text import visible_code, visible_plain
from console.workspace_images import PagePlace, files_base

LARGEST_TEXT = 300_000  # bytes that are shown
LONGEST_COLOURED = 20_000  # characters
PICTURES = {"png", "jpg", "jpeg", "gif", "webp"}
PAGES = {"md", "markdown"}
LOOKS = {"page": "prose", "source": "code", "picture": "file-view-picture", "changes": "file-diff"}
MARKS = {
    "edited": gettext_lazy("Changed by this plan"),
    "added": gettext_lazy("New in this plan"),
    "removed": gettext_lazy("Removed by this plan"),
}
ICONS = {
    **dict.fromkeys(PICTURES | {"svg"}, "image"),
    **dict.fromkeys(("zip", "gz", "tar"), "cube"),
}


def id_of(path: str) -> str:
    """What stands for a path in the ids of elements, where any name may be."""
    return sha256(path.encode(errors="replace")).hexdigest()[:16]


@dataclass(frozen=True)
class Row:
    """One line of the tree."""

    item: Item
    in_full: bool = False  # the whole path, where a search found it
    mark: str = ""  # what the plan did with it: edited, added, removed
    is_gone: bool = False

    @property
    def id(self) -> str:
        return id_of(self.item.path)

    @property
    def icon(self) -> str:
        if self.item.kind in ("folder", "link"):
            return self.item.kind
        return ICONS.get(ending_of(self.item.path), "file")

    @property
    def is_folder(self) -> bool:
        return self.item.kind == "folder" and self.is_usable and not self.is_gone

    @property
    def is_usable(self) -> bool:
        """Whether a page can send its name back: in HTML a carriage return is a line end."""
        return self.item.is_usable and "\r" not in self.item.path

    @property
    def words(self) -> str:
        return self.item.path if self.in_full else self.item.name

    @property
    def mark_name(self) -> str:
        return str(MARKS[self.mark])

    @property
    def refusal(self) -> str:
        """Why it cannot be opened."""
        if self.is_gone:
            said = gettext("{path} was removed by this plan.")
            return said.format(path=visible_plain(self.item.path))
        if not self.is_usable:
            return gettext("A page cannot write its name, so it cannot be opened here.")
        return ""


@dataclass(frozen=True)
class Rows:
    """A part of a folder, or what a search found."""

    rows: list[Row]
    path: str = ""
    count: int = 0
    is_cut: bool = False
    next: int = 0
    stamp: str = ""
    refusal: str = ""

    @property
    def id(self) -> str:
        return id_of(self.path)

    @property
    def left(self) -> int:
        return self.count - self.next if self.is_cut else 0


def stamp_of(files: AgentFiles, path: str, marks: Marks) -> str:
    """Another one when a file or folder is to be drawn anew; empty where it is gone."""
    stamp = files.stamp(path)
    return stamp and f"{stamp}.{marks.tag}"


def folder_rows(files: AgentFiles, path: str, start: int, most: int, marks: Marks) -> Rows:
    """Part of a folder, or in its place why it cannot be listed."""
    stamp = stamp_of(files, path, marks)
    try:
        with refusals(path or "."):
            listing = files.items(path or ".", start, most)
    except Refused as refusal:
        return Rows([], path, stamp=stamp, refusal=str(refusal))
    gone = [] if listing.is_cut else gone_items(files, path, marks)
    items = [(item, False) for item in listing.items] + [(item, True) for item in gone]
    if not start:
        items.sort(key=lambda pair: (pair[0].kind != "folder", pair[0].name.casefold()))
    rows = [
        Row(item, mark=shape_of(item, marks, is_gone), is_gone=is_gone) for item, is_gone in items
    ]
    stamp = "" if start else stamp  # of the whole
    return Rows(rows, path, listing.count, listing.is_cut, start + len(rows), stamp)


def gone_items(files: AgentFiles, path: str, marks: Marks) -> list[Item]:
    """What the plan removed from a folder and nobody has made anew."""
    return [
        Item(each, "folder" if is_folder else "file", 0, 0)
        for each, is_folder in marks.gone_in(path)
        if not files.is_there(each)
    ]


def shape_of(item: Item, marks: Marks, is_gone: bool) -> str:
    return "removed" if is_gone else marks.shape(item.path, is_folder=item.kind == "folder")


def found_rows(files: AgentFiles, words: str, marks: Marks) -> Rows:
    with refusals("."):
        listing = files.find(words)
    rows = [Row(item, True, shape_of(item, marks, False)) for item in listing.items]
    return Rows(rows, count=listing.count, is_cut=listing.is_cut, next=listing.count)


@dataclass(frozen=True)
class OpenFile:
    """What is shown of a file: `html`, a picture or PDF at `address`, or why nothing (`note`)."""

    path: str
    size: int
    stamp: str
    form: str = "none"  # page, source, picture, pdf, none
    html: SafeString | str = ""
    address: str = ""
    note: str = ""
    width: int = 0
    height: int = 0
    diff: Diff | None = None
    last: LastChange | None = None
    is_gone: bool = False

    @property
    def id(self) -> str:
        """Of its content: another file, or form, is another element and begins at its top."""
        return id_of(f"{self.form}/{self.path}")

    @property
    def look(self) -> str:
        """The class of what scrolls; nothing where it is no such form."""
        is_empty = self.form == "changes" and not (self.diff and self.diff.blocks)
        return "" if is_empty else LOOKS.get(self.form, "")

    @property
    def path_id(self) -> str:
        return id_of(self.path)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def forms(self) -> list[tuple[str, str]]:
        """In which ways it can be looked at, where there are several."""
        if self.last is None and self.form not in ("page", "source"):
            return []
        is_page = ending_of(self.path) in PAGES
        first = ("page", pgettext("of a file", "Page")) if is_page else None
        source = ("source", pgettext("of a file", "Source") if is_page else gettext("File"))
        last = ("changes", gettext("Changes")) if self.last else None
        found = [each for each in (first, source, last) if each]
        return found if len(found) > 1 else []

    @property
    def chosen(self) -> str:
        return self.form if self.form in ("page", "changes") else "source"


def open_file(files: AgentFiles, path: str, conversation: int, form: str, marks: Marks) -> OpenFile:
    """Raises NotFound where it is gone, no ordinary file, or not to be read."""
    last = marks.last_change(path)
    if form == "changes" and last:
        with refusals(path), files.open(path) as file:
            size = file.seek(0, 2)
        shown = OpenFile(path, size, files.stamp(path), "changes", diff=marks.diff(path))
    else:
        shown = whole_file(files, path, conversation, as_source=form == "source")
    return replace(shown, last=last)


def open_or_gone(
    files: AgentFiles, path: str, conversation: int, form: str, marks: Marks
) -> OpenFile:
    """The open file as it is now; also that it is gone."""
    try:
        return open_file(files, path, conversation, form, marks)
    except NotFound:
        note = gettext("{path} is gone.").format(path=visible_plain(path))
        return OpenFile(path, 0, "", note=note, is_gone=True)


def whole_file(files: AgentFiles, path: str, conversation: int, *, as_source: bool) -> OpenFile:
    stamp = files.stamp(path)
    with refusals(path), files.open(path) as file:
        size = file.seek(0, 2)
    ending = ending_of(path)
    if ending in PICTURES:
        return picture(files, path, conversation, OpenFile(path, size, stamp))
    if ending == "pdf" and is_pdf(files, path):
        address = f"{reverse('workspace-pdf', args=[conversation])}?{urlencode({'path': path})}"
        return OpenFile(path, size, stamp, "pdf", address=address)
    if size > LARGEST_TEXT:
        return OpenFile(path, size, stamp, note=too_large(size))
    with refusals(path):
        content = files.read(path, LARGEST_TEXT)
    if b"\0" in content:
        note = gettext("A binary file, {size}: it cannot be shown.").format(size=format_size(size))
        return OpenFile(path, size, stamp, note=note)
    text = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    if not text:
        return OpenFile(path, size, stamp, note=gettext("An empty file."))
    if ending in PAGES and not as_source:
        beside = PagePlace(
            reverse("workspace-content", args=[conversation]), path.rpartition("/")[0]
        )
        html = render(text, files=pictures_beside(path, conversation), page=beside)
        return OpenFile(path, size, stamp, "page", html)
    return OpenFile(path, size, stamp, "source", source(text, ending))


def too_large(size: int) -> str:
    return gettext("Too large to show ({size}).").format(size=format_size(size))


def picture(files: AgentFiles, path: str, conversation: int, file: OpenFile) -> OpenFile:
    """By what its bytes are, not by what it is called."""
    if file.size > LARGEST_PICTURE:
        return OpenFile(path, file.size, file.stamp, note=too_large(file.size))
    try:
        image = image_of(files.read(path, LARGEST_PICTURE))
    except (ToolFailed, NotShown):
        note = gettext("This is no picture that can be shown.")
        return OpenFile(path, file.size, file.stamp, note=note)
    # The stamp asks for it anew when it has changed.
    address = f"{files_base(conversation)}{quote(path)}?{file.stamp}"
    return OpenFile(
        path,
        file.size,
        file.stamp,
        "picture",
        address=address,
        width=image.width,
        height=image.height,
    )


def is_pdf(files: AgentFiles, path: str) -> bool:
    with suppress(ToolFailed), files.open(path) as file:
        return file.read(len(PDF_SIGN)) == PDF_SIGN
    return False


def source(text: str, ending: str) -> SafeString:
    """In colour where nothing in it is hidden; else each hidden character as a box."""
    if not count_hidden(text) and (html := coloured(text, ending, LONGEST_COLOURED)):
        return mark_safe(html)
    return visible_code(text)


def pictures_beside(path: str, conversation: int) -> str:
    """A page names its pictures as seen from its own folder."""
    folder, between, _ = path.rpartition("/")
    return f"{files_base(conversation)}{quote(folder)}{between}"


def ending_of(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()
