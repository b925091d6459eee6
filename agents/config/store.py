"""Agents: each a folder with an agent.json, which is the truth about it.

A file is read again when its modification time, size or inode differ. While it is broken, its
last good version, kept beside it, stays in use in every process.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from agents.config import workspaces
from agents.config.json_text import BadFile, patched, with_value
from agents.config.schema import AgentFile, parse_agent_file
from agents.config.workspaces import write_atomically
from agents.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from agents.models import AgentOwner
from agents.stored_text import gettext, gettext_lazy, sentences

StatKey = tuple[int, int, int]

SERVER_KEYS = {
    "workspace": gettext_lazy("only an admin's agent may work in a folder of the server"),
    "fetch_hosts": gettext_lazy("only an admin's agent may fetch from the server's own network"),
}
SHELL = ("shell", "local_shell")  # a grant comes alive when its person becomes an admin
ADMINS_ONLY = gettext_lazy("{name}: only an admin's agent may run commands on the server.")


@dataclass(frozen=True)
class AgentRecord:
    """An agent as it stands: `file` is its last good version, `text` what is on disk now.

    `problem` is one sentence when the two differ, `digest` the SHA-256 of the text.
    """

    id: str
    path: Path
    file: AgentFile
    text: str
    problem: str | None
    problem_line: int | None
    digest: str

    @property
    def warning(self) -> str | None:
        """One sentence about grants in the file that change nothing."""
        return self.file.required_tools_warning or None


cached_records: dict[Path, tuple[StatKey, AgentRecord]] = {}


def read_agent(agent_id: str) -> AgentRecord:
    """The agent as it is on disk now."""
    path = workspaces.agent_path(agent_id)
    key = stat_key(path)
    cached = cached_records.get(path)
    if cached and cached[0] == key:
        return cached[1]
    text, reason = workspaces.read_text(path)
    record = record_of(path, text, reason)
    good = workspaces.last_good_path(path)
    if record.problem is None and workspaces.read_text(good) != (text, None):
        with suppress(OSError, NotFound, Conflict), workspaces.locked(agent_id):
            if stat_key(path) == key:  # else it has changed since it was read
                write_atomically(good, text.encode())
    if record.problem is None:  # else what is wrong is said in the language of each reader
        cached_records[path] = (key, record)
    return record


def list_agents() -> list[AgentRecord]:
    """All agents, sorted by name."""
    records = []
    for agent_id in workspaces.agent_ids():
        with suppress(NotFound):
            records.append(read_agent(agent_id))
    return sorted(records, key=lambda record: (record.file.name.casefold(), record.id))


def change_agent(
    agent_id: str, patch: Mapping[str, JsonValue], digest: str | None = None
) -> AgentRecord:
    """Merge-patch the file (RFC 7396): only the patch's keys change."""
    with locked_if_there(agent_id):
        record = unchanged_since(digest, agent_id)
        refuse_broken(record)
        text, after = checked_patch(record.text, patch, agent_id)
        check_change(agent_id, record.file, after)
        write(record.path, text, patch.get("workspace"))
    return read_agent(agent_id)


def set_key(
    agent_id: str,
    key: str,
    value: JsonValue,
    check: Callable[[AgentRecord], None] = lambda record: None,
) -> AgentRecord:
    """Set one key, such as plan.confirm, and nothing else; None stands for null.

    `check` may refuse it by what is on disk at that moment.
    """
    with locked_if_there(agent_id):
        record = unchanged_since(None, agent_id)
        refuse_broken(record)
        check(record)
        text, after = checked(lambda: with_value(record.text, key.split("."), value), agent_id)
        check_change(agent_id, record.file, after)
        if text != record.text:
            write(record.path, text, value if key == "workspace" else None)
    return read_agent(agent_id)


class Faulty(Invalid):
    """A text that cannot be used, for its `fault`."""

    def __init__(self, sentence: str, fault: BadFile) -> None:
        super().__init__(sentence, field=fault.key)
        self.fault = fault


def replace_agent_text(agent_id: str, text: str, digest: str | None = None) -> AgentRecord:
    """Put a whole new text in place; Faulty names the line and the reason."""
    with locked_if_there(agent_id):
        record = unchanged_since(digest, agent_id)
        if "\r\n" not in record.text:  # what a browser's text field makes of every line end
            text = text.replace("\r\n", "\n")
        try:
            after = parse_agent_file(text, agent_id)
        except BadFile as fault:
            raise Faulty(fault.sentence, fault) from None
        check_change(agent_id, record.file, after)
        is_same = after.workspace == record.file.workspace
        write(record.path, text, None if is_same else after.workspace)
    return read_agent(agent_id)


def create_agent(agent_id: str, values: Mapping[str, JsonValue]) -> AgentRecord:
    """A new agent: the defaults, changed by a merge-patch."""
    workspaces.check_new_id(agent_id)
    with workspaces.locked(agent_id):
        path = workspaces.new_agent_path(agent_id)
        text, after = checked_patch(workspaces.template(agent_id), values, agent_id)
        check_change(agent_id, None, after)
        write(path, text, values.get("workspace"))
    return read_agent(agent_id)


