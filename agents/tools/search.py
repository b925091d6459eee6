"""Search the files of a workspace for lines, bounded in time, size and number."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agents.tools.base import ToolFailed
from agents.tools.confinement import Workspace, display_path

MOST_HITS = 100
MOST_FILES = 2_000
LARGEST_FILE = 1_000_000  # bytes
LARGEST_SEARCH = 20_000_000  # bytes
LONGEST_LINE = 300  # characters shown of a hit
LONGEST_PATTERN = 500
SECONDS = 5.0
MATCHER = Path(__file__).with_name("line_matcher.py")
SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")


@dataclass
class Text:
    """The lines that are searched, each with where it stands."""

    places: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    files: int = 0
    skipped: int = 0
    hard_links: int = 0
    cut: bool = False

    def add(self, name: str, lines: list[str] | None) -> None:
        if lines is None:
            self.skipped += 1
            return
        self.files += 1
        self.places += [f"{display_path(name)}:{number}" for number in range(1, len(lines) + 1)]
        self.lines += lines


def search(workspace: Workspace, pattern: str, path: str) -> str:
    """The lines that match, one per row as path:line: text, and notes on what was left out."""
    if not pattern or len(pattern) > LONGEST_PATTERN:
        raise ToolFailed(f"A pattern has from 1 to {LONGEST_PATTERN} characters.")
    deadline = time.monotonic() + SECONDS
    text = collect(workspace, path, deadline)
    matches = list(matching(pattern, text.lines, deadline))
    rows = [f"{text.places[match]}: {cut(text.lines[match])}" for match in matches[:MOST_HITS]]
    if not rows:
        where = "" if path in ("", ".") else f" below {display_path(path)}"
        rows = [f"No line matches{where}. The case of letters counts; (?i) in front ignores it."]
    return "\n".join([*rows, *notes(text, len(matches))])


def collect(workspace: Workspace, path: str, deadline: float) -> Text:
    """What cannot be read is left out below a folder, and refused where it is named itself."""
    text = Text()
    if not workspace.is_folder(path):
        name = "/".join(workspace.locate(path))
        text.add(name, lines_of(workspace.read(name, LARGEST_FILE)))
        return text
    left = LARGEST_SEARCH
    for found in workspace.walk(path):
        if not stat.S_ISREG(found.mode):
            continue
        if text.files >= MOST_FILES or left <= 0 or time.monotonic() > deadline:
            text.cut = True
            break
        if found.is_hard_link:
            text.hard_links += 1
            continue
        name = "/".join(found.parts)
        lines = read_lines(workspace, name) if found.size <= LARGEST_FILE else None
        text.add(name, lines)
        left -= found.size if lines is not None else 0
    return text


def read_lines(workspace: Workspace, name: str) -> list[str] | None:
    """The lines of a text file; None for what is not text, too large or gone."""
    try:
        return lines_of(workspace.read(name, LARGEST_FILE))
    except ToolFailed:
        return None


def lines_of(content: bytes) -> list[str] | None:
    """None where it is not text."""
    if b"\0" in content:
        return None
    text = content.decode(errors="replace").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def matching(pattern: str, lines: list[str], deadline: float) -> Iterator[int]:
    """Regular expressions are matched in a process that can be ended, all else right here.

    What has no special signs, or is no valid expression, is searched as it is written.
    """
    matched = match_expression(pattern, lines, deadline) if SPECIAL.search(pattern) else None
    if matched is not None:
        yield from matched
        return
    yield from (place for place, line in enumerate(lines) if pattern in line)


def match_expression(pattern: str, lines: list[str], deadline: float) -> list[int] | None:
    asked = json.dumps({"pattern": pattern, "lines": lines})
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(MATCHER)],
            input=asked,
            capture_output=True,
            text=True,
            env={},
            cwd="/",
            check=True,
            timeout=max(deadline - time.monotonic(), 0.5),
        )
    except subprocess.TimeoutExpired:
        raise ToolFailed(
            f"The search took longer than {SECONDS:g} seconds; use a simpler pattern or a folder."
        ) from None
    except (subprocess.CalledProcessError, OSError):
        raise ToolFailed("The pattern could not be matched; use a simpler one.") from None
    places: list[int] | None = json.loads(done.stdout)
    return places


def cut(line: str) -> str:
    line = line.strip()
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


def notes(text: Text, matches: int) -> Iterator[str]:
    if matches > MOST_HITS:
        yield f"[The first {MOST_HITS} of {matches:,} lines. Narrow the pattern or name a folder.]"
    if text.skipped:
        kinds = "file that is" if text.skipped == 1 else "files that are"
        yield f"[Not searched: {text.skipped:,} {kinds} not text or over {LARGEST_FILE:,} bytes.]"
    if text.hard_links:
        kinds = "hard link" if text.hard_links == 1 else "hard links"
        yield f"[Not searched: {text.hard_links:,} {kinds}, which may lead out of the workspace.]"
    if text.cut:
        yield f"[The search ended after {text.files:,} files. Name a folder to search the rest.]"
