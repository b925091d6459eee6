"""Where agents live on disk: their folders, locks, trash, and the home at its first start."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path

from django.conf import settings
from filelock import FileLock, Timeout
from pydantic import JsonValue

from agents.config.json_text import BadFile, patched, written
from agents.config.schema import LARGEST_FILE, AgentFile, default_model, default_provider
from agents.errors import Conflict, Invalid, NotFound, about
from agents.stored_text import gettext

SAMPLE = Path(__file__).parent / "samples" / "docs-writer"
AGENT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
SCHEMA = "agent.schema.json"
SCHEMA_LINK = f"../../{SCHEMA}"  # as seen from an agent.json
LOCK_TIMEOUT = 10  # seconds
DEEPEST_COPIED = 100  # folders


def home() -> Path:
    return Path(settings.PLANSIDE_HOME)


def workspaces() -> Path:
    return home() / "workspaces"


def agent_ids() -> list[str]:
    """The folders that are named like agents, whether or not they hold one."""
    if not workspaces().is_dir():
        return []
    return [path.name for path in workspaces().iterdir() if AGENT_ID.fullmatch(path.name)]


def agent_path(agent_id: str) -> Path:
    """Where the agent's file is or would be. A wrong id never becomes a path."""
    return _agent_path(settings.PLANSIDE_HOME, agent_id)


@lru_cache(maxsize=1000)
def _agent_path(home: Path, agent_id: str) -> Path:
    """Put together once: a turn asks for it some ten times."""
    if not AGENT_ID.fullmatch(agent_id):
        raise NotFound(gettext('There is no agent "{agent_id}".').format(agent_id=agent_id[:64]))
    return home / "workspaces" / agent_id / "agent.json"


def last_good_path(path: Path) -> Path:
    return path.with_name(".agent.last-good.json")


def check_new_id(agent_id: str) -> None:
    if not AGENT_ID.fullmatch(agent_id):
        raise Invalid(
            gettext(
                "An agent's id is made of at most 64 small letters, digits, hyphens and "
                "underscores, and begins with a letter or digit."
            )
        )


def taken(agent_id: str) -> Conflict:
    """The same words whosesoever it is, and of an agent that is gone: a folder has one name for
    everybody, so a guess can be told that it is used, and nothing else.
    """
    return Conflict(gettext('The id "{agent_id}" is taken.').format(agent_id=agent_id[:64]))


