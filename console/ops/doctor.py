"""What is configured and whether it works, each as one finding: surroundings, people, agents."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
from django.conf import settings
from django.contrib.auth.models import User

from agents.chains.store import chain_ids, list_chains
from agents.chains.store import folder as chains_folder
from agents.config.store import AgentRecord, list_agents
from agents.errors import Refused
from agents.llm.providers import resolve
from agents.llm.request import Endpoint
from agents.tools import permissions
from console.home import BEGIN_ANEW, LOST, database_file, is_lost
from console.ops.checks import Finding, home, surroundings
from console.ops.health import database_problem

__all__ = ["Finding", "findings"]

# Seconds until a model's server counts as one that does not answer.
PATIENCE = 5


def findings() -> list[Finding]:
    """Without a database nobody knows whose an agent is: nothing is asked about them."""
    if is_lost():
        return [home(), Finding("Database", "wrong", LOST.format(database_file()), BEGIN_ANEW)]
    return [*surroundings(), *signing_in(), *agents(), *chains()]


def signing_in() -> Iterator[Finding]:
    """On a server somebody needs a password; on a laptop the printed link is enough."""
    if settings.PLANSIDE_IS_LOCAL:
        yield Finding("Sign-in", "fine", "by the link that the server prints.")
        return
    if database_problem():
        return
    people = User.objects.filter(is_active=True)
    able = sum(person.has_usable_password() for person in people)
    if able:
        yield Finding("Sign-in", "fine", f"{able} of {len(people)} people have a password.")
        return
    advice = "Run: manage.py user add NAME --admin"
    yield Finding("Sign-in", "wrong", "nobody has a password.", advice)


def agents() -> Iterator[Finding]:
    """Each agent: its file, its folder, and the server of its model (asked once)."""
    providers: list[str] = []
    for agent in list_agents():
        yield agent_file(agent)
        if agent.file.provider not in providers:
            providers.append(agent.file.provider)
    if not database_problem():  # an admin's providers are in it
        yield from map(model_server, providers)
    if not providers:
        yield Finding("Agents", "note", "there are none yet.", "The first start brings one.")


def agent_file(agent: AgentRecord) -> Finding:
    about = f"Agent {agent.id}"
    if agent.problem:
        return Finding(about, "wrong", agent.problem, f"Mend {agent.path}.")
    try:
        folder = permissions.of_agent(agent).folder
    except Refused as refused:
        return Finding(about, "wrong", str(refused), f'Change "workspace" in {agent.path}.')
    named = map(str, agent.file.chains.model_dump().values())
    if missing := sorted(set(named) - set(chain_ids())):
        told = f"there is no chain {missing[0]}."
        return Finding(about, "wrong", told, f'Change "chains" in {agent.path}.')
    if agent.warning:
        return Finding(about, "note", agent.warning, f"Change it in {agent.path}.")
    model = f"{agent.file.provider}/{agent.file.model}"
    return Finding(about, "fine", f"{model}, works in {folder}.")


def chains() -> Iterator[Finding]:
    """Those whose file cannot be used; every turn that thinks by one fails and says the same."""
    if database_problem():  # the names of services and providers are in it
        return
    for chain in list_chains():
        if chain.error:
            mend = f"Mend {chains_folder() / f'{chain.id}.json'}."
            yield Finding(f"Chain {chain.id}", "wrong", chain.error, mend)


def model_server(provider: str) -> Finding:
    about = f"Model provider {provider}"
    try:
        endpoint = resolve(provider)
    except Refused as refused:
        return Finding(about, "wrong", str(refused))
    if endpoint.provider == "demo":
        advice = "README.md says how to connect a model."
        return Finding(about, "note", "scripted and offline.", advice)
    return asked(about, endpoint)


def asked(about: str, endpoint: Endpoint) -> Finding:
    """Every OpenAI-compatible server lists its models."""
    keyed = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    try:
        answer = httpx.get(
            f"{endpoint.base_url.rstrip('/')}/models",
            headers=endpoint.headers | keyed,
            timeout=PATIENCE,
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        told = f"{endpoint.base_url} does not answer ({type(error).__name__})."
        return Finding(about, "wrong", told, "Start it, or check its address.")
    if answer.status_code in (401, 403):
        told = f"{endpoint.base_url} refuses the key ({answer.status_code})."
        return Finding(about, "wrong", told, "Set OPENAI_API_KEY, or the provider's key.")
    if answer.is_error:
        told = f"{endpoint.base_url} answered {answer.status_code}."
        return Finding(about, "note", told, "It may not list its models; try a message.")
    return Finding(about, "fine", f"{endpoint.base_url} answers.")
