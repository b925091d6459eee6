"""What is configured and whether it works, each part as one finding: what Planside stands on
(home, database, Redis, workers, extras), people, agents and chains.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from typing import Literal, NamedTuple

import httpx
from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.utils import timezone

from agents import http
from agents.chains.store import chain_ids, list_chains, misfits
from agents.chains.store import folder as chains_folder
from agents.config.store import AgentRecord, is_admins, list_agents
from agents.db import clock, is_postgresql
from agents.errors import Refused
from agents.llm import catalog
from agents.llm.catalog import Listing
from agents.llm.providers import resolve
from agents.models import ToolSource, TurnState
from agents.normalization import split_url
from agents.queue.claims import backlog, runners
from agents.telemetry.redaction import redacted_url
from agents.tools import permissions, supervisor
from agents.tools.integrations import mcp
from agents.tools.integrations.actions import note_on, refresh_source
from agents.tools.integrations.openapi.http import exchange
from agents.tools.integrations.openapi.requests import Request
from agents.tools.patterns import NotAPattern, compiled
from console import env
from console.agent_tools import note_on_large_offers
from console.home import (
    BEGIN_ANEW,
    LOST,
    database_file,
    is_behind,
    is_lost,
    no_way_to_postgresql,
    remedy,
)
from console.ops import tracing
from console.ops.health import channel_problem, database_problem
from plans.models import OPEN, Subtask

MB = 1024**2
LITTLE_ROOM = 200 * MB
# Seconds: between this machine's clock and the database's, and of a turn nobody has taken.
CLOCKS_APART = 2.0
LONG_DUE = 15.0
# Seconds until Redis, a collector, a model's server and a source of tools count as silent.
PATIENCE = 2.0
MODEL_PATIENCE = 5.0
SOURCE_PATIENCE = 20.0  # a command may have to start
AWAY = ("unreachable", "silent", "bad_request")
EXTRAS = {
    "PostgreSQL": "psycopg",
    "Redis": "channels_redis",
    "MCP": "mcp",
    "OpenTelemetry": "opentelemetry.sdk",
}


class Finding(NamedTuple):
    """`advice` is what to do; there is none when all is well."""

    about: str
    grade: Literal["fine", "note", "wrong"]
    sentence: str
    advice: str = ""


def findings() -> list[Finding]:
    """Without a database nobody knows whose an agent is: nothing is asked about them."""
    if is_lost():
        return [home(), Finding("Database", "wrong", LOST.format(database_file()), BEGIN_ANEW)]
    found = [home(), *database()]
    has_database = not database_problem()
    if has_database:
        found += [turns(), *tool_sources(), *patterns()]
    found += [live_updates(), extras(), *traces(), *sign_in(has_database), *agents(has_database)]
    found += shell() if has_database else ()
    # Chains whose file cannot be used: every turn that runs by one fails and says the same. The
    # names of services and providers, which they may use, are in the database.
    for chain in list_chains() if has_database else ():
        if chain.error:
            advice = f"Mend {chains_folder() / f'{chain.id}.json'}."
            found.append(Finding(f"Chain {chain.id}", "wrong", chain.error, advice))
    return found


def home() -> Finding:
    path = settings.PLANSIDE_HOME
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        open_to = f"others on this machine can look into {path} (mode {mode:o})."
        return Finding("Home", "wrong", open_to, f"Run: {remedy()}")
    try:
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        advice = "Give it to the user that runs Planside."
        return Finding("Home", "wrong", f"{path} cannot be written to.", advice)
    free = shutil.disk_usage(path).free
    if free < LITTLE_ROOM:
        little = f"{path} has {free // MB:,} MB of free space left."
        return Finding("Home", "wrong", little, "Make room on that disk.")
    return Finding("Home", "fine", f"{path}, for you alone, {free // MB:,} MB free.")


def database() -> Iterator[Finding]:
    """Leases go by its clock; what people read goes by this machine's."""
    try:
        behind, engine = is_behind(), f"SQLite in the home folder ({sqlite3.sqlite_version})"
        if is_postgresql():
            connection.ensure_connection()
            version = str(connection.connection.info.parameter_status("server_version"))
            engine = f"PostgreSQL ({version.partition(' ')[0]})"
    except Exception:  # whatever the driver raises, this sentence says it plainly
        problem = no_way_to_postgresql() or f"{database_problem()} Check DATABASE_URL."
        yield Finding("Database", "wrong", problem)
        return
    if behind:
        advice = "manage.py serve brings it up to date."
        yield Finding("Database", "note", f"{engine} is not up to date.", advice)
    else:
        pool = connection.settings_dict.get("OPTIONS", {}).get("pool", {}).get("max_size")
        most = f"; each process opens {pool} connections at most" if pool else ""
        yield Finding("Database", "fine", f"{engine} answers and is up to date{most}.")
    if is_postgresql() and not database_problem():
        apart = abs((timezone.now() - clock()).total_seconds())
        if apart > CLOCKS_APART:
            sentence = f"this machine's is {apart:,.0f} s away from the database's."
            yield Finding("Clock", "wrong", sentence, "Let both follow a time server (NTP).")
        else:
            yield Finding("Clock", "fine", "agrees with the database's.")


