"""The tools for the files of a workspace: to list, read, write, edit and search them."""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import accumulate, islice
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel, Field

from agents.pools import FILES
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool
from agents.tools.confinement import Workspace, display_path
from agents.tools.file_changes import FileChange, change_of, keep_change
from agents.tools.paths import path_text
from agents.tools.patterns import BeyondRe2, NotAPattern, matching_lines

MOST_FILES = 1_000  # in one listing
MOST_LINES = 2_000  # in one reading
MOST_CHARACTERS = 60_000  # in one reading
LARGEST_READ = 10_000_000  # bytes
LARGEST_WRITE = 2_000_000  # bytes
MOST_OCCURRENCES = 100  # that are counted: each may take as long as the piece is

Arguments = TypeVar("Arguments", bound=BaseModel)


class ListFiles(BaseModel):
    """List all files of the workspace, or of one folder in it, one path per line.

    Folders such as .git and node_modules are left out unless named.
    """

    path: str = Field(default=".", description="A folder; the whole workspace if left out.")


class ReadFile(BaseModel):
    """Read a text file, or the lines from start to end of it."""

    path: str = Field(description="Path relative to the workspace, such as docs/guide.md.")
    start: int | None = Field(default=None, ge=1, description="First line; lines count from 1.")
    end: int | None = Field(default=None, ge=1, description="Last line, itself included.")


class WriteFile(BaseModel):
    """Write a whole text file: a new one, or in place of what is there."""

    path: str = Field(description="Path relative to the workspace; folders are made as needed.")
    content: str = Field(description="The whole text of the file.")


class EditFile(BaseModel):
    """Replace one piece of a text file. The old piece must be there exactly once."""

    path: str = Field(description="Path relative to the workspace.")
    old: str = Field(description="The piece to replace, to the letter, with enough around it.")
    new: str = Field(description="What takes its place.")


class SearchFiles(BaseModel):
    """Find the lines that match a pattern in all text files of the workspace or of one folder."""

    pattern: str = Field(description="A regular expression (RE2), or plain text.")
    path: str = Field(default=".", description="A folder or file; the whole workspace if left out.")


def file_tools(root: Path) -> list[Tool]:
    """The tools of this module, confined to the folder `root`."""

    def tool(
        name: str,
        arguments: type[Arguments],
        work: Callable[[Workspace, Arguments], str],
        *,
        read_only: bool = False,
        idempotent: bool = False,
    ) -> Tool:
        async def run(args: Arguments) -> ToolResult:
            return ToolResult(await FILES.run(work, Workspace(root), args))

        return typed_tool(name, arguments, run, read_only=read_only, idempotent=idempotent)

    return [
        tool("list_files", ListFiles, list_files, read_only=True),
        tool("read_file", ReadFile, read_file, read_only=True),
        tool("write_file", WriteFile, write_file, idempotent=True),
        tool("edit_file", EditFile, edit_file),
        tool("search_files", SearchFiles, search_files, read_only=True),
    ]


def list_files(workspace: Workspace, args: ListFiles) -> str:
    """The paths of all files below a folder, relative to the workspace."""
    rows = []
    for entry in islice(workspace.walk(args.path), MOST_FILES + 1):
        note = ""
        if entry.is_hard_link:
            note = " (hard link)"
        elif not entry.is_file:
            note = " (link)" if stat.S_ISLNK(entry.status.st_mode) else " (not an ordinary file)"
        rows.append(entry.path + note)
    if not rows:
        return f"{display_path(args.path or '.')} holds no files."
    if len(rows) > MOST_FILES:
        rows[-1] = f"[These are the first {MOST_FILES:,} files. Name a folder to see the others.]"
    return "\n".join(rows)


def read_file(workspace: Workspace, args: ReadFile) -> str:
    """The text of a file with plain line ends; a note at the end tells when it is not all."""
    path = args.path
    text, is_utf8 = decoded(workspace.read(path, LARGEST_READ), path)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text:
        return f"[{display_path(path)} is empty.]"
    total = text.count("\n") + (not text.endswith("\n"))
    first, end = args.start or 1, args.end
    if first > total or (end is not None and end < first):
        raise ToolFailed(
            f"{display_path(path)} has {total:,} lines; {first}–{end or ''} is not there."
        )
    most = first - 1 + MOST_LINES
    lines = list(islice(StringIO(text), first - 1, min(end or most, most)))
    sizes = accumulate(map(len, lines))
    lines = lines[: max(1, sum(size <= MOST_CHARACTERS for size in sizes))]  # whole ones
    last = first - 1 + len(lines)
    body = "".join(lines)[:MOST_CHARACTERS]
    notes = []
    if len(lines) < total:
        more = f" Read on with start={last + 1}." if last < total else ""
        notes.append(f"[Lines {first}–{last} of {total:,}.{more}]")
    if not is_utf8:
        notes.append("[Not UTF-8: � stands for what cannot be read, and it cannot be edited.]")
    if len(body) < sum(map(len, lines)):
        notes.append(f"[A line is cut after {MOST_CHARACTERS:,} characters.]")
    return "\n".join([body.removesuffix("\n") if notes else body, *notes])


