"""What agent.json may say: who may reach the server, and which tools cannot be switched off."""

from __future__ import annotations

from agents.config.schema import PLAN, AgentFile
from agents.errors import Forbidden, Invalid
from agents.models import AgentOwner

SERVER_KEYS = {
    "workspace": "only an admin's agent may work in a folder of the server",
    "fetch_hosts": "only an admin's agent may fetch from the server's own network",
}


def is_admins(agent_id: str) -> bool:
    """Whether the agent is an admin's, and may use the server itself: its shell and folders."""
    owner = AgentOwner.objects.filter(agent_id=agent_id).select_related("user").first()
    return owner is None or owner.user.is_superuser


def check_server_access(agent_id: str, before: AgentFile | None, after: AgentFile) -> None:
    """Refuse a new word that only an admin's agent may have; what stands there stays as it is."""
    for key, why in SERVER_KEYS.items():
        wanted = getattr(after, key)
        is_new = bool(wanted) and (before is None or getattr(before, key) != wanted)
        if is_new and not is_admins(agent_id):
            raise Forbidden(f"{key}: {why}.")


# The tools without which no plan could be made or come to an end: they cannot be taken away.

REQUIRED_TOOLS = ("create_plan", "finish_subtask", "fail_subtask", "finish_plan")


def check_required_tools(before: AgentFile | None, after: AgentFile) -> None:
    """Refuse a word that would be ignored; one that stands there already is only warned of."""
    if (warning := required_tools_warning(after)) and warning != (
        before and required_tools_warning(before)
    ):
        raise Invalid(warning)


def required_tools_warning(file: AgentFile) -> str:
    """One sentence about a word of `tools` that changes nothing, or nothing."""
    for name in (*REQUIRED_TOOLS, PLAN):
        grant = file.tools.get(name)
        if name == PLAN and grant in ("off", "ask"):
            return f'tools: {PLAN} cannot be "{grant}", only "read".'
        if name != PLAN and grant in ("off", "ask"):
            names = f"{', '.join(REQUIRED_TOOLS[:3])} and {REQUIRED_TOOLS[3]}"
            return (
                f'tools: {name} cannot be "{grant}": {names} are always on, since no plan could be '
                "made or ended without them."
            )
    return ""
