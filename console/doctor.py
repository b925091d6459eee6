"""What is configured and whether it works, each as one finding."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from typing import Literal, NamedTuple

import httpx
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from agents.agent_file.record import AgentRecord, files_folder, list_agents
from agents.errors import Refused
from agents.providers.known import Endpoint, resolve
from console.health import channel_problem, database_problem
from console.migrating import is_behind

# Seconds until a model's server counts as one that does not answer.
PATIENCE = 5


class Finding(NamedTuple):
    """`advice` is what to do; there is none when all is well."""

    about: str
    grade: Literal["fine", "note", "wrong"]
    sentence: str
    advice: str = ""


def findings() -> list[Finding]:
    return [home(), database(), channel_layer(), workers(), *signing_in(), *agents()]


def home() -> Finding:
    path = settings.PLANSIDE_HOME
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        told = f"others on this machine can look into {path} (mode {mode:o})."
        return Finding("Home", "wrong", told, f"Run: chmod 700 {path}")
    return Finding("Home", "fine", f"{path}, for you alone.")


def database() -> Finding:
    engine = "PostgreSQL" if connection.vendor == "postgresql" else "SQLite in the home folder"
    try:
        behind = is_behind()
    except Exception:  # whatever the driver raises, the next line says it plainly
        return Finding("Database", "wrong", database_problem(), "Check DATABASE_URL.")
    if behind:
        told = f"{engine} is not up to date."
        return Finding("Database", "note", told, "manage.py serve brings it up to date.")
    return Finding("Database", "fine", f"{engine} answers and is up to date.")


def channel_layer() -> Finding:
    if "InMemory" in type(get_channel_layer()).__name__:
        return Finding("Live updates", "fine", "in memory, which serves one process.")
    if problem := channel_problem():
        return Finding("Live updates", "wrong", problem, "Start Redis, or check REDIS_URL.")
    return Finding("Live updates", "fine", "Redis answers.")


def workers() -> Finding:
    if settings.PLANSIDE_WORKERS == "external":
        told = "turns run only in manage.py worker."
        return Finding("Turns", "note", told, "See that at least one worker runs.")
    return Finding("Turns", "fine", "run inside the server.")


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
    advice = "Run: manage.py changepassword owner (after the first start)."
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
        folder = files_folder(agent)
    except Refused as refused:
        return Finding(about, "wrong", str(refused), f'Change "workspace" in {agent.path}.')
    model = f"{agent.file.provider}/{agent.file.model}"
    return Finding(about, "fine", f"{model}, works in {folder}.")


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
