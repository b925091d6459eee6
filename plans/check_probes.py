"""Looking whether a check holds: in the workspace, by a command, a page or a service."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

from django.utils.translation import gettext

from agents.chains.template import parsed_or_text
from agents.engine.available_tools import same_json
from agents.pools import FILES
from agents.tools import fetch
from agents.tools.base import Tool, ToolFailed, ToolResult
from agents.tools.confinement import Workspace, display_path, translated_errors
from agents.tools.files import (
    LARGEST_READ,
    LARGEST_SEARCHED,
    SEARCH_SECONDS,
    decoded,
    line_at,
)
from agents.tools.patterns import NotAPattern, matching_lines
from plans.check_text import CheckJson

SHOWN = 4_000  # characters that are kept of what a check said
HEAD = 1_000
LARGEST_DIGEST = 200_000_000  # bytes: an attempt begins once they are read
ABSENT, FOLDER = "absent", "folder"  # in the place of a digest


@dataclass(frozen=True)
class Finding:
    """Whether it holds, and what was seen; `passed` is None where nobody could look.

    `by_a_person` is where a person did not let it run: it is not tried again by itself.
    """

    passed: bool | None
    said: str
    by_a_person: bool = False


def shortened(text: str) -> str:
    """The beginning and the end, which say most of what a program prints."""
    text = text.strip()
    if len(text) <= SHOWN:
        return text
    cut = gettext("[… {count:,} characters are left out here …]").format(count=len(text) - SHOWN)
    return f"{text[:HEAD]}\n{cut}\n{text[-(SHOWN - HEAD) :]}"


# Files


async def look_at_file(check: CheckJson, workspace: Workspace, before: Digests) -> Finding:
    return await FILES.run(file_finding, check, workspace, before)


Digests = Mapping[str, str]


def file_finding(check: CheckJson, workspace: Workspace, before: Digests) -> Finding:
    path = str(check["path"])
    try:
        if check.get("exists"):
            return exists_finding(path, workspace)
        if check.get("absent"):
            is_there = holds_entry(workspace, path)
            return Finding(not is_there, gettext("It is there.") if is_there else missing(path))
        if check.get("unchanged"):
            return unchanged_finding(path, workspace, before)
        if "matches" in check:
            return match_finding(check, workspace)
        return text_finding(check, workspace)
    except ToolFailed as why:  # no such file, or not one that a tool may read
        return Finding(False, str(why))


def exists_finding(path: str, workspace: Workspace) -> Finding:
    if not workspace.is_there(path):
        return Finding(False, missing(path))
    if workspace.is_folder(path):
        return Finding(False, gettext("{path} is a folder, not a file.").format(path=path))
    return Finding(True, gettext("It is there."))


def missing(path: str) -> str:
    return gettext("{path} is not there.").format(path=path)


def holds_entry(workspace: Workspace, path: str) -> bool:
    """Whether anything has this name, a link that leads nowhere or outside included."""
    pure = PurePosixPath(path)
    parts = workspace.locate(str(pure.parent))
    entry = workspace.root.joinpath(*parts, pure.name)
    with translated_errors(path):  # a name may be too long for a disk, a folder closed
        return entry.is_symlink() or entry.exists()


def text_finding(check: CheckJson, workspace: Workspace) -> Finding:
    path, wanted = str(check["path"]), str(check["contains"])
    text, _ = decoded(workspace.read(path, LARGEST_READ), path)
    text = text.replace("\r\n", "\n")
    place = text.find(wanted)
    if place < 0:
        return Finding(False, gettext("{path} does not contain it.").format(path=path))
    return Finding(True, gettext("Found in line {n}.").format(n=line_at(text, place)))


def match_finding(check: CheckJson, workspace: Workspace) -> Finding:
    path, pattern = str(check["path"]), str(check["matches"])
    text, _ = decoded(workspace.read(path, LARGEST_SEARCHED), path)
    deadline = time.monotonic() + SEARCH_SECONDS
    try:
        place = next(matching_lines(pattern, text.splitlines(), deadline), None)
    except (NotAPattern, TimeoutError):  # of before RE2; or of a very long line
        return Finding(None, gettext("Its pattern cannot be matched here: write another one."))
    if place is None:
        return Finding(False, gettext("No line of {path} matches.").format(path=path))
    return Finding(True, gettext("Found in line {n}.").format(n=place + 1))


def unchanged_finding(path: str, workspace: Workspace, before: Digests) -> Finding:
    if path not in before:
        return Finding(None, gettext("How {path} was before was not recorded.").format(path=path))
    now = digest_of(workspace, path)
    if FOLDER in (now, before[path]):
        return Finding(None, gettext("{path} is a folder, not a file.").format(path=path))
    if now == before[path] or now.partition(" ")[0] == before[path]:  # kept without permissions
        return Finding(True, gettext("It is as it was."))
    if now.partition(" ")[0] == before[path].partition(" ")[0]:
        return Finding(
            False, gettext("{path} has other permissions than before.").format(path=path)
        )
    return Finding(False, gettext("{path} is another one than before.").format(path=path))


def digest_of(workspace: Workspace, path: str) -> str:
    """What is at a path, so that another content has another digest, and behind it the permissions
    of a file."""
    if not holds_entry(workspace, path):
        return ABSENT
    if workspace.is_folder(path):
        return FOLDER
    with workspace.open(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size > LARGEST_DIGEST:
            raise ToolFailed(f"{display_path(path)} is too large to be compared.")
        digest = hashlib.file_digest(cast(Any, file), "sha256").hexdigest()
        return f"{digest} {stat.S_IMODE(status.st_mode):o}"


def digests(paths: Collection[str], workspace: Workspace) -> dict[str, str]:
    """Of those that could be read; of the others nobody can say later that they are unchanged."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            found[path] = digest_of(workspace, path)
        except ToolFailed:
            continue
    return found


