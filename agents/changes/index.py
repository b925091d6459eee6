"""What the last recording of a folder saw, so that the next one reads only what has changed.

A folder inside is one row: as long as its names and the stats of its files are the same bytes, so
is all it holds. It is a cache: where it cannot be read, every file is.
"""

from __future__ import annotations

import hashlib
import os
import struct
from array import array
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from agents.changes.store import Entry, Oid

VERSION = b"planside recording 1\n"
FIELDS = 5  # of each file: mode, size, mtime, ctime, inode


class Stats(NamedTuple):
    mode: int
    size: int
    mtime: int  # nanoseconds
    ctime: int
    inode: int


class Folder(NamedTuple):
    """Names are sorted and divided by NUL; `stats` has FIELDS numbers and `oids` 20 bytes for each
    file; `children` are the folders in it: names, modes and trees. `ignored` was left out under
    the rules of that digest."""

    files: bytes
    stats: bytes
    oids: bytes
    children: bytes
    ignored: bytes
    rules_and_tree: bytes

    @property
    def tree(self) -> Oid:
        return self.rules_and_tree[-20:]

    @property
    def rules(self) -> bytes:
        return self.rules_and_tree[:-20]

    def known(self) -> dict[bytes, tuple[bytes, Oid]]:
        """Each file's stats as bytes, and its object."""
        width = FIELDS * 8
        return {
            name: (self.stats[i * width : (i + 1) * width], self.oids[i * 20 : (i + 1) * 20])
            for i, name in enumerate(split(self.files))
        }


NO_FOLDER = Folder(b"", b"", b"", b"", b"", b"\0" * 20)
Index = dict[bytes, Folder]  # by the path below the root, which is empty for the root


def split(names: bytes) -> list[bytes]:
    return names.split(b"\0") if names else []


def stats_of(status: os.stat_result) -> array[int]:
    """As they are compared; an inode may be larger than a signed number."""
    inode = status.st_ino & 0x7FFF_FFFF_FFFF_FFFF
    numbers = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode)
    return array("q", numbers)


def unpacked(stats: bytes) -> Stats:
    return Stats(*array("q", stats))


def read_index(path: Path) -> Index:
    """An empty one where there is none, or it is not whole."""
    try:
        content = path.read_bytes()
    except OSError:
        return {}
    body, digest = content[:-20], content[-20:]
    whole = hashlib.sha1(body, usedforsecurity=False).digest() == digest
    if not whole or not body.startswith(VERSION):
        return {}
    index, at = {}, len(VERSION)
    while at < len(body):
        sizes = struct.unpack_from(">7I", body, at)
        at += 28
        parts = []
        for size in sizes:
            parts.append(body[at : at + size])
            at += size
        index[parts[0]] = Folder(*parts[1:])
    return index


def unread(index: Index) -> Index:
    """Of an index whose objects are not to be counted on: what was recorded, by its names alone."""
    return {
        path: row._replace(stats=bytes(len(row.stats)), rules_and_tree=row.rules + NO_FOLDER.tree)
        for path, row in index.items()
    }


def write_index(path: Path, index: Index) -> None:
    """Not synced: one that is lost costs time alone."""
    parts = [VERSION]
    for name, folder in index.items():
        parts += (struct.pack(">7I", len(name), *map(len, folder)), name, *folder)
    body = b"".join(parts)
    unfinished = path.with_suffix(".tmp")
    with suppress(OSError):
        unfinished.write_bytes(body + hashlib.sha1(body, usedforsecurity=False).digest())
        unfinished.replace(path)


def entries_of(files: bytes, stats: bytes, oids: bytes) -> list[tuple[bytes, Entry]]:
    modes = array("q", stats)[::FIELDS]
    return [
        (name, Entry(mode, oids[i * 20 : (i + 1) * 20]))
        for i, (name, mode) in enumerate(zip(split(files), modes, strict=True))
    ]