def new_agent_path(agent_id: str) -> Path:
    """The path of an agent that is not there yet, in a folder that is."""
    path = agent_path(agent_id)
    if path.exists():
        raise taken(agent_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def read_text(path: Path) -> tuple[str, BadFile | None]:
    """The text of the file, and the reason if it is none. Stays clear of pipes and devices."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return "", BadFile(gettext("{name} is not an ordinary file").format(name=path.name))
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
    except OSError as error:
        reason = gettext("{name} cannot be read: {why}")
        return "", BadFile(reason.format(name=path.name, why=os.strerror(error.errno or 0)))
    if len(raw) > LARGEST_FILE:
        reason = gettext("{name} is larger than {size:,} bytes")
        return "", BadFile(reason.format(name=path.name, size=LARGEST_FILE))
    try:
        return raw.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        fault = BadFile(gettext("this is not UTF-8 text"), line)
        return raw.decode("utf-8-sig", errors="replace"), fault


@contextmanager
def locked(name: str) -> Iterator[None]:
    """One writer at a time, across processes. The locks outlive the folders they guard."""
    if not AGENT_ID.fullmatch(name):
        raise NotFound(gettext('There is no agent "{name}".').format(name=name[:64]))
    folder = home() / "locks"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with FileLock(folder / f"{name}.lock", timeout=LOCK_TIMEOUT):
            yield
    except Timeout:
        raise Conflict(
            gettext('"{name}" is being written by someone else; try again.').format(name=name)
        ) from None


def own_files(folder: Path) -> Path:
    """The files folder beside an agent.json, made if need be."""
    files = folder / "files"
    try:
        files.mkdir(exist_ok=True)
    except OSError:
        raise Invalid(gettext("{files} is not a folder.").format(files=files)) from None
    return checked_folder(files) if files.is_symlink() else files.resolve()


@about("workspace")
def named_folder(workspace: str) -> Path:
    """The folder that `workspace` names, which must exist and lie apart from the home."""
    try:
        path = Path(workspace).expanduser()
    except RuntimeError:  # the home of somebody who is not there
        raise Invalid(
            gettext("workspace: {workspace} is not a folder.").format(workspace=workspace)
        ) from None
    if not path.is_absolute():
        raise Invalid(gettext("workspace must be a whole path that begins with / or ~."))
    return checked_folder(path)


def checked_folder(path: Path) -> Path:
    """The real folder behind a path. One inside the home is refused."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise Invalid(gettext("workspace: {path} is not a folder.").format(path=path)) from None
    if not real.is_dir():
        raise Invalid(gettext("workspace: {path} is not a folder.").format(path=path))
    own = home().resolve()
    if own.is_relative_to(real) or real.is_relative_to(own):
        raise Invalid(
            gettext(
                "workspace: {path} may not hold Planside's own folder or lie within it."
            ).format(path=path)
        )
    return real


def copy_files(source: Path, target: Path) -> None:
    """Copy an agent's own files; links stay links, pipes and hard links are left out, and what lies
    deeper than anything records it."""

    def left_out(folder: str, names: list[str]) -> list[str]:
        """Pipes, devices, and files with a second name: what they hold may be another agent's."""
        if len(Path(folder).parts) - len(source.parts) > DEEPEST_COPIED:
            return names
        found = {name: (Path(folder) / name).lstat() for name in names}
        return [
            name
            for name, each in found.items()
            if not (stat.S_ISDIR(each.st_mode) or stat.S_ISLNK(each.st_mode))
            and not (stat.S_ISREG(each.st_mode) and each.st_nlink == 1)
        ]

    if (source / "files").is_dir():
        shutil.copytree(
            source / "files", target / "files", symlinks=True, ignore=left_out, dirs_exist_ok=True
        )


def move_to_trash(folder: Path) -> None:
    trash = workspaces() / ".trash"
    trash.mkdir(exist_ok=True)
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    folder.rename(trash / f"{folder.name}-{when}")
    sync_folder(workspaces())


def prepare_home() -> None:
    """Make the home; at its very first start, with the sample agent in it."""
    home().mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked("home"):
        (home() / "chains").mkdir(exist_ok=True)
        if not workspaces().exists():
            ship_sample()
        path = home() / SCHEMA
        if not path.exists() or path.read_bytes() != file_schema():
            write_atomically(path, file_schema())


@cache
def file_schema() -> bytes:
    """What an editor reads of the keys of an agent.json."""
    title: dict[str, JsonValue] = {"title": "Agent"}
    return (written(title | AgentFile.model_json_schema(), indent=2) + "\n").encode()


def template(agent_id: str) -> str:
    plain = AgentFile(id=agent_id, name=agent_id).model_dump(mode="json")
    return written({"$schema": SCHEMA_LINK} | plain, indent=2) + "\n"


def ship_sample() -> None:
    """All or nothing: a start that is cut short leaves no half of it, and the next one repeats."""
    unfinished = Path(tempfile.mkdtemp(dir=home(), prefix=".workspaces-"))
    folder = unfinished / SAMPLE.name
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (folder, *folder.rglob("*")):  # copied with the modes of the installed files
        path.chmod(path.stat().st_mode & 0o700)
    path = folder / "agent.json"
    text = path.read_text(encoding="utf-8")
    model: dict[str, JsonValue] = {"provider": None, "model": None}
    if settings.PLANSIDE_MODEL_IS_SET:
        model = {"provider": default_provider(), "model": default_model()}
    path.write_text(patched(text, model), encoding="utf-8")
    sync_folder(folder)
    unfinished.rename(workspaces())
    sync_folder(home())


# Files that are either the old version or the new one, never half of both.


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file. Its mode stays; a new one is its owner's alone; a link stays a link."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            with suppress(FileNotFoundError):
                os.fchmod(handle, target.stat().st_mode & 0o777)
            os.fsync(handle)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
