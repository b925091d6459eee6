"""Throwing away what no recording names any more, and putting small packs together."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from agents.changes.scan import read_index
from agents.changes.store import MOST_PENDING, Oid, Store, StoreBroken, name_of, whole

log = logging.getLogger(__name__)

MOST_PACKS = 16  # of a store; the small ones among more are put together
SMALL_PACK = 32_000_000  # bytes
NAMED = re.compile(r'"oid":"([0-9a-f]{40})"')


def gather_small(store: Store) -> None:
    """Few packs are looked through faster than many; the large ones stay as they are. Where that
    cannot be done they are many."""
    packs = store.packs()
    if len(packs) > MOST_PACKS:
        try:
            repack(store, [path for path in packs if path.stat().st_size < SMALL_PACK], None)
        except Exception:
            log.exception("the packs in %s could not be put together", store.folder)


def keep_only(store: Store, trees: Iterable[Oid], lists: Iterable[Oid]) -> None:
    """Throw away whatever none of these names; the caller holds the lock.

    The lists are documents that name objects besides. What the next recording takes for stored,
    by the index of the last one, stays. What is damaged goes: nobody can read it, nor what it alone
    leads to.
    """
    live = set(lists)
    for each in lists:
        try:
            live.update(bytes.fromhex(oid) for oid in NAMED.findall(store.read(each).decode()))
        except StoreBroken as broken:
            note_lost(store, broken)
            live.discard(each)
    live.update(oid for _, oid in read_index(store.folder / "index").values())
    for tree in trees:
        reach(store, tree, live)
    repack(store, store.packs(), live)


def note_lost(store: Store, broken: StoreBroken) -> None:
    """The next recording takes nothing for stored any more, so it writes anew what is still to be
    found in the folder. Raises what may yet be read another time."""
    if broken.for_now:
        raise broken
    log.error("lost of the recordings in %s: %s", store.folder, broken)
    (store.folder / "index").unlink(missing_ok=True)


def reach(store: Store, tree: Oid, seen: set[Oid]) -> None:
    """Add a tree and all below it to what was seen."""
    if tree in seen or not any(tree):
        return
    try:
        entries = store.tree(tree)
    except StoreBroken as broken:
        note_lost(store, broken)
        return
    seen.add(tree)
    for entry in entries.values():
        if entry.is_folder:
            reach(store, entry.oid, seen)
        else:
            seen.add(entry.oid)


def repack(store: Store, packs: list[Path], live: set[Oid] | None) -> None:
    """These packs written anew, with what is live and whole; those that lose nothing stay."""
    from dulwich.object_format import DEFAULT_OBJECT_FORMAT
    from dulwich.objects import ShaFile
    from dulwich.pack import Pack

    store.look_again()  # of a damaged index nobody could say what is in its pack
    moved: list[ShaFile] = []
    gone: list[Path] = []
    size = 0
    for path in packs:
        with Pack(str(path.with_suffix("")), object_format=DEFAULT_OBJECT_FORMAT) as pack:
            oids = [bytes.fromhex(sha.decode()) for sha in pack]
            kept = [oid for oid in oids if live is None or oid in live]
            if live is not None and len(kept) == len(oids):
                continue
            for oid in kept:
                try:
                    kind, raw = whole(partial(pack.get_raw, name_of(oid)), oid)
                except StoreBroken as broken:
                    note_lost(store, broken)
                    continue
                moved.append(ShaFile.from_raw_string(kind, bytes(raw), name_of(oid)))
                size += len(raw)
                if size > MOST_PENDING:
                    store.write_pack(moved)
                    moved, size = [], 0
        gone.append(path)
    if moved:
        store.write_pack(moved)
    store.close()
    for path in gone:
        path.with_suffix(".idx").unlink()
        path.unlink()


def empty(store: Store) -> None:
    """Nothing is kept of the folder."""
    for path in (store.folder / "index", *(store.folder / "pack").iterdir()):
        path.unlink(missing_ok=True)


def remove_unfinished(store: Store) -> None:
    """Packs without an index, of a process that ended while it wrote them."""
    for path in (store.folder / "pack").iterdir():
        if path.suffix != ".idx" and not path.with_suffix(".idx").exists():
            path.unlink(missing_ok=True)
