"""The workspace of an agent as its owner handles it: listed, found and renamed.

It is the folder in which the agent's file tools work, and confined as they are. What the tools may
only read in a linked folder, nobody changes from here either.
"""

from __future__ import annotations

import os
import stat
import time
import unicodedata
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Self

from agents.config.store import files_folder, read_agent
from agents.config.workspaces import agent_ids
from agents.errors import Conflict, DiskFull, Forbidden, Invalid, NotFound, Refused
from agents.models import Conversation
from agents.normalization import normalized
from agents.stored_text import gettext, gettext_lazy
from agents.tools.base import ToolFailed
from agents.tools.confinement import (
    NameTaken,
    NoFolder,
    NoRoom,
    NotAllowed,
    NotAName,
    OtherDisk,
    Parts,
    ReadOnly,
    Workspace,
    display_path,
    is_ours,
    move_to_free,
    status_in,
    translated_errors,
)
from agents.tools.files import editing
from agents.tools.permissions import Permissions, access
from agents.workspace.edits import noted

Kind = Literal["folder", "file", "link", "other"]
IfTaken = Literal["refuse", "replace", "keep_both"]

MOST_LISTED = 500  # of a folder in one answer
MOST_FOUND = 200
FIND_SECONDS = 2.0
SWEEP_SECONDS = 5.0  # in one agent's folder
LONGEST_NAME, LONGEST_ENDING = 240, 16  # bytes: a number may have to stand behind it
NO_LETTERS = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
FULL = gettext_lazy("The server’s disk is full and nothing was changed; make room and try again.")


@dataclass(frozen=True)
class Item:
    """What lies in a folder. A name that is not UTF-8 can be seen and not be used."""

    path: str
    kind: Kind
    size: int
    modified_at: float
    is_usable: bool = True

    @classmethod
    def of(cls, parts: Parts, status: os.stat_result) -> Self:
        path = "/".join(parts)
        shown = path.encode(errors="replace").decode()
        kind = kind_of(status.st_mode)
        return cls(shown, kind, status.st_size, status.st_mtime, shown == path)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Listing:
    """Folders first, then by name. `count` is how many there are in all."""

    items: list[Item]
    count: int
    is_cut: bool = False


class AgentFiles(Workspace):
    """The workspace of an agent in the hands of the person who may talk with it.

    Raises NotFound where the agent is not this person's. A link is an entry of its own here, not
    what it leads to.
    """

    def __init__(self, agent_id: str, person: int) -> None:
        reaches_server = access(agent_id, person)
        permissions = Permissions(read_agent(agent_id), reaches_server)
        super().__init__(permissions.folder)
        agent = permissions.agent
        self.agent, self.person = agent.id, person
        self.agent_name = agent.file.name or agent.id
        self.is_linked = agent.file.workspace is not None
        self.is_read_only = self.is_linked and permissions.grant("write_file") == "off"

    @classmethod
    def of(cls, conversation: Conversation) -> Self:
        return cls(conversation.agent_id, conversation.owner_id)

    @property
    def name(self) -> str:
        return self.root.name if self.is_linked else self.agent_name

    def check_writable(self) -> None:
        if self.is_read_only:
            raise Forbidden(
                gettext("{agent} may only read in {folder}, so it is not changed here.").format(
                    agent=self.agent_name, folder=self.root.name
                )
            )

    def items(self, path: str, start: int = 0, most: int = MOST_LISTED) -> Listing:
        """A part of a folder; only this part is looked at closely."""
        parts, items = self.locate(path), []
        with self.folder(parts, path) as handle, translated_errors(path):
            with os.scandir(handle) as found:
                entries = [
                    (not each.is_dir(follow_symlinks=False), each.name.casefold(), each.name)
                    for each in found
                    if not is_ours(each.name)
                ]
            for _, _, name in sorted(entries)[start : start + most]:
                with suppress(OSError):  # gone meanwhile
                    items.append(Item.of((*parts, name), status_in(handle, name)))
        return Listing(items, len(entries), start + most < len(entries))

    def item(self, path: str) -> Item:
        return Item.of(self.entry_parts(path), self.status(path, follow=False))

    def find(self, text: str) -> Listing:
        """Files whose path has each of these words in it, in any letter case."""
        words, found = text.casefold().split(), []
        deadline = time.monotonic() + FIND_SECONDS
        for entry in self.walk(".", deadline):
            path = "/".join(entry.parts).casefold()
            if all(word in path for word in words):
                found.append(Item.of(entry.parts, entry.status))
            if len(found) >= MOST_FOUND:
                return Listing(found, len(found), is_cut=True)
        return Listing(found, len(found), is_cut=time.monotonic() > deadline)

    def stamp(self, path: str) -> str:
        """Another one when the file, or what is in the folder, has changed; empty for none."""
        try:
            status = self.status(path)
        except ToolFailed:
            return ""
        size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
        return f"{status.st_ino:x}-{status.st_mtime_ns:x}-{size:x}"

    def rename(self, path: str, to: str) -> str:
        """Give it a name that is free, also in another folder that is there; its new path."""
        self.check_writable()
        folder, between, wanted = to.rpartition("/")
        name = clean_name(wanted)
        to = f"{folder}{between}{name}"
        with refusals(path), editing(self), noted(self, path, to), ExitStack() as stack:
            old_folder, old = stack.enter_context(self.parent_of(path, follow=False))
            status_in(old_folder, old)
            if not name:
                raise Invalid(gettext("Give it a name."))
            try:
                new_folder, new = stack.enter_context(self.parent_of(to, follow=False))
            except ToolFailed:
                sentence = gettext("{path} cannot be its new place: there is no such folder here.")
                raise NotFound(sentence.format(path=display_path(to))) from None
            here, there = self.entry_parts(path), self.entry_parts(to)
            if here == there[: len(here)] != there:
                raise Invalid(gettext("A folder cannot be moved into itself."))
            if here != there:
                move_to_free(old_folder, old, new_folder, new, only=True)
                os.fsync(new_folder)
                os.fsync(old_folder)
        return to


