"""What git would leave out of a folder: the rules of its `.gitignore` files, and ours.

A folder's files are anybody's, so no pattern may take long: all of a file are one automaton of re2,
whose time is the length of a path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import islice

import re2

from agents.tools.confinement import IGNORED

RULES = b".gitignore"
NEVER = frozenset(os.fsencode(name) for name in IGNORED)  # folders and links of these names
LARGEST_RULES = 250_000  # bytes of one file
MOST_PATTERNS = 2_000  # in force at once; what further ones would leave out is recorded
MOST_MEMORY = 16 * 1024**2  # bytes of one automaton
STARS = re.compile(rb"\*{3,}")  # two, to git
NOTHING = b"[^\\x00-\\xff]"  # what re2 has in place of an empty look-ahead

Parts = tuple[bytes, ...]


@dataclass(frozen=True)
class Patterns:
    """The lines of a file as one set; by number, whether each leaves out, and folders only."""

    set: re2.Set
    lines: tuple[tuple[bool, bool], ...]

    def leave_out(self, path: bytes, is_folder: bool) -> bool | None:
        """The last line that fits counts; None where there is none."""
        found: list[int] = self.set.Match(path) or []
        for number in sorted(found, reverse=True):
            leaves_out, folders_only = self.lines[number]
            if is_folder or not folders_only:
                return leaves_out
        return None


@lru_cache(maxsize=16)
def patterns_of(content: bytes, most: int) -> Patterns:
    """The first so many lines; none of a file that is too large an automaton."""
    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    options.dot_nl = True
    options.max_mem = MOST_MEMORY
    fitting = re2.Set.FullMatchSet(options)
    lines = list(islice(expressions_in(content), most))
    try:
        for expression, _, _ in lines:
            fitting.Add(expression)
        fitting.Compile()
    except re2.error:
        lines = []
    return Patterns(fitting, tuple((out, only) for _, out, only in lines))


def expressions_in(content: bytes) -> Iterator[tuple[bytes, bool, bool]]:
    """Each line as a regular expression of a path, without those that git gives up on."""
    from dulwich.ignore import read_ignore_patterns, translate
    from dulwich.wildmatch import MalformedPattern

    for line in read_ignore_patterns(BytesIO(content)):
        leaves_out, folders_only = not line.startswith(b"!"), line.endswith(b"/")
        name = line.removeprefix(b"!").removesuffix(b"/")
        try:
            expression = translate(STARS.sub(b"**", name)).replace(b"(?!)", NOTHING)
        except MalformedPattern:
            continue
        if name:
            within = expression.removeprefix(b"(?ms)").removesuffix(b"\\Z")
            yield within, leaves_out, folders_only


@dataclass(frozen=True)
class Rules:
    """Those that hold in a folder: of itself, then of the folders above it."""

    # By how many parts of a path lead there.
    levels: tuple[tuple[int, Patterns], ...] = ()

    def with_file(self, content: bytes, depth: int) -> Rules:
        """With those of the `.gitignore` of a folder this deep."""
        room = MOST_PATTERNS - sum(len(patterns.lines) for _, patterns in self.levels)
        patterns = patterns_of(content, room)
        return Rules(((depth, patterns), *self.levels)) if patterns.lines else self

    def leave_out(self, parts: Parts, is_folder: bool) -> bool:
        """Whether git would, of what lies in a folder that it does not leave out."""
        for depth, patterns in self.levels:
            found = patterns.leave_out(b"/".join(parts[depth:]), is_folder)
            if found is not None:
                return found
        return False


NO_RULES = Rules()