def turns() -> Finding:
    """Who runs them, and whether one waits that nobody takes."""
    external = settings.PLANSIDE_WORKERS == "external"
    now, count = backlog(), runners()
    if external and count == 0:
        nobody = "run only in manage.py worker, and none is running."
        return Finding("Turns", "wrong", nobody, "Start manage.py worker.")
    if now.oldest_due > LONG_DUE:
        late = f"one has been due for {now.oldest_due:,.0f} s ({now.due:,} due)."
        advice = "Start more workers." if external else "Start Planside, or look into its log."
        return Finding("Turns", "wrong", late, advice)
    where = "only in manage.py worker" if external else "inside the server"
    waiting = sum(count for (state, _), count in now.open.items() if state == TurnState.WAITING)
    held = now.open.get((TurnState.QUEUED, ""), 0) - now.due
    counts = {"running": now.running, "due": now.due, "waiting": waiting, "not due yet": held}
    always = ("running", "due")
    parts = [f"{n:,} {what}" for what, n in counts.items() if n > 0 or what in always]
    sentence = f"run {where}; {', '.join(parts)}"
    if external and count is None:  # on SQLite nobody can tell
        return Finding("Turns", "note", f"{sentence}.", "See that the worker runs.")
    processes = "" if count is None else f", by {count:,} process{'es' if count != 1 else ''}"
    return Finding("Turns", "fine", f"{sentence}{processes}.")


def tool_sources() -> Iterator[Finding]:
    """Each is asked what it offers, and whether a service that is described by a file answers."""
    try:
        sources = list(ToolSource.objects.order_by("name"))
    except DatabaseError:  # behind: the line on the database says so
        return
    for source, dead in async_to_sync(asked_sources)(sources):
        about = f"Tool source {source.name}"
        if source.error or dead:
            again = f"Then: manage.py tools test {source.name}"
            yield Finding(about, "wrong", source.error or dead, again)
        elif source.skipped:
            worst = source.skipped[0]
            named = "" if worst["why"].startswith(worst["operation"]) else f"{worst['operation']}: "
            sentence = f"{note_on(source)} {named}{worst['why']}"
            yield Finding(about, "note", sentence)
        else:
            yield Finding(about, "fine", f"answers, {len(source.tools):,} tools.")


def patterns() -> Iterator[Finding]:
    """Checks of open plans that were saved before patterns were those of RE2."""
    subtasks = Subtask.objects.filter(plan__state__in=OPEN, position__isnull=False)
    for plan, key, checks in subtasks.values_list("plan", "key", "checks"):
        for check in checks:
            try:
                compiled(str(check.get("matches", "")))
            except NotAPattern:
                about = f"Plan {plan}, check {check['key']} of {key}"
                sentence = f"its pattern {check['matches']} is none of RE2."
                yield Finding(about, "note", sentence, "Write another one on the plan.")


