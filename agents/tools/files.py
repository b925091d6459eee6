"""The tools for the files of a workspace: list, read, write, edit, search."""

from __future__ import annotations

import asyncio
import stat
import threading
from io import StringIO
from itertools import islice
from pathlib import Path

from pydantic import BaseModel, Field

from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool
from agents.tools.confinement import Found, Workspace, display_path
from agents.tools.search import search

MOST_FILES = 1_000  # in one listing
MOST_LINES = 2_000  # in one reading
MOST_CHARACTERS = 60_000  # in one reading
LARGEST_READ = 10_000_000  # bytes
LARGEST_WRITE = 2_000_000  # bytes

# Two lanes of one conversation may edit the same file; the second must see what the first wrote.
editing = threading.Lock()


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

    pattern: str = Field(description="A regular expression (Python), or plain text.")
    path: str = Field(default=".", description="A folder or file; the whole workspace if left out.")


def file_tools(root: Path) -> list[Tool]:
    """The five tools, confined to the folder `root`."""

    async def run_list(asked: ListFiles) -> ToolResult:
        return ToolResult(await asyncio.to_thread(list_files, Workspace(root), asked.path))

    async def run_read(asked: ReadFile) -> ToolResult:
        return ToolResult(
            await asyncio.to_thread(read_file, Workspace(root), asked.path, asked.start, asked.end)
        )

    async def run_write(asked: WriteFile) -> ToolResult:
        return ToolResult(
            await asyncio.to_thread(write_file, Workspace(root), asked.path, asked.content)
        )

    async def run_edit(asked: EditFile) -> ToolResult:
        return ToolResult(
            await asyncio.to_thread(edit_file, Workspace(root), asked.path, asked.old, asked.new)
        )

    async def run_search(asked: SearchFiles) -> ToolResult:
        return ToolResult(
            await asyncio.to_thread(search, Workspace(root), asked.pattern, asked.path)
        )

    return [
        typed_tool("list_files", ListFiles, run_list, read_only=True),
        typed_tool("read_file", ReadFile, run_read, read_only=True),
        typed_tool("write_file", WriteFile, run_write, idempotent=True),
        typed_tool("edit_file", EditFile, run_edit),
        typed_tool("search_files", SearchFiles, run_search, read_only=True),
    ]


def list_files(workspace: Workspace, path: str) -> str:
    """The paths of all files below a folder, relative to the workspace."""
    rows = [row(found) for found in islice(workspace.walk(path), MOST_FILES + 1)]
    if not rows:
        return f"{display_path(path or '.')} holds no files."
    if len(rows) > MOST_FILES:
        rows[-1] = f"[These are the first {MOST_FILES:,} files. Name a folder to see the others.]"
    return "\n".join(rows)


def row(found: Found) -> str:
    if found.is_hard_link:
        return f"{found.path} (hard link)"
    if stat.S_ISREG(found.mode):
        return found.path
    return f"{found.path} ({'link' if stat.S_ISLNK(found.mode) else 'not an ordinary file'})"


def read_file(workspace: Workspace, path: str, start: int | None, end: int | None) -> str:
    """The text of a file with plain line ends; a note at the end tells when it is not all."""
    text, is_utf8 = readable(workspace.read(path, LARGEST_READ), path)
    lines = StringIO(text.removeprefix("\ufeff").replace("\r\n", "\n")).readlines()
    if not lines:
        return f"[{display_path(path)} is empty.]"
    first = start or 1
    if first > len(lines) or (end is not None and end < first):
        raise ToolFailed(
            f"{display_path(path)} has {len(lines):,} lines; {first}–{end or ''} is not there."
        )
    shown_lines = within_limits(lines[first - 1 : end])
    last = first - 1 + len(shown_lines)
    body = "".join(shown_lines)[:MOST_CHARACTERS]
    notes = []
    if len(shown_lines) < len(lines):
        more = f" Read on with start={last + 1}." if last < len(lines) else ""
        notes.append(f"[Lines {first}–{last} of {len(lines):,}.{more}]")
    if not is_utf8:
        notes.append("[Not UTF-8: � stands for what cannot be read, and it cannot be edited.]")
    if len(body) < sum(map(len, shown_lines)):
        notes.append(f"[A line is cut after {MOST_CHARACTERS:,} characters.]")
    return "\n".join([body.removesuffix("\n") if notes else body, *notes])


def within_limits(lines: list[str]) -> list[str]:
    """As many whole lines as may be shown at once, one at least."""
    room = MOST_CHARACTERS
    for count, line in enumerate(lines):
        room -= len(line)
        if count == MOST_LINES or (room < 0 and count):
            return lines[:count]
    return lines


def readable(content: bytes, path: str) -> tuple[str, bool]:
    """A file's text, and whether it is UTF-8 throughout."""
    if b"\0" in content:
        raise ToolFailed(f"{display_path(path)} is not a text file.")
    try:
        return content.decode(), True
    except UnicodeDecodeError:
        return content.decode(errors="replace"), False


def write_file(workspace: Workspace, path: str, content: str) -> str:
    with editing:
        is_new = workspace.write(path, writable(content))
    count = len(StringIO(content).readlines())
    return f"{'Created' if is_new else 'Wrote'} {display_path(path)} ({count:,} lines)."


def writable(content: str) -> bytes:
    try:
        raw = content.encode()
    except UnicodeEncodeError:
        raise ToolFailed("The text holds half a character and cannot be written.") from None
    if len(raw) > LARGEST_WRITE:
        raise ToolFailed(f"The text is too large: files up to {LARGEST_WRITE:,} bytes are written.")
    return raw


def edit_file(workspace: Workspace, path: str, old: str, new: str) -> str:
    """Replace one piece; the line ends of the file stay as they are."""
    if not old:
        raise ToolFailed("old is empty; name the piece to replace, or use write_file.")
    with editing:
        text, is_utf8 = readable(workspace.read(path, LARGEST_WRITE), path)
        if not is_utf8:
            raise ToolFailed(f"{display_path(path)} is not UTF-8 text and cannot be edited.")
        if wants_crlf(text, old):
            old, new = with_crlf(old), with_crlf(new)
        if old == new:
            raise ToolFailed("old and new are the same, so nothing changes.")
        place = only_place(text, old, path)
        workspace.write(path, writable(text[:place] + new + text[place + len(old) :]))
    return f"Edited {display_path(path)} at line {line_at(text, place)}."


def wants_crlf(text: str, old: str) -> bool:
    """Whether the file ends its lines the Windows way, all of them or where `old` must be."""
    windows = text.count("\r\n")
    return windows > 0 and (windows == text.count("\n") or old not in text)


def with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def only_place(text: str, old: str, path: str) -> int:
    """Where the one occurrence begins."""
    places = []
    place = text.find(old)
    while place >= 0:
        places.append(place)
        place = text.find(old, place + 1)
    if not places:
        raise ToolFailed(
            f"old was found 0 times in {display_path(path)}. Read the file again: old must match "
            "it to the letter, spaces and line ends included."
        )
    if len(places) > 1:
        lines = ", ".join(str(line_at(text, place)) for place in places[:5])
        raise ToolFailed(
            f"old was found {len(places)} times in {display_path(path)} (lines {lines}). "
            "Take more of the text around it, so that it is there once."
        )
    return places[0]


def line_at(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
