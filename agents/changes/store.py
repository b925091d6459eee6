"""The git objects of one folder's recordings: blobs and trees, in packs under the home."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from django.utils.translation import gettext
from filelock import FileLock, Timeout

from agents.changes.pack_index import mend_indexes, write_index
from agents.config.workspaces import home
from agents.errors import Conflict
from agents.models.fields import stored_folder

if TYPE_CHECKING:
    from dulwich.object_store import DiskObjectStore
    from dulwich.objects import ObjectID, ShaFile

Oid = bytes  # 20 bytes

MOST_PENDING = 64_000_000  # bytes of objects that are held before they become a pack
SPEED = 1  # of zlib: a recording is waited for
LOCK_TIMEOUT = 60  # seconds
BLOB, TREE = 3, 2  # as git numbers them


class Entry(NamedTuple):
    """What a tree says of one name: type and permission bits, and the object."""

    mode: int
    oid: Oid

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


class StoreBroken(Exception):
    """An object that a recording names is not there, or not whole; or, `for_now`, it could not be
    looked at."""

    def __init__(self, what: str, *, for_now: bool = False) -> None:
        super().__init__(what)
        self.for_now = for_now


def stores() -> Path:
    return home() / "recordings"


class Store:
    """Objects of the recordings of one folder. Close it, or use it as a context.

    What is added is on the disk after `flush`. Writers hold `locked`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pending: dict[Oid, tuple[int, bytes]] = {}
        self.size = 0
        self.is_locked = self.is_mended = False

    @classmethod
    def of(cls, root: Path) -> Store:
        name = hashlib.sha256(os.fsencode(stored_folder(str(root)))).hexdigest()[:24]
        return cls(stores() / name)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if "objects" in self.__dict__:
            self.objects.close()
            del self.objects

    @contextmanager
    def locked(self, root: Path | None = None) -> Iterator[None]:
        """One writer at a time, across processes. Raises Conflict after a minute."""
        (self.folder / "pack").mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with FileLock(self.folder / "lock", timeout=LOCK_TIMEOUT):
                name = self.folder / "root"
                if root is not None and not name.exists():  # for whoever looks into the home
                    name.write_text(json.dumps(stored_folder(str(root))), encoding="utf-8")
                self.is_locked = True
                yield
        except Timeout:
            sentence = gettext("The folder is being recorded by another process; try again.")
            raise Conflict(sentence) from None
        finally:
            self.is_locked = False

    @cached_property
    def objects(self) -> DiskObjectStore:
        from dulwich.object_store import DiskObjectStore  # takes 50 ms, and few turns record

        return DiskObjectStore(self.folder)

    # Reading

    def read(self, oid: Oid) -> bytes:
        """The content of an object. Raises StoreBroken."""
        if len(oid) != 20:
            raise StoreBroken(oid.hex())
        if found := self.pending.get(oid):
            return found[1]
        with suppress(StoreBroken):
            return self.read_once(oid)
        self.look_again()
        return self.read_once(oid)

    def read_once(self, oid: Oid) -> bytes:
        return whole(lambda: self.objects.get_raw(name_of(oid)), oid)[1]

    def size_of(self, oid: Oid) -> int:
        return len(self.read(oid))

    def look_again(self) -> None:
        """What is not found may be in packs that came since. Indexes that are damaged are mended,
        once, unless somebody writes here at this moment."""
        self.close()
        packs = self.folder / "pack"
        if self.is_mended or not packs.is_dir():
            return
        with suppress(Timeout):
            with nullcontext() if self.is_locked else FileLock(self.folder / "lock", timeout=0):
                mend_indexes(packs)
            self.is_mended = True

    def holds(self, oid: Oid) -> bool:
        """Raises StoreBroken where that cannot be told."""
        with suppress(StoreBroken):
            if self.is_held(oid):
                return True
        self.look_again()
        return self.is_held(oid)

    def is_held(self, oid: Oid) -> bool:
        """Without a second look, which takes longer; what is new is not found at first either."""
        try:
            return oid in self.pending or name_of(oid) in self.objects
        except Exception as error:  # as in `whole`
            why = repr(error)
        raise StoreBroken(f"{oid.hex()}: {why}")

    def tree(self, oid: Oid) -> dict[bytes, Entry]:
        """What a folder holds, by name."""
        if not oid:
            return {}
        from dulwich.objects import parse_tree

        parsed = parse_tree(self.read(oid), 20)
        return {name: Entry(mode, bytes.fromhex(sha.decode())) for name, mode, sha in parsed}

    def find(self, tree: Oid, path: bytes) -> Entry | None:
        """The entry of a path below a tree."""
        *folders, name = path.split(b"/")
        for folder in folders:
            entry = self.tree(tree).get(folder)
            if entry is None or not entry.is_folder:
                return None
            tree = entry.oid
        return self.tree(tree).get(name)

    # Writing

    def add(self, kind: int, content: bytes) -> Oid:
        oid = oid_of(kind, content)
        try:
            is_held = self.is_held(oid)
        except StoreBroken:
            is_held = self.holds(oid)
        if not is_held:
            self.pending[oid] = (kind, content)
            self.size += len(content)
            if self.size > MOST_PENDING:
                self.flush()
        return oid

    def add_blob(self, content: bytes) -> Oid:
        return self.add(BLOB, content)

    def add_tree(self, entries: Iterable[tuple[bytes, Entry]]) -> Oid:
        """In git's order: a folder stands where its name with a slash would."""
        ordered = sorted(entries, key=lambda item: item[0] + b"/" * item[1].is_folder)
        parts = (b"%o %s\0%s" % (entry.mode, name, entry.oid) for name, entry in ordered)
        return self.add(TREE, b"".join(parts))

    def flush(self) -> None:
        """What was added is on the disk, and stays there through a crash."""
        if not self.pending:
            return
        from dulwich.objects import ShaFile

        pending = self.pending.items()
        objects = [ShaFile.from_raw_string(kind, raw, name_of(oid)) for oid, (kind, raw) in pending]
        self.write_pack(objects)
        self.pending, self.size = {}, 0
        self.close()  # packs are listed once

    def write_pack(self, objects: Sequence[ShaFile]) -> Path:
        """A pack of these, whole or not at all: without its index nobody reads it."""
        from dulwich.object_format import DEFAULT_OBJECT_FORMAT
        from dulwich.pack import write_pack_objects

        pack = self.folder / "pack" / f"pack-{secrets.token_hex(20)}.pack"
        with pack.open("xb") as file:
            entries, checksum = write_pack_objects(
                file, objects, DEFAULT_OBJECT_FORMAT, deltify=False, compression_level=SPEED
            )
            file.flush()
            os.fsync(file.fileno())
        write_index(pack, ((oid, *place) for oid, place in entries.items()), checksum)
        return pack

    def packs(self) -> list[Path]:
        return [path.with_suffix(".pack") for path in (self.folder / "pack").glob("*.idx")]


def whole(get: Callable[[], tuple[int, bytes]], oid: Oid) -> tuple[int, bytes]:
    """Kind and content of an object. Raises StoreBroken."""
    for_now = False
    try:
        kind, content = get()
    except (OSError, MemoryError) as error:
        why, for_now = repr(error), True
    except Exception as error:  # a damaged pack makes the library raise what it likes
        why = repr(error)
    else:
        if oid_of(kind, content) == oid:
            return kind, content
        why = "it is another one"
    # Here, or the error would hold the pack open.
    raise StoreBroken(f"{oid.hex()}: {why}", for_now=for_now)


def name_of(oid: Oid) -> ObjectID:
    """As git writes it."""
    return cast("ObjectID", oid.hex().encode())


def oid_of(kind: int, content: bytes) -> Oid:
    name = b"blob" if kind == BLOB else b"tree"
    digest = hashlib.sha1(b"%s %d\0" % (name, len(content)), usedforsecurity=False)
    digest.update(content)
    return digest.digest()