async def asked_sources(sources: list[ToolSource]) -> list[tuple[ToolSource, str]]:
    """As they are now; the sentence says that what a document describes is not there."""

    async def ask(source: ToolSource) -> tuple[ToolSource, str]:
        try:
            async with asyncio.timeout(SOURCE_PATIENCE):
                source = await refresh_source(source)
                dead = "" if source.error else await silence_of(source)
        except TimeoutError:
            dead = f"{source.name} does not answer within {SOURCE_PATIENCE:g} s."
        return source, dead

    try:
        return list(await asyncio.gather(*map(ask, sources)))
    finally:
        await mcp.aclose_all()
        await http.aclose_all()


async def silence_of(source: ToolSource) -> str:
    """The document of a service may be known while nobody serves it: any answer shows it does."""
    if source.kind != ToolSource.Kind.OPENAPI:
        return ""
    try:
        await exchange(Request("HEAD", source.url), 0, SOURCE_PATIENCE)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return f"{redacted_url(source.url)} does not answer."
    return ""


def live_updates() -> Finding:
    about = "Live updates"
    if isinstance(get_channel_layer(), InMemoryChannelLayer):
        if settings.PLANSIDE_WORKERS == "external":
            late = "in memory, so what workers do is seen only every 5 s."
            return Finding(about, "wrong", late, "Set REDIS_URL.")
        return Finding(about, "fine", "in memory, which serves one process.")
    if problem := channel_problem():
        return Finding(about, "wrong", problem, "Start Redis, or check REDIS_URL.")
    from redis import Redis, RedisError

    try:
        with Redis.from_url(env.text("REDIS_URL"), socket_timeout=PATIENCE) as client:
            version = str(client.info("server").get("redis_version", ""))
    except (RedisError, ValueError):
        version = "(of an unknown version)"
    return Finding(about, "fine", f"Redis {version} answers.")


def extras() -> Finding:
    here = [name for name, package in EXTRAS.items() if tracing.is_installed(package)]
    missing = [name for name in EXTRAS if name not in here]
    installed = f"support for {', '.join(here)} is installed" if here else "none is installed"
    lacking = f"; {', '.join(missing)}: not" if missing else ""
    return Finding("Extras", "fine", f"{installed}{lacking}.")


def traces() -> Iterator[Finding]:
    """Where somebody asked for them."""
    if not tracing.endpoint():
        return
    if problem := tracing.problem():
        yield Finding("Traces", "wrong", problem)
        return
    url, shown = split_url(tracing.endpoint()), redacted_url(tracing.endpoint())
    try:
        port = url.port or (443 if url.scheme == "https" else 80)
        socket.create_connection((url.hostname or "", port), PATIENCE).close()
    except (OSError, ValueError):
        away = f"the collector at {shown} does not answer."
        advice = "Start it, or check OTEL_EXPORTER_OTLP_ENDPOINT."
        yield Finding("Traces", "wrong", away, advice)
    else:
        yield Finding("Traces", "fine", f"go to {shown}.")


def sign_in(has_database: bool) -> Iterator[Finding]:
    """On a server somebody needs a password; on a laptop the printed link is enough."""
    if settings.PLANSIDE_IS_LOCAL:
        yield Finding("Sign-in", "fine", "by the link that the server prints.")
    elif has_database:
        people = User.objects.filter(is_active=True)
        if able := sum(user.has_usable_password() for user in people):
            sentence = f"{able} of {len(people)} people have a password."
            yield Finding("Sign-in", "fine", sentence)
        else:
            advice = "Run: manage.py user add NAME --admin"
            yield Finding("Sign-in", "wrong", "nobody has a password.", advice)


