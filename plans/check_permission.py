"""Which checks may be saved for an agent: only what it may do, the system does for it."""

from __future__ import annotations

from typing import Any

from agents.engine.available_tools import reader_of_files
from agents.errors import Invalid, NotFound
from agents.stored_text import gettext
from agents.tools import permissions
from agents.tools.integrations.tools import source_tools
from agents.tools.permissions import Permissions
from plans.check_text import CheckJson, wording
from plans.models import Plan

TOOLS = {"command": "shell", "http": "fetch_url"}


def tool_of(check: CheckJson) -> str:
    """The tool by whose grant a check runs; nothing for what the system does by itself."""
    return str(check["tool"]) if check["kind"] == "tool" else TOOLS.get(check["kind"], "")


def demand_runnable(plan: Plan, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Refuse checks that are new in `after` and could never run. Old ones stay as they are."""
    known = {wording(check) for each in before["subtasks"] for check in each.get("checks") or []}
    fresh = [
        check
        for each in after["subtasks"]
        for check in each.get("checks") or []
        if tool_of(check) and wording(check) not in known
    ]
    if not fresh:
        return
    try:
        now = permissions.of_conversation(plan.conversation)
    except NotFound:
        return  # nothing runs for an agent that is gone
    for check in fresh:
        if why := why_not(check, now):
            raise Invalid(why)


def why_not(check: CheckJson, now: Permissions) -> str:
    """Why the agent could not run it, in one sentence; nothing where it could."""
    name = tool_of(check)
    if not name:
        return ""
    if now.grant(name) == "off":
        sentence = gettext("{tool} is off for {agent}, so this check cannot be saved.")
        return sentence.format(tool=name, agent=now.agent.file.name)
    if check["kind"] == "tool":
        tools = {tool.name: tool for tool in source_tools(reader_of_files(now))}
        if name not in tools:
            sentence = gettext("There is no service with the operation {tool}.")
            return sentence.format(tool=name)
        if not tools[name].read_only:
            return gettext("{tool} may change something: a check only reads.").format(tool=name)
    return ""
