"""Whose agent it is. An agent without an owner, found on disk, belongs to the admins."""

from __future__ import annotations

from django.contrib.auth.models import User

from agents.agent_file.record import AgentRecord, list_agents, read_agent
from agents.errors import Missing
from agents.models import AgentOwner


def agents_of(user: User) -> list[AgentRecord]:
    """The agents this person may see, by name."""
    owners = dict(AgentOwner.objects.values_list("agent_id", "user_id"))
    return [agent for agent in list_agents() if is_theirs(user, owners.get(agent.id))]


def agent_of(user: User, agent_id: str) -> AgentRecord:
    """The agent, if it is this person's; someone else's is as missing as none."""
    owner = AgentOwner.objects.filter(agent_id=agent_id).values_list("user_id", flat=True).first()
    if not is_theirs(user, owner):
        raise Missing(f"There is no agent {agent_id!r}.")
    return read_agent(agent_id)


def claim(user: User, agent_id: str) -> None:
    """Who makes an agent owns it."""
    AgentOwner.objects.update_or_create(agent_id=agent_id, defaults={"user": user})


def disown(agent_id: str) -> None:
    AgentOwner.objects.filter(agent_id=agent_id).delete()


def is_theirs(user: User, owner: int | None) -> bool:
    return user.is_superuser if owner is None else owner == user.pk
