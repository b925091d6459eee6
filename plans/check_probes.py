"""Looking whether a check holds: in the workspace, by a command, a page or a service."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple, cast

from agents.chains.template import parsed_or_text
from agents.engine.available_tools import same_json
from agents.stored_text import gettext, lines, sentences
from agents.tools import fetch
from agents.tools.base import Tool, ToolFailed, ToolResult
from agents.tools.confinement import NoFolder, NotThere, Workspace, display_path
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
ABSENT, FOLDER, LINK = "absent", "folder", "link:"  # in the place of a digest, or before it


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
    return lines(text[:HEAD], cut, text[-(SHOWN - HEAD) :])


# Files


class Baseline(NamedTuple):
    """How a file was, as `digest_of` says it, and when."""

    digest: str
    since: datetime

    @property
    def when(self) -> str:
        return f"{self.since:%Y-%m-%d %H:%M} UTC"


Baselines = Callable[[Workspace, str], Baseline | None]


def file_finding(check: CheckJson, workspace: Workspace, before: Baselines) -> Finding:
    """What stands at the path itself counts, not what a link there leads to."""
    path = str(check["path"])
    try:
        if check.get("unchanged"):
            return unchanged_finding(path, workspace, before(workspace, path))
        there = standing(workspace, path)
        if check.get("absent"):
            return Finding(there is None, gettext("It is there.") if there else missing(path))
        if there is None:
            return Finding(False, missing(path))
        is_folder = stat.S_ISDIR(there.st_mode) and check.get("exists")
        if not (stat.S_ISREG(there.st_mode) or is_folder):
            return Finding(False, no_file(path, there))
        if check.get("exists"):
            return Finding(True, gettext("It is there."))
        find = match_finding if "matches" in check else text_finding
        return find(check, workspace)
    except ToolFailed as why:  # not one that a tool may read
        return Finding(False, str(why))


def standing(workspace: Workspace, path: str) -> os.stat_result | None:
    """What has this name, be it a link that leads nowhere; None where nothing has."""
    try:
        return workspace.status(path, follow=False)
    except (NotThere, NoFolder):
        return None


def missing(path: str) -> str:
    return gettext("{path} is not there.").format(path=path)


def no_file(path: str, there: os.stat_result) -> str:
    if stat.S_ISDIR(there.st_mode):
        return gettext("{path} is a folder, not a file.").format(path=path)
    return gettext("{path} is a link or a pipe, not a file.").format(path=path)


def text_finding(check: CheckJson, workspace: Workspace) -> Finding:
    path, wanted = str(check["path"]), str(check["contains"])
    text, _ = decoded(workspace.read(path, LARGEST_READ, follow=False), path)
    text = text.replace("\r\n", "\n")
    place = text.find(wanted)
    if place < 0:
        return Finding(False, gettext("{path} does not contain it.").format(path=path))
    return Finding(True, gettext("Found in line {n}.").format(n=line_at(text, place)))


def match_finding(check: CheckJson, workspace: Workspace) -> Finding:
    path, pattern = str(check["path"]), str(check["matches"])
    text, _ = decoded(workspace.read(path, LARGEST_SEARCHED, follow=False), path)
    deadline = time.monotonic() + SEARCH_SECONDS
    try:
        place = next(matching_lines(pattern, text.splitlines(), deadline), None)
    except (NotAPattern, TimeoutError):  # of before RE2; or of a very long line
        return Finding(None, gettext("Its pattern cannot be matched here: write another one."))
    if place is None:
        return Finding(False, gettext("No line of {path} matches.").format(path=path))
    return Finding(True, gettext("Found in line {n}.").format(n=place + 1))


def unchanged_finding(path: str, workspace: Workspace, before: Baseline | None) -> Finding:
    if before is None:
        return Finding(None, gettext("How {path} was before was not recorded.").format(path=path))
    if before.digest == FOLDER:
        return Finding(None, gettext("{path} is a folder, not a file.").format(path=path))
    now = digest_of(workspace, path)
    content, _, _ = now.partition(" ")
    if before.digest in (now, content):  # kept without permissions
        return Finding(True, gettext("Unchanged since {when}.").format(when=before.when))
    sentence = gettext("{path} is another one than at {when}.")
    if content == before.digest.partition(" ")[0]:
        sentence = gettext("{path} has other permissions than at {when}.")
    return Finding(False, sentence.format(path=path, when=before.when))


def digest_of(workspace: Workspace, path: str) -> str:
    """What is at a path, so that another content has another digest, and behind it the permissions
    of a file; of a link, where it leads and what is there."""
    there = standing(workspace, path)
    if there is None:
        return ABSENT
    if stat.S_ISDIR(there.st_mode):
        return FOLDER
    link = ""
    if stat.S_ISLNK(there.st_mode):
        with workspace.parent_of(path, follow=False) as (parent, name):
            link = f"{LINK}{sha256(os.fsencode(os.readlink(name, dir_fd=parent))).hexdigest()}:"
        if not workspace.holds(path):
            return link
    with workspace.open(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size > LARGEST_DIGEST:
            raise ToolFailed(f"{display_path(path)} is too large to be compared.")
        return link + file_digest(file, status.st_mode)


def file_digest(file: BinaryIO, mode: int) -> str:
    """Of what can be read to its end."""
    return f"{hashlib.file_digest(cast(Any, file), 'sha256').hexdigest()} {stat.S_IMODE(mode):o}"


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
        return Finding(False, lines(ended, said) if said else ended)
    return Finding(True, said or gettext("It ended with exit code {code}.").format(code=code))


async def look_at_page(check: CheckJson, hosts: Collection[str]) -> Finding:
    try:
        answer = await fetch.ask(str(check["url"]), list(hosts), int(check["status"]))
    except ToolFailed as why:
        return Finding(False if why.facts.get("unreachable") else None, str(why))
    answered = gettext("It answered {status}.").format(status=answer.status)
    if answer.status != check["status"]:
        return Finding(False, lines(answered, shortened(answer.text)))
    if (wanted := check.get("contains")) and wanted not in answer.text:
        return Finding(False, sentences(answered, gettext("The text is not in it.")))
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
    sentence = gettext("{path} is {value}.")
    said = sentence.format(path=check["path"], value=shortened(shown))
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
