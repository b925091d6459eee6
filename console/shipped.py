"""What comes with Planside in the reader's language, as long as nobody has changed it."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_noop

from agents.config.schema import AgentFile
from agents.config.store import read_agent
from agents.errors import NotFound

# As they stand in agents/config/samples and agents/chains/shipped: the model reads these.
SAMPLE = "docs-writer"
SAMPLE_NAME = gettext_noop("Docs writer")
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
    """What an agent is called on pages; its form has the name as the file has it."""
    is_ours = file.id == SAMPLE and file.name == SAMPLE_NAME
    return gettext(file.name) if is_ours else file.name


def agent_name(agent_id: str) -> str:
    """As its file has it now; the id stays when the agent was deleted."""
    try:
        return shown_name(read_agent(agent_id).file)
    except NotFound:
        return agent_id


def chain_description(text: str) -> str:
    return gettext(text) if text in CHAINS.values() else text