def copy_agent(agent_id: str, new_id: str) -> AgentRecord:
    """A second agent of the same kind, with a copy of the first one's own files."""
    record = read_agent(agent_id)
    refuse_broken(record)
    workspaces.check_new_id(new_id)
    with workspaces.locked(new_id):
        path = workspaces.new_agent_path(new_id)
        name = gettext("{name} (copy)").format(name=record.file.name[:90])
        text, after = checked_patch(record.text, {"id": new_id, "name": name}, new_id)
        check_server_access(new_id, None, after)
        workspaces.copy_files(record.path.parent, path.parent)
        write(path, text)
    return read_agent(new_id)


def delete_agent(agent_id: str) -> None:
    """Take the agent away; its folder lies in the trash beside the others."""
    path = workspaces.agent_path(agent_id)
    with locked_if_there(agent_id):
        stat_key(path)
        workspaces.move_to_trash(path.parent)
    cached_records.pop(path, None)


def files_folder(record: AgentRecord) -> Path:
    """The one folder that the agent's tools may see."""
    if record.file.workspace is not None:
        return workspaces.named_folder(record.file.workspace)
    return workspaces.own_files(record.path.parent)


def locked_if_there(agent_id: str) -> AbstractContextManager[None]:
    """The agent's lock; none is made for an agent that does not exist."""
    stat_key(workspaces.agent_path(agent_id))
    return workspaces.locked(agent_id)


def stat_key(path: Path) -> StatKey:
    try:
        found = path.stat()
    except OSError:
        cached_records.pop(path, None)
        raise NotFound(
            gettext('There is no agent "{name}".').format(name=path.parent.name)
        ) from None
    return found.st_mtime_ns, found.st_size, found.st_ino


def record_of(path: Path, text: str, fault: BadFile | None) -> AgentRecord:
    agent_id = path.parent.name
    digest = hashlib.sha256(text.encode()).hexdigest()
    try:
        if fault:
            raise fault
        file = parse_agent_file(text, agent_id)
        return AgentRecord(agent_id, path, file, text, None, None, digest)
    except BadFile as found:
        fault = found
    file = AgentFile(id=agent_id, name=agent_id)
    problem = gettext("There is no good version to use instead, so the agent has no tools.")
    good, unreadable = workspaces.read_text(workspaces.last_good_path(path))
    with suppress(BadFile):
        if not unreadable:
            file = parse_agent_file(good, agent_id)
            problem = gettext("The last good version is still in use.")
    problem = sentences(fault.sentence, problem)
    return AgentRecord(agent_id, path, file, text, problem, fault.line, digest)


def unchanged_since(digest: str | None, agent_id: str) -> AgentRecord:
    path = workspaces.agent_path(agent_id)
    record = record_of(path, *workspaces.read_text(path))
    if digest is not None and digest != record.digest:
        raise Stale(
            gettext('"{name}" was changed by someone else since you opened it.').format(
                name=record.file.name
            )
        )
    return record


def refuse_broken(record: AgentRecord) -> None:
    if record.problem:
        raise Conflict(
            gettext("{name} is broken and must be mended first. {problem}").format(
                name=record.path.name, problem=record.problem
            )
        )


def checked_patch(
    text: str, patch: Mapping[str, JsonValue], agent_id: str
) -> tuple[str, AgentFile]:
    return checked(lambda: patched(text, patch), agent_id)


def checked(change: Callable[[], str], agent_id: str) -> tuple[str, AgentFile]:
    """The changed text; Faulty names the key, since the caller has not seen the lines."""
    try:
        changed = change()
        changed.encode()
        return changed, parse_agent_file(changed, agent_id)
    except BadFile as fault:
        raise Faulty(gettext("{reason}.").format(reason=fault.reason), fault) from None
    except (TypeError, ValueError, RecursionError):
        raise Invalid(gettext("The change holds something that is not a JSON value.")) from None


def check_change(agent_id: str, before: AgentFile | None, after: AgentFile) -> None:
    """What is new in the file must be its owner's to say, and must change something.

    A grant without effect that was there already is only warned of.
    """
    check_server_access(agent_id, before, after)
    earlier_warning = before and before.required_tools_warning
    if (warning := after.required_tools_warning) and warning != earlier_warning:
        raise Invalid(warning, field="tools")


def check_server_access(agent_id: str, before: AgentFile | None, after: AgentFile) -> None:
    """Refuse a new value that only an admin's agent may have; what is there already stays."""
    for key, why in SERVER_KEYS.items():
        wanted = getattr(after, key)
        is_new = bool(wanted) and (before is None or getattr(before, key) != wanted)
        if is_new and not is_admins(agent_id):
            raise Forbidden(gettext("{key}: {why}.").format(key=key, why=why), field=key)
    had = before.tools if before else {}
    for name in SHELL:
        grant = after.tools.get(name, "off")
        if grant != "off" and had.get(name) != grant and not is_admins(agent_id):
            raise Forbidden(ADMINS_ONLY.format(name=name), field="tools")


def is_admins(agent_id: str) -> bool:
    """Whether the agent is an admin's, and may use the server itself: its shell and folders."""
    owner = AgentOwner.objects.filter(agent_id=agent_id).select_related("user").first()
    return owner is None or owner.user.is_superuser


def write(path: Path, text: str, workspace: JsonValue = None) -> None:
    """Write a good text; a workspace that is new in it must be a folder that may be used."""
    if isinstance(workspace, str):
        workspaces.named_folder(workspace)
    try:
        write_atomically(path, text.encode())
        write_atomically(workspaces.last_good_path(path), text.encode())
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise Conflict(
            gettext("{name} could not be written: {reason}.").format(name=path.name, reason=reason)
        ) from None
