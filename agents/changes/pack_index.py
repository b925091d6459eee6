"""The indexes of packs: written whole, and written anew from their pack where one is damaged."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterable
from pathlib import Path

from agents.config.workspaces import sync_folder

log = logging.getLogger(__name__)

DIGEST = 20  # bytes of SHA-1; an index ends in that of its pack and that of itself
Row = tuple[bytes, int, int | None]  # object, offset in the pack, checksum


def write_index(pack: Path, rows: Iterable[Row], checksum: bytes) -> None:
    """In one step, and on the disk afterwards; without its index nobody reads a pack."""
    from dulwich.pack import write_pack_index

    unfinished = pack.with_suffix(".tmp")
    with unfinished.open("wb") as file:
        write_pack_index(file, sorted(rows), checksum)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(pack.with_suffix(".idx"))
    sync_folder(pack.parent)


def mend_indexes(packs: Path) -> None:
    """Write anew what is damaged of the indexes in a folder, where the pack itself is whole; the
    caller holds the store's lock."""
    for index in packs.glob("*.idx"):
        pack = index.with_suffix(".pack")
        try:
            if not is_whole(index, pack):
                write_index(pack, *read_pack(pack))
                log.warning("%s was damaged, and is written anew from its pack", index)
        except Exception:  # a damaged pack makes the library raise what it likes
            log.exception("%s cannot be written anew: its pack is damaged", index)


def is_whole(index: Path, pack: Path) -> bool:
    """Whether it is as it was written, and for the pack that is there."""
    content = index.read_bytes()
    with pack.open("rb") as file:
        file.seek(-DIGEST, os.SEEK_END)
        checksum = file.read()
    body, digest = content[:-DIGEST], content[-DIGEST:]
    is_same = hashlib.sha1(body, usedforsecurity=False).digest() == digest
    return is_same and body.endswith(checksum)


def read_pack(path: Path) -> tuple[list[Row], bytes]:
    """What its index says, from the pack alone. Raises what the library does where that is damaged,
    anywhere."""
    from dulwich.object_format import DEFAULT_OBJECT_FORMAT
    from dulwich.pack import PackData

    with PackData(str(path), DEFAULT_OBJECT_FORMAT) as pack:
        pack.check()
        return list(pack.iterentries()), pack.get_stored_checksum()