def decoded(content: bytes, path: str) -> tuple[str, bool]:
    """A file's text, and whether it is UTF-8 throughout."""
    if b"\0" in content:
        raise ToolFailed(f"{display_path(path)} is not a text file.")
    try:
        return content.decode(), True
    except UnicodeDecodeError:
        return content.decode(errors="replace"), False


_locks: WeakValueDictionary[Path, threading.Lock] = WeakValueDictionary()
_finding = threading.Lock()


def editing(workspace: Workspace) -> threading.Lock:
    """One lock for a workspace, while anybody needs it: two lanes may edit the same file, and the
    second must see what the first wrote."""
    with _finding:
        return _locks.setdefault(workspace.root, threading.Lock())


def write_file(workspace: Workspace, args: WriteFile) -> str:
    content = encoded(args.content)
    with editing(workspace):
        keep(change_before(workspace, args.path, content), workspace, args.path)
        is_new = workspace.write(args.path, content)
    count = len(StringIO(args.content).readlines())
    return f"{'Created' if is_new else 'Wrote'} {display_path(args.path)} ({count:,} lines)."


def keep(change: FileChange, workspace: Workspace, path: str) -> None:
    real = os.fsencode("/".join(workspace.locate(path)))
    keep_change(replace(change, path=path_text(real)))


def change_before(workspace: Workspace, path: str, content: bytes) -> FileChange:
    """What writing this content would change. What cannot be read may still be written over."""
    if not workspace.is_there(path):
        return change_of(None, content)
    try:
        return change_of(workspace.read(path, LARGEST_WRITE), content)
    except ToolFailed:
        return FileChange(left_out="unreadable", new_size=len(content))


def encoded(content: str) -> bytes:
    try:
        raw = content.encode()
    except UnicodeEncodeError:
        raise ToolFailed("The text holds half a character and cannot be written.") from None
    if len(raw) > LARGEST_WRITE:
        raise ToolFailed(f"The text is too large: files up to {LARGEST_WRITE:,} bytes are written.")
    return raw


def edit_file(workspace: Workspace, args: EditFile) -> str:
    """Replace one piece; the line ends of the file stay as they are."""
    with editing(workspace):
        raw = workspace.read(args.path, LARGEST_WRITE)
        edit = edit_of(raw, args.path, args.old, args.new)
        content = encoded(edit.result)
        keep(change_of(raw, content), workspace, args.path)
        workspace.write(args.path, content)
    return f"Edited {display_path(args.path)} at line {line_at(edit.text, edit.place)}."


@dataclass(frozen=True)
class Edit:
    """Where in a file's text one piece gives way to another."""

    text: str
    place: int
    old: str
    new: str

    @property
    def result(self) -> str:
        return self.text[: self.place] + self.new + self.text[self.place + len(self.old) :]


def edit_of(raw: bytes, path: str, old: str, new: str) -> Edit:
    """What an edit would do to a file of this content. Raises ToolFailed."""
    if not old:
        raise ToolFailed("old is empty; name the piece to replace, or use write_file.")
    text, is_utf8 = decoded(raw, path)
    if not is_utf8:
        raise ToolFailed(f"{display_path(path)} is not UTF-8 text and cannot be edited.")
    crlf = text.count("\r\n")
    # The file ends its lines the Windows way: all of them, or where `old` must be.
    if crlf and (crlf == text.count("\n") or old not in text):
        old, new = with_crlf(old), with_crlf(new)
    if old == new:
        raise ToolFailed("old and new are the same, so nothing changes.")
    return Edit(text, only_occurrence(text, old, path), old, new)


def with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def only_occurrence(text: str, old: str, path: str) -> int:
    """Where it begins; occurrences that overlap count too. Raises ToolFailed."""
    places: list[int] = []
    place = text.find(old)
    while place >= 0 and len(places) <= MOST_OCCURRENCES:
        places.append(place)
        place = text.find(old, place + 1)
    if not places:
        raise ToolFailed(
            f"old was found 0 times in {display_path(path)}. Read the file again: old must match "
            "it to the letter, spaces and line ends included."
        )
    if len(places) > 1:
        lines = ", ".join(str(line_at(text, place)) for place in places[:5])
        count = f"over {MOST_OCCURRENCES}" if len(places) > MOST_OCCURRENCES else len(places)
        raise ToolFailed(
            f"old was found {count} times in {display_path(path)} (lines {lines}). "
            "Take more of the text around it, so that it is there once."
        )
    return places[0]


