"""What comes with Planside in the reader's language, as long as nobody has changed it."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop

from agents.config.schema import AgentFile
from agents.config.store import read_agent
from agents.errors import NotFound

# As they stand in agents/config/samples and agents/chains/shipped: the model reads these.
SAMPLE = "docs-writer"
SAMPLE_TEXTS = {
    "name": gettext_noop("Docs writer"),
    "description": gettext_noop(
        "Keeps a project's documents true: finds gaps and broken links, and mends them."
    ),
}
CHAINS = {
    "default-chain": gettext_noop(
        "Ordinary chat: ask the model, run the tools it calls, until it just answers."
    ),
    "default-run-chain": gettext_noop(
        "One question from the command line: ask the model, run the tools it calls, until it "
        "answers."
    ),
    "executor": gettext_noop(
        "Working on one subtask of an approved plan until it is finished or has failed."
    ),
    "planner": gettext_noop(
        "Planning: turn a goal into a checklist, or revise it, and present it."
    ),
    "reviewer": gettext_noop(
        "Judging whether a subtask is done, by what was done and not by what the agent says. "
        "Only its first task counts."
    ),
}


def shown_name(file: AgentFile) -> str:
    """What an agent is called on pages."""
    return shown(file.id, "name", file.name)


def agent_name(agent_id: str) -> str:
    """As its file has it now; the id stays when the agent was deleted."""
    try:
        return shown_name(read_agent(agent_id).file)
    except NotFound:
        return agent_id


def shown(agent_id: str, key: str, text: str) -> str:
    """The text of a key of agent.json."""
    is_ours = agent_id == SAMPLE and text == SAMPLE_TEXTS.get(key)
    return gettext(text) if is_ours else text


def as_written(agent_id: str, key: str, text: str) -> str:
    """What stands in the file for what the page has shown."""
    ours = SAMPLE_TEXTS.get(key) if agent_id == SAMPLE else None
    return ours if ours and text == gettext(ours) else text


def chain_description(text: str) -> str:
    return gettext(text) if text in CHAINS.values() else text