# Commands, pages and services


def arguments_of(check: CheckJson) -> dict[str, object]:
    """With what its tool is called, and what a person is asked about."""
    if check["kind"] == "command":
        return {"command": check["command"], "timeout_s": check["timeout_s"]}
    if check["kind"] == "http":
        return {"url": check["url"]}
    return dict(check["arguments"])


async def run_command(check: CheckJson, tool: Tool) -> Finding:
    try:
        result = await tool.run(arguments_of(check))
    except ToolFailed as why:
        return Finding(False if why.facts.get("timed_out") else None, shortened(str(why)))
    code = result.facts.get("exit_code")
    said = shortened(result.body or "")
    if code != check["exit_code"]:
        ended = gettext("It ended with exit code {code}.").format(code=code)
        return Finding(False, f"{ended}\n{said}".strip())
    return Finding(True, said or gettext("It ended with exit code {code}.").format(code=code))


async def look_at_page(check: CheckJson, hosts: Collection[str]) -> Finding:
    try:
        answer = await fetch.ask(str(check["url"]), list(hosts), int(check["status"]))
    except ToolFailed as why:
        return Finding(False if why.facts.get("unreachable") else None, str(why))
    answered = gettext("It answered {status}.").format(status=answer.status)
    if answer.status != check["status"]:
        return Finding(False, f"{answered}\n{shortened(answer.text)}".strip())
    if (wanted := check.get("contains")) and wanted not in answer.text:
        return Finding(False, f"{answered} {gettext('The text is not in it.')}")
    return Finding(True, answered)


async def ask_service(check: CheckJson, tool: Tool) -> Finding:
    try:
        result = await tool.run(arguments_of(check))
    except ToolFailed as why:
        return Finding(None, shortened(str(why)))
    found, is_there = value_at(data_of(result), str(check["path"]))
    if not is_there:
        return Finding(False, gettext("The answer has no {path}.").format(path=check["path"]))
    try:
        shown = written(found)
    except RecursionError:
        return Finding(False, gettext("What the answer has there is nested too deeply."))
    said = shortened(gettext("{path} is {value}.").format(path=check["path"], value=shown))
    return Finding(same_json(found, check["value"]) or shown == written(check["value"]), said)


def data_of(result: ToolResult) -> object:
    if result.data is not None:
        return result.data
    return parsed_or_text(result.body if result.body is not None else result.text)


def written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def value_at(data: object, path: str) -> tuple[object, bool]:
    """What is at `items.0.state`, and whether there is anything."""
    here = data
    for step in path.split("."):
        if isinstance(here, dict) and step in here:
            here = here[step]
        elif isinstance(here, list) and step.isdecimal() and int(step) < len(here):
            here = here[int(step)]
        else:
            return None, False
    return here, True