def line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


# Searching, bounded in time, size and number.

MOST_HITS = 100
MOST_SEARCHED = 2_000  # files
LARGEST_SEARCHED = 1_000_000  # bytes of one file
LARGEST_SEARCH = 20_000_000  # bytes of all files
LONGEST_LINE = 300  # characters of a hit that are given
LONGEST_PATTERN = 500
SEARCH_SECONDS = 5.0
SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")


@dataclass
class Lines:
    """The lines that are searched, with the file each is in, and what was left out."""

    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # of the files
    starts: list[int] = field(default_factory=list)  # where the lines of each file begin
    skipped: int = 0
    hard_links: int = 0
    is_cut: bool = False

    def add(self, name: str, content: bytes) -> bool:
        """False for what is not text, of which nothing is taken."""
        if b"\0" in content:
            self.skipped += 1
            return False
        text = content.decode(errors="replace").replace("\r\n", "\n")
        self.names.append(name)
        self.starts.append(len(self.lines))
        self.lines += text.removesuffix("\n").split("\n") if text else []
        return True

    def row(self, place: int) -> str:
        file = bisect_right(self.starts, place) - 1
        line = self.lines[place].strip()
        line = line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"
        return f"{display_path(self.names[file])}:{place - self.starts[file] + 1}: {line}"


def search_files(workspace: Workspace, args: SearchFiles) -> str:
    """The lines that match, one per row as path:line: text, and notes on what was left out."""
    pattern, path = args.pattern, args.path
    if not pattern or len(pattern) > LONGEST_PATTERN:
        raise ToolFailed(f"A pattern has from 1 to {LONGEST_PATTERN} characters.")
    deadline = time.monotonic() + SEARCH_SECONDS
    text = collect_lines(workspace, path, deadline)
    matches = places_of(pattern, text.lines, max(deadline, time.monotonic() + 0.5))
    rows = [text.row(match) for match in matches[:MOST_HITS]]
    if not rows:
        where = "" if path in ("", ".") else f" below {display_path(path)}"
        rows = [f"No line matches{where}. The case of letters counts; (?i) in front ignores it."]
    if (count := len(matches)) > MOST_HITS:
        rows += [
            f"[The first {MOST_HITS} of {count:,} lines. Narrow the pattern or name a folder.]"
        ]
    if count := text.skipped:
        what = f"{count:,} {'file that is' if count == 1 else 'files that are'} not text"
        rows += [f"[Not searched: {what} or over {LARGEST_SEARCHED:,} bytes.]"]
    if count := text.hard_links:
        what = f"{count:,} hard link{'' if count == 1 else 's'}"
        rows += [f"[Not searched: {what}, which may lead out of the workspace.]"]
    if text.is_cut:
        rows += [
            f"[The search ended after {len(text.names):,} files. Name a folder to search the rest.]"
        ]
    return "\n".join(rows)


def collect_lines(workspace: Workspace, path: str, deadline: float) -> Lines:
    """What cannot be read is left out below a folder, and refused where it is named itself."""
    text = Lines()
    if not workspace.is_folder(path):
        name = "/".join(workspace.locate(path))
        text.add(name, workspace.read(name, LARGEST_SEARCHED))
        return text
    left = LARGEST_SEARCH
    for entry in workspace.walk(path):
        if not entry.is_file:
            continue
        if len(text.names) >= MOST_SEARCHED or left <= 0 or time.monotonic() > deadline:
            text.is_cut = True
            break
        if entry.is_hard_link:
            text.hard_links += 1
            continue
        name = "/".join(entry.parts)
        try:
            content = workspace.read(name, LARGEST_SEARCHED)
        except ToolFailed:  # too large, or gone since
            text.skipped += 1
            continue
        left -= entry.status.st_size if text.add(name, content) else 0
    return text


def places_of(pattern: str, lines: list[str], deadline: float) -> list[int]:
    """The places of the lines that match; what is no regular expression is searched as written."""
    try:
        if SPECIAL.search(pattern):
            return list(matching_lines(pattern, lines, deadline))
    except BeyondRe2 as beyond:
        raise ToolFailed(
            f"A pattern is one of RE2, which has no {beyond.part}: look-ahead, look-behind and "
            "references to groups cannot be searched for."
        ) from None
    except NotAPattern:
        pass
    except TimeoutError:
        raise ToolFailed(
            f"The search takes longer than {SEARCH_SECONDS:g} seconds; "
            "use a simpler pattern or a folder."
        ) from None
    return [place for place, line in enumerate(lines) if pattern in line]
