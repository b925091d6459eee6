"""Whose agent it is. An agent without an owner, found on disk, belongs to the admins."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from agents.config.store import AgentRecord, is_admins, list_agents, read_agent
from agents.config.workspaces import check_new_id, taken
from agents.errors import NotFound
from agents.models import AgentOwner, Conversation
from agents.statements import prepared
from agents.stored_text import gettext


def agents_of(user: User) -> list[AgentRecord]:
    """The agents this person may see, by name."""
    owners = dict(AgentOwner.objects.values_list("agent_id", "user_id"))
    return [agent for agent in list_agents() if is_theirs(user, owners.get(agent.id))]


def agent_of(user: User, agent_id: str) -> AgentRecord:
    """The agent, if it is this person's; someone else's is as missing as none."""
    if not is_theirs(user, owner_of(agent_id)):
        raise NotFound(gettext("There is no agent {agent_id!r}.").format(agent_id=agent_id))
    return read_agent(agent_id)


def owner_of(agent_id: str) -> int | None:
    found = owners.first(agent=agent_id)
    return found[0] if found else None


@prepared
def owners(agent: str) -> QuerySet[AgentOwner, tuple[int]]:
    return AgentOwner.objects.filter(agent_id=agent).values_list("user_id")


@transaction.atomic
def make_agent(user: User, agent_id: str, make: Callable[[], AgentRecord]) -> AgentRecord:
    """Who makes an agent owns it. The id of one that was deleted is free, unless others still have
    conversations with it: these would go on with an agent that is not theirs."""
    owned = AgentOwner.objects.filter(agent_id=agent_id).exclude(user=user)
    used = Conversation.objects.filter(agent_id=agent_id).exclude(owner=user)
    if owned.exists() or used.exists():
        raise taken(agent_id)
    check_new_id(agent_id)
    set_owner(user, agent_id)  # first: what may stand in the file depends on whose it is
    return make()


def set_owner(user: User, agent_id: str) -> None:
    AgentOwner.objects.update_or_create(agent_id=agent_id, defaults={"user": user})


def disown(agent_id: str) -> None:
    AgentOwner.objects.filter(agent_id=agent_id).delete()


def may_call(caller: str, called: str, user_id: int) -> bool:
    """Whether one agent may hand this person's work to another: to one that is theirs as well."""
    rows = AgentOwner.objects.filter(agent_id__in=(caller, called))
    owners = dict(rows.values_list("agent_id", "user_id"))
    own = owners.get(called)
    return own == user_id if own else caller not in owners or is_admins(caller)


def is_theirs(user: User, owner: int | None) -> bool:
    return user.is_superuser if owner is None else owner == user.pk