def kind_of(mode: int) -> Kind:
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return "link"
    return "file" if stat.S_ISREG(mode) else "other"


def moment_of(seconds: float) -> datetime:
    """A file's time, which may be any number, as near as a date can be."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)


@contextmanager
def refusals(path: str) -> Iterator[None]:
    """What the workspace refuses about a path, as a person is told it."""
    try:
        yield
    except NoRoom:
        raise DiskFull(str(FULL)) from None
    except NotAllowed:
        sentence = gettext("{path} may not be opened or changed: the server lacks the permission.")
        raise Forbidden(sentence.format(path=display_path(path))) from None
    except ReadOnly:
        sentence = gettext("{path} cannot be changed: its disk, or the file, may only be read.")
        raise Forbidden(sentence.format(path=display_path(path))) from None
    except NoFolder:
        sentence = gettext("{path} cannot be used: a part of it is a file, or a link.")
        raise NotFound(sentence.format(path=display_path(path))) from None
    except OtherDisk:
        sentence = gettext("{path} lies on another disk, so it cannot be moved from here.")
        raise Conflict(sentence.format(path=display_path(path))) from None
    except NameTaken as taken:
        raise Conflict(gettext("{name} is there already.").format(name=taken.name)) from None
    except NotAName as fault:
        sentence = gettext("{name} cannot be the name of a file here.")
        raise Invalid(sentence.format(name=display_path(fault.name))) from None
    except ToolFailed:
        sentence = gettext("{path} cannot be used: it is gone, or not to be opened here.")
        raise NotFound(sentence.format(path=display_path(path))) from None


def remove_cut_off() -> None:
    """Remove what was being written when a process ended, in the folders of all agents."""
    for agent_id in agent_ids():
        with suppress(Refused, ToolFailed):
            files = Workspace(files_folder(read_agent(agent_id)))
            deque(files.walk(".", time.monotonic() + SWEEP_SECONDS), maxlen=0)


def clean_name(wanted: str) -> str:
    """A name without what nobody sees, and not too long for a disk; empty where none is left."""
    name = visible(wanted).strip()
    if is_ours(name):
        name = name[1:]  # nobody sees one of these, and when it is old it is removed
    return "" if name in (".", "..") else shortened(name)


def visible(text: str) -> str:
    text = normalized(text.encode(errors="ignore").decode(), "NFC")
    return "".join(sign for sign in text if unicodedata.category(sign) not in NO_LETTERS)


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """A name of so many bytes at most, with its ending."""
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > LONGEST_ENDING:
        stem, dot, ending = name, "", ""
    rest = most - len(f"{dot}{ending}".encode())
    return stem.encode()[:rest].decode(errors="ignore") + dot + ending
