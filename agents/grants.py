"""Who may call what: agent.json grants, a chain task's list narrows; nothing listed = nothing."""

from __future__ import annotations

from typing import Literal

from agents.agent_file.record import AgentRecord
from agents.models import ToolSource
from agents.tools.names import BETWEEN, RUN_AGENT

Grant = Literal["allow", "ask", "off"]

NEVER_OFF = {"create_plan", "finish_subtask", "fail_subtask", "finish_plan"}
FILE_TOOLS = {"list_files", "read_file", "write_file", "edit_file", "search_files"}
GROUPS = {**dict.fromkeys(FILE_TOOLS, "local_fs"), "shell": "local_shell"}


def words_for(name: str) -> tuple[str, ...]:
    """The words that speak of a tool, the nearest first: its own name, and what it comes from."""
    source = GROUPS.get(name) or name.partition(BETWEEN)[0]
    return (name,) if source == name else (name, source)


def grant_of(agent: AgentRecord, name: str) -> Grant:
    """The nearest word in agent.json: the tool's own, its source's, `*`; else off."""
    for word in (*words_for(name), "*"):
        if (grant := agent.file.tools.get(word)) in ("allow", "ask", "off"):
            return grant
    return "off"


def allows(words: list[str], name: str) -> bool:
    """A chain task's list: `*` = all, a name = that one, `!name` = not that one."""
    names = set(words_for(name))
    if any(f"!{each}" in words for each in names):
        return False
    return "*" in words or bool(names & set(words))


def callable_agents(agent: AgentRecord) -> dict[str, Grant]:
    """The agents this one may call, each granted by its own `run_agent:<id>`."""
    named = [name for name in agent.file.tools if name.startswith(RUN_AGENT)]
    grants = {name.removeprefix(RUN_AGENT): grant_of(agent, name) for name in named}
    return {id: grant for id, grant in grants.items() if grant != "off"}


def is_off(agent: AgentRecord, name: str) -> bool:
    """Plan tools come from the gate; naming one as off takes it away, but for the vital ones."""
    return name not in NEVER_OFF and agent.file.tools.get(name) == "off"


def known_names() -> set[str]:
    """Every name a grant or a chain may use: tools, and what tools come from."""
    sources = ToolSource.objects.values_list("name", flat=True)
    return {*GROUPS, *GROUPS.values(), "fetch_url", "run_agent", *sources}
