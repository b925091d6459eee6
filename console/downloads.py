"""Files of a workspace as a browser gets them: to be saved, one or all, and PDFs to be read.

They go out piece by piece, however large they are. Nothing but the pictures that call_images.py
knows, and PDFs, is ever drawn: a page or an SVG would run here as if it were ours.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from io import RawIOBase
from threading import Lock
from typing import Any, BinaryIO

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from agents.pools import DOWNLOADS, person
from agents.tools.base import ToolFailed
from agents.tools.confinement import Parts, numbered
from agents.workspace.attachments import PLAIN
from agents.workspace.files import AgentFiles, moment_of, refusals
from console.attachments import CHANGING, PRIVATE

PIECE = 64 * 1024
PDF_SIGN = b"%PDF-"
# A browser shows no PDF in a sandbox, and shows it by a program that is kept apart from the page.
# What is no PDF is none for it either: the type is fixed, and the first bytes are looked at.
PDF_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
FIRST_YEAR, LAST_YEAR = 1980, 2107  # that a zip can name


class Pieces(StreamingHttpResponse):
    """Each piece is made when the one before has gone out, and none of it is kept.

    Django's own reads a sync iterator to its end before it sends anything.
    """

    file: BinaryIO | None = None  # is closed with it

    def __init__(self, pieces: Iterator[bytes], by: int, **named: Any) -> None:
        super().__init__(pieces, **named)
        self.by = by
        self.taking, self.left = Lock(), False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        person.set(self.by)
        pieces = iter(self.streaming_content)  # type: ignore[arg-type]

        def take() -> bytes | None:
            with self.taking:
                piece = None if self.left else next(pieces, None)
            self.close_when_left()
            return piece

        while (piece := await DOWNLOADS.run(take)) is not None:
            yield piece

    def close(self) -> None:
        """A client may leave while a thread makes a piece: then that thread closes."""
        self.left = True
        self.close_when_left()

    def close_when_left(self) -> None:
        if self.left and self.taking.acquire(blocking=False):
            try:
                if not self.closed:
                    super().close()
                if self.file:
                    self.file.close()
            finally:
                self.taking.release()


def file_response(files: AgentFiles, path: str) -> Pieces:
    """The file, to be saved, whatever it holds. Raises NotFound."""
    with refusals(path):
        file = files.open(path)
    return whole(file, path, PLAIN, files.person)


def zip_response(files: AgentFiles, path: str = "") -> Pieces:
    """All files below a folder as a zip, made while it goes out."""
    with refusals(path):
        parts = files.locate(path or ".")
        if not files.is_folder(path or "."):
            raise ToolFailed(path)
    name = parts[-1] if parts else files.name
    return saved(zipped(files, path or "."), f"{name}.zip", "application/zip", files.person)


def pdf_response(files: AgentFiles, path: str) -> Pieces:
    """A PDF, to be read in a frame of our own page. Raises NotFound."""
    with refusals(path):
        file = files.open(path)
        if file.read(len(PDF_SIGN)) != PDF_SIGN:
            file.close()
            raise ToolFailed(path)
        file.seek(0)
    response = whole(file, path, "application/pdf", files.person)
    disposition = content_disposition_header(False, path.rpartition("/")[2]) or "inline"
    response.headers["Content-Disposition"] = disposition
    response.headers["Content-Security-Policy"] = PDF_POLICY
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    return response


def whole(file: BinaryIO, path: str, kind: str, by: int) -> Pieces:
    """As many bytes as it has now: more than are announced must not go out."""
    size = os.fstat(file.fileno()).st_size
    response = saved(pieces_of(file, size), path.rpartition("/")[2], kind, by)
    response.headers["Content-Length"] = str(size)
    response.file = file
    return response


def saved(pieces: Iterator[bytes], name: str, kind: str, by: int) -> Pieces:
    disposition = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    headers = {**CHANGING, "Content-Disposition": disposition, "Vary": PRIVATE}
    return Pieces(pieces, by, content_type=kind, headers=headers)


def pieces_of(file: BinaryIO, left: int) -> Iterator[bytes]:
    while left and (piece := file.read(min(PIECE, left))):
        left -= len(piece)
        yield piece


class Sink(RawIOBase):
    """Keeps what is written until it is taken."""

    def __init__(self) -> None:
        self.kept = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:  # type: ignore[no-untyped-def]
        self.kept += data
        return len(data)

    def take(self) -> bytes:
        taken, self.kept = bytes(self.kept), bytearray()
        return taken


def zipped(files: AgentFiles, path: str) -> Iterator[bytes]:
    """What cannot be opened, such as a link out of the workspace or a pipe, is left out. Of a file
    that grows meanwhile it holds what was there: it might grow without end."""
    sink, names = Sink(), ZipNames(files, files.locate(path))
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in files.walk(path):
            if not entry.is_file or entry.is_hard_link:
                continue
            try:
                file = files.open("/".join(entry.parts))
            except ToolFailed:
                continue
            head = head_of(names.name_of(entry.parts), file)
            with file, archive.open(head, "w", force_zip64=True) as to:
                for piece in pieces_of(file, os.fstat(file.fileno()).st_size):
                    to.write(piece)
                    if sink.kept:
                        yield sink.take()
            yield sink.take()
    yield sink.take()


class ZipNames:
    """A name in the zip for each path, and for each folder above it, that no other one has.

    Where `safe_name` makes two names alike, the one that it leaves as it is keeps it, and the
    others get a number.
    """

    def __init__(self, files: AgentFiles, above: Parts) -> None:
        self.files = files
        self.given: dict[Parts, str] = {above: ""}
        self.taken: set[str] = set()
        self.numbers: Counter[str] = Counter()  # that were tried for a name

    def name_of(self, parts: Parts) -> str:
        if parts not in self.given:
            self.given[parts] = self.free_name(parts)
        return self.given[parts]

    def free_name(self, parts: Parts) -> str:
        *above, name = parts
        folder = f"{self.name_of(tuple(above))}/".removeprefix("/")
        wanted = safe_name(name)
        free = wanted
        while not self.is_free(folder + free, name, (*above, free)):
            self.numbers[folder + wanted] += 1
            free = numbered(wanted, 1 + self.numbers[folder + wanted])
        self.taken.add(folder + free)
        return folder + free

    def is_free(self, wanted: str, name: str, parts: Parts) -> bool:
        is_anothers = parts[-1] != name and self.files.is_there("/".join(parts))
        return wanted not in self.taken and not is_anothers


def head_of(name: str, file: BinaryIO) -> zipfile.ZipInfo:
    status = os.fstat(file.fileno())
    changed = moment_of(status.st_mtime)
    year = min(max(changed.year, FIRST_YEAR), LAST_YEAR)
    head = zipfile.ZipInfo(name, (year, *changed.timetuple()[1:6]))
    head.compress_type = zipfile.ZIP_DEFLATED
    head.external_attr = stat.S_IMODE(status.st_mode) << 16
    return head


def safe_name(part: str) -> str:
    """One that is one name wherever it is unpacked: elsewhere a backslash divides, too."""
    text = part.encode(errors="replace").decode()
    return "".join("_" if sign in "\\:" or not sign.isprintable() else sign for sign in text)
