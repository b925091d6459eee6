"""The git objects of one folder's recordings: blobs and trees, in packs under the home.

A store is generations, each with packs and the index of the last recording: the first is its own
folder, each later one a folder in it that is named after the second in which it began. What is
written goes into the newest, and nothing counts as written that is in older ones alone: so a tree
and all below it are in one, and a generation goes whole (`retention`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import shutil
import stat
import time
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from filelock import FileLock, Timeout

from agents.config.workspaces import home, sync_folder
from agents.errors import Conflict
from agents.models.fields import stored_folder
from agents.stored_text import gettext

if TYPE_CHECKING:
    from dulwich.objects import ObjectID
    from dulwich.pack import Pack
    from pydantic import TypeAdapter

log = logging.getLogger(__name__)

Oid = bytes  # 20 bytes
T = TypeVar("T")

MOST_PENDING = 64_000_000  # bytes of objects that are held before they become a pack
MOST_PACKS = 16  # of a generation; the small ones among more are put together
SMALL_PACK = 32_000_000  # bytes
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
    """An object is lost or damaged; or, `for_now`, it could not be looked at."""

    def __init__(self, what: str, *, for_now: bool = False) -> None:
        super().__init__(what)
        self.for_now = for_now


def stores() -> Path:
    return home() / "recordings"


class Store:
    """Objects of the recordings of one folder. Close it, or use it as a context.

    What is added is on the disk after `flush`, in `folder`, the newest generation. Writers hold
    `locked`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = (self.generations() or [path])[-1]
        self.pending: dict[Oid, tuple[int, bytes]] = {}
        self.size = 0
        self.used_at = 0.0  # by who held the lock before us
        self.is_locked = self.is_damaged = False

    @classmethod
    def of(cls, root: Path) -> Store:
        name = hashlib.sha256(os.fsencode(stored_folder(str(root)))).hexdigest()[:24]
        return cls(stores() / name)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        """The next recording takes nothing for stored where something was not to be read, so it
        writes anew what is still to be found in the folder."""
        self.close()
        if self.is_damaged:
            log.error("objects of the recordings in %s are lost or damaged", self.path)
            with suppress(OSError):
                (self.folder / "index").replace(self.folder / "index.old")

    def close(self) -> None:
        for pack in chain(*self.__dict__.pop("packs", {}).values()):
            pack.close()

    @contextmanager
    def locked(self, root: Path | None = None) -> Iterator[None]:
        """One writer at a time, across processes. Raises Conflict after a minute."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with FileLock(self.path / "lock", timeout=LOCK_TIMEOUT):
                found, name = self.generations(), self.path / "root"
                if root is not None and not (found and name.exists()):
                    name.write_text(json.dumps(stored_folder(str(root))), encoding="utf-8")
                self.enter(found[-1] if found else self.path)
                self.is_locked = True
                yield
        except Timeout:
            sentence = gettext("The folder is being recorded by another process; try again.")
            raise Conflict(sentence) from None
        finally:
            self.is_locked = False

    # Generations

    def generations(self) -> list[Path]:
        """The oldest first."""
        first = [self.path] if (self.path / "pack").is_dir() else []
        return first + sorted(pack.parent for pack in self.path.glob("*/pack"))

    def began(self, generation: Path) -> float:
        """Seconds since 1970; of the first, when `root` was written."""
        is_first = generation == self.path
        return (self.path / "root").stat().st_mtime if is_first else int(generation.name)

    def enter(self, generation: Path) -> None:
        """Write into it from now on; `pack` says when somebody came last."""
        self.folder, packs = generation, generation / "pack"
        if packs.is_dir():
            self.used_at = packs.stat().st_mtime
            os.utime(packs)
        else:
            packs.mkdir(mode=0o700, parents=True)
            sync_folder(generation)
            sync_folder(self.path)

    def begin_generation(self) -> None:
        """The next recording writes the whole folder anew, of the index it takes names alone."""
        second, before = int(max(time.time(), self.began(self.folder) + 1)), self.folder / "index"
        self.enter(self.path / f"{second:010}")
        with suppress(FileNotFoundError):
            shutil.copy(before, self.folder / "index.old")

    def drop(self, generation: Path) -> None:
        self.close()
        for index in generation.glob("index*"):
            index.unlink()
        shutil.rmtree(generation / "pack")
        with suppress(OSError):  # the first holds the others
            generation.rmdir()

    def remove_unfinished(self) -> None:
        """What a process that ended has left of a pack that it wrote."""
        for path in chain(*((each / "pack").iterdir() for each in self.generations())):
            if path.suffix != ".idx" and not path.with_suffix(".idx").exists():
                path.unlink()

    # Reading

    @cached_property
    def packs(self) -> dict[Path, list[Pack]]:
        """Of each generation, the newest first."""
        return {
            each: [opened(path) for path in packs_in(each)] for each in reversed(self.generations())
        }

    def read(self, oid: Oid) -> bytes:
        """The content of an object. Raises StoreBroken."""
        return self.read_any(oid)[1]

    def read_as(self, kind: TypeAdapter[T], oid: str) -> T:
        """What a JSON document says. Raises StoreBroken."""
        try:
            return kind.validate_json(self.read(bytes.fromhex(oid)))
        except ValueError as error:
            raise StoreBroken(oid) from error

    def read_any(self, oid: Oid) -> tuple[int, bytes]:
        """Its kind besides. What is not found may be in packs that came since."""
        if len(oid) != 20:
            raise StoreBroken(oid.hex())
        if oid in self.pending:
            return self.pending[oid]
        with suppress(StoreBroken):
            return self.look_up(oid, chain(*self.packs.values()))
        self.close()
        try:
            return self.look_up(oid, chain(*self.packs.values()))
        except StoreBroken as broken:
            self.is_damaged |= not broken.for_now
            raise

    def look_up(self, oid: Oid, packs: Iterable[Pack]) -> tuple[int, bytes]:
        """Kind and content, of the first pack in which it is whole. Raises StoreBroken."""
        from dulwich.pack import PackFileDisappeared

        why, for_now = "not found", False
        for pack in packs:
            try:
                kind, content = pack.get_raw(cast("ObjectID", oid))
            except (KeyError, PackFileDisappeared):
                continue
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

    def holds(self, oid: Oid) -> bool:
        """Whether it can be read. A writer who asks is going to name it: the newest generation has
        it then. Raises StoreBroken where that cannot be told for now."""
        try:
            kind, content = self.read_any(oid)
        except StoreBroken as broken:
            if broken.for_now:
                raise
            return False
        if self.is_locked:
            self.add(kind, content)
        return True

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
        """Written unless it is whole in this generation."""
        oid = oid_of(kind, content)
        if oid not in self.pending:
            try:
                self.look_up(oid, self.packs.get(self.folder, ()))
            except StoreBroken:
                self.put(oid, kind, content)
        return oid

    def put(self, oid: Oid, kind: int, content: bytes) -> None:
        self.pending[oid] = (kind, content)
        self.size += len(content)
        if self.size > MOST_PENDING:
            self.flush()

    def add_blob(self, content: bytes) -> Oid:
        return self.add(BLOB, content)

    def add_tree(self, entries: Iterable[tuple[bytes, Entry]], known: Container[Oid] = ()) -> Oid:
        """In git's order: a folder stands where its name with a slash would. One that is `known` is
        in this generation."""
        lines = [
            (name + b"/" if stat.S_ISDIR(mode) else name, b"%o %s\0%s" % (mode, name, oid))
            for name, (mode, oid) in entries
        ]
        content = b"".join([line for _, line in sorted(lines)])
        oid = oid_of(TREE, content)
        return oid if oid in known else self.add(TREE, content)

    def flush(self) -> None:
        """What was added is on the disk, and stays there through a crash: the pack, then its index,
        without which nobody reads it."""
        if not self.pending:
            return
        from dulwich.object_format import DEFAULT_OBJECT_FORMAT
        from dulwich.objects import ShaFile
        from dulwich.pack import write_pack

        pending = self.pending.items()
        objects = [ShaFile.from_raw_string(kind, raw, name_of(oid)) for oid, (kind, raw) in pending]
        pack = str(self.folder / "pack" / f"pack-{secrets.token_hex(20)}")
        write_pack(pack, objects, DEFAULT_OBJECT_FORMAT, deltify=False, compression_level=SPEED)
        sync_folder(self.folder / "pack")
        self.pending, self.size = {}, 0
        self.close()  # packs are listed once

    def gather_small(self) -> None:
        """Few packs are looked through faster than many; where that fails they are many."""
        paths = packs_in(self.folder)
        if len(paths) <= MOST_PACKS:
            return
        try:
            small = [path for path in paths if path.stat().st_size < SMALL_PACK]
            gathered = [path for path in small if self.took(path)]
            self.flush()
            for path in gathered:
                path.with_suffix(".idx").unlink()
                path.unlink()
        except OSError:
            log.exception("the packs in %s could not be put together", self.folder)

    def took(self, path: Path) -> bool:
        """What is in a pack; false where that is damaged."""
        try:
            with opened(path) as pack:
                oids = [bytes.fromhex(name.decode()) for name in pack]
                found = [(oid, *self.look_up(oid, [pack])) for oid in oids]
        except Exception:  # as there
            log.exception("%s stays as it is", path)
            return False
        for each in found:
            self.put(*each)
        return True


def bytes_of(generation: Path) -> int:
    return sum(path.stat().st_size for path in (generation / "pack").iterdir())


def packs_in(generation: Path) -> list[Path]:
    return [path.with_suffix(".pack") for path in (generation / "pack").glob("*.idx")]


def opened(path: Path) -> Pack:
    from dulwich.object_format import DEFAULT_OBJECT_FORMAT
    from dulwich.pack import Pack

    return Pack(str(path.with_suffix("")), object_format=DEFAULT_OBJECT_FORMAT)


def name_of(oid: Oid) -> ObjectID:
    """As git writes it."""
    return cast("ObjectID", oid.hex().encode())


def oid_of(kind: int, content: bytes) -> Oid:
    name = b"blob" if kind == BLOB else b"tree"
    digest = hashlib.sha1(b"%s %d\0" % (name, len(content)), usedforsecurity=False)
    digest.update(content)
    return digest.digest()
