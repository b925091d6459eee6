"""The names of tools: those that are built in, and how others are made."""

from __future__ import annotations

import hashlib
import re

LONGEST = 64
BETWEEN = "__"  # a source's name and its operation's


def safe_name(wanted: str, taken: set[str], longest: int = LONGEST) -> str:
    """`wanted` made of letters, digits, `_` and `-`, and like none that is taken; adds it there."""
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", wanted).strip("_") or "unnamed"
    name = safe
    if len(safe) > longest:  # two long names rarely differ in their first part
        digest = hashlib.sha256(wanted.encode(errors="replace")).hexdigest()[:8]
        name = f"{safe[: longest - len(digest) - 1]}_{digest}"
    number = 2
    while name in taken:
        ending = f"_{number}"
        name = safe[: longest - len(ending)] + ending
        number += 1
    taken.add(name)
    return name


def longest_for(source: str) -> int:
    """How long an operation's name may be so that the tool's name fits."""
    return LONGEST - len(source) - len(BETWEEN)


RUN_AGENT = "run_agent:"  # before an agent's id: the grant to call it
# They come from the gate of a plan; a chain may name them, and takes none away.
PLAN_TOOLS = frozenset({
    "create_plan", "get_plan", "revise_current_plan", "add_subtask", "update_subtask",
    "delete_subtask", "report_progress", "finish_subtask", "fail_subtask", "ask_user",
    "finish_plan",
})  # fmt: skip
# In the order in which pages list them; agents.tools.files makes them.
FILE_TOOLS = ("list_files", "read_file", "write_file", "edit_file", "search_files")
SERVER_TOOLS = frozenset({"shell"})  # they act on the server itself, with its rights