def agents(has_database: bool) -> Iterator[Finding]:
    """Each agent's file, folder and model, and the provider of its model (asked once)."""
    known = list_agents()
    providers = dict.fromkeys(agent.file.provider for agent in known)
    listings: dict[str, Listing] = {}
    if has_database:  # an admin's providers are in it
        asked = [name for name in providers if name != "demo"]
        listings = async_to_sync(asked_models)(asked)
    for agent in known:
        yield agent_file(agent, has_database, listings.get(agent.file.provider))
    for name in providers if has_database else ():
        if name in listings or name == "demo":  # else its agent says that there is none
            yield model_provider(name, listings.get(name, Listing(name)))
    if not known:
        yield Finding("Agents", "note", "there are none yet.", "The first start brings one.")


async def asked_models(names: list[str]) -> dict[str, Listing]:
    try:
        return await catalog.ask_all(names, MODEL_PATIENCE, anew=True)
    finally:
        await http.aclose_all()


def agent_file(
    agent: AgentRecord, has_database: bool = True, listing: Listing | None = None
) -> Finding:
    """A provider that cannot be asked has a line of its own."""
    about = f"Agent {agent.id}"
    if agent.problem:
        return Finding(about, "wrong", agent.problem, f"Mend {agent.path}.")
    try:
        folder = permissions.of_agent(agent).folder
    except Refused as refused:
        return Finding(about, "wrong", str(refused), f'Change "workspace" in {agent.path}.')
    named = set(map(str, agent.file.chains.model_dump().values()))
    if missing := sorted(named - set(chain_ids())):
        sentence = f"there is no chain {missing[0]}."
        return Finding(about, "wrong", sentence, f'Change "chains" in {agent.path}.')
    if unfit := misfits(agent):
        return Finding(about, "wrong", unfit[0], f"Mend it in {chains_folder()}.")
    if agent.warning:
        return Finding(about, "note", agent.warning, f"Change it in {agent.path}.")
    provider, model = agent.file.provider, agent.file.model
    is_told = listing is not None and listing.kind
    if has_database and not is_told and (problem := catalog.model_problem(provider, model)):
        return Finding(about, "wrong", problem, f'Or change "model" in {agent.path}.')
    if has_database and (left_out := note_on_large_offers(agent)):
        return Finding(about, "note", left_out)
    return Finding(about, "fine", f"{provider}/{model}, works in {folder}.")


def shell() -> Iterator[Finding]:
    """What commands reach, and what holds them, where an agent may run some."""
    granted = [agent.id for agent in list_agents() if permissions.grant_of(agent, "shell") != "off"]
    able = [agent for agent in granted if is_admins(agent)]
    if not able:
        return
    if supervisor.confines():
        held = "A server started as this command was lets them signal only each other."
    elif supervisor.IS_LINUX:
        held = "What they start ends with them, unless they kill the server itself."
    else:
        held = "What leaves their process group is not ended."
    reach = "they reach what Planside's user does: database, keys, chains, every workspace"
    sentence = f"{', '.join(able)} may run commands, and {reach}. {held}"
    advice = "docs/deployment.md says how to give Planside a user of its own."
    yield Finding("Shell", "note", sentence, advice)


def model_provider(name: str, listing: Listing) -> Finding:
    """What it said when it was asked for its models."""
    about = f"Model provider {name}"
    if name == "demo":
        advice = "Settings > Models says how to connect a model."
        return Finding(about, "note", "scripted and offline.", advice)
    address = resolve(name).address
    if not listing.kind:
        if count := len(listing.models):
            return Finding(about, "fine", f"{address} answers, {count:,} models.")
        return Finding(about, "note", f"{address} answers and lists no models.")
    if listing.kind == "key":
        said = f"{address} refuses the key ({listing.status})." if listing.status else ""
        return Finding(about, "wrong", said or listing.problem, listing.advice)
    if listing.kind in AWAY:
        return Finding(about, "wrong", listing.problem, listing.advice)
    said = f"answered {listing.status}" if listing.status else "lists no models"
    return Finding(about, "note", f"{address} {said}.", "A message will tell.")
