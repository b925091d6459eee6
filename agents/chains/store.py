"""Chains on disk: shipped ones are copied to the home folder on first use, then they are yours."""

from __future__ import annotations

import hashlib
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings

from agents.chains.lint import (
    NEEDED,
    Fault,
    Names,
    check_read,
    check_text,
    missing_tools,
    read_chain,
)
from agents.chains.schema import Chain
from agents.config.json_text import with_value
from agents.config.schema import PLAN
from agents.config.store import AgentRecord, list_agents
from agents.config.workspaces import write_atomically
from agents.errors import Conflict, Invalid, NotFound, Refused, Stale, about
from agents.llm.providers import provider_names
from agents.stored_text import gettext, gettext_lazy, ngettext, sentences
from agents.tools.base import PLAN_TOOLS
from agents.tools.integrations.tools import operation_names
from agents.tools.permissions import known_names

SHIPPED = Path(__file__).parent / "shipped"
CHAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\Z")
NAMING = gettext_lazy("A chain's id is made of letters, digits, dots, hyphens and underscores.")


@dataclass(frozen=True)
class Listed:
    """A chain in a list; `error` is one sentence where its file cannot be used."""

    id: str
    description: str
    error: str


def folder() -> Path:
    return Path(settings.PLANSIDE_HOME) / "chains"


def lint(text: str, id: str = "") -> list[Fault]:
    """Every fault of a chain's text, and what it lacks for those who use it."""
    chain, found = read_chain(text)
    lacks = [(role, why) for role in NEEDED for why in missing_tools(chain, role).values()]
    roles = roles_of(id or chain.id) if chain and lacks else ()
    unfit = [Fault("tasks", why, "warning") for role, why in lacks if role in roles]
    return [*check_read(chain, found, known(), id), *unfit]


def known() -> Names:
    """What a chain may name here."""

    @cache
    def tool_names() -> set[str]:
        """Tools, what they come from, the operations of services and the tools of plans."""
        return {*known_names(), *operation_names(), *PLAN_TOOLS, PLAN}

    return Names(tool_names, cache(provider_names))


def load_chain(id: str) -> Chain:
    """Read a chain by its id; whatever is wrong with the file is one sentence."""
    return usable(gettext("The chain {id}").format(id=id), read_text(id), id)


def chain_in(path: Path) -> Chain:
    """A chain in a file anywhere."""
    return usable(str(path), text_in(path))


def usable(what: str, text: str, id: str = "") -> Chain:
    """Raises Invalid with the first error and how many there are besides."""
    errors = [fault for fault in check_text(text, known(), id) if fault.level == "error"]
    if not errors:
        return Chain.model_validate_json(text)
    first, more = f"{errors[0].path}: {errors[0].sentence}".rstrip("."), len(errors) - 1
    sentence = gettext("{what} cannot be used: {fault}.")
    if more:
        sentence = ngettext(
            "{what} cannot be used: {fault} ({more} more).",
            "{what} cannot be used: {fault} ({more} more).",
            more,
        )
    raise Invalid(sentence.format(what=what, fault=first, more=more))


def demand_tool(chain: Chain, role: str, tool: str) -> None:
    """Raises Invalid where no task is offered a tool that this role cannot do without."""
    if why := misfit(chain, role, tool):
        raise Invalid(why)


def misfit(chain: Chain, role: str, tool: str) -> str:
    why = missing_tools(chain, role).get(tool)
    sentence = gettext("The chain {id} cannot be used: {why}")
    return sentence.format(id=chain.id, why=why) if why else ""


def read_text(id: str) -> str:
    """The file as it is, whether it can be used or not."""
    path = file_of(id)
    if not path.exists():
        if not is_shipped(id):
            raise no_chain(id)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(SHIPPED / path.name, path)
    return text_in(path)


def file_of(id: str) -> Path:
    """The file of a chain, whether it is there or not. Raises NotFound for what can be no id."""
    if not CHAIN_ID.match(id):
        raise no_chain(id)
    return folder() / f"{id}.json"


def no_chain(id: str) -> NotFound:
    return NotFound(gettext("There is no chain {id!r}.").format(id=id[:100]))


def text_in(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        raise NotFound(gettext("There is no file {path}.").format(path=path)) from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else gettext("it is not UTF-8 text")
        raise Invalid(gettext("{path} cannot be read: {why}.").format(path=path, why=why)) from None


def list_chains() -> list[Listed]:
    """All chains, those in the home folder and those shipped; a bad file hides no other."""
    return [listed(id) for id in chain_ids()]


def chain_ids() -> list[str]:
    return sorted({path.stem for place in (folder(), SHIPPED) for path in place.glob("*.json")})


def listed(id: str) -> Listed:
    try:
        if not CHAIN_ID.match(id):
            raise Invalid(
                gettext("{id}.json cannot be used: {naming}").format(id=id, naming=NAMING)
            )
        return Listed(id, load_chain(id).description, "")
    except Refused as refusal:
        return Listed(id, "", str(refusal))


def save_chain(id: str, text: str, digest: str | None = None) -> list[Fault]:
    """Write a chain that has no error; gives back what the linter warns of.

    Stale where it is not the text any more that the `digest` is of.
    """
    if not CHAIN_ID.match(id):
        raise Invalid(str(NAMING))
    if digest is not None and digest != digest_of(read_text(id)):
        raise Stale(gettext("{id} was changed by someone else since you opened it.").format(id=id))
    faults = lint(text, id)
    if errors := [str(fault) for fault in faults if fault.level == "error"]:
        raise Invalid(sentences(*errors[:5]))
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(file_of(id), text.encode())
    return faults


def copy_chain(id: str, new_id: str) -> None:
    """A chain of the same text under an id that is free."""
    if not CHAIN_ID.match(new_id):
        raise Invalid(str(NAMING), field="name")
    if new_id in chain_ids():
        raise Conflict(
            gettext("There is already a chain {new_id}.").format(new_id=new_id), field="name"
        )
    with about("from"):
        text = read_text(id)
        try:
            text = with_value(text, ["id"], new_id)
        except ValueError:
            why = gettext("{id} is broken and must be mended first.").format(id=id)
            raise Conflict(why) from None
    save_chain(new_id, text)


def is_shipped(id: str) -> bool:
    return bool(CHAIN_ID.match(id)) and (SHIPPED / f"{id}.json").exists()


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def delete_chain(id: str) -> None:
    """Take the file away, unless an agent needs it. A shipped chain is then as it was shipped."""
    path, comes_with = file_of(id), is_shipped(id)
    if not (path.exists() or comes_with):
        raise no_chain(id)
    if not path.exists():
        raise Conflict(
            gettext(
                "{id} comes with Planside, and there is no version of your own to delete."
            ).format(id=id)
        )
    if (users := users_of(id)) and not comes_with:
        raise Conflict(
            gettext("{id} is in use: {users}. Choose another chain there first.").format(
                id=id, users=", ".join(users)
            )
        )
    path.unlink(missing_ok=True)


def problems_of(agent: AgentRecord) -> list[str]:
    """Why the agent cannot think by the chains that its file names, each once."""
    ids = dict.fromkeys(str(id) for id in agent.file.chains.model_dump().values())
    return [error for id in ids if (error := listed(id).error)] + misfits(agent)


def misfits(agent: AgentRecord) -> list[str]:
    """Why it can plan or carry out nothing by those of its chains that are in order."""
    if not agent.file.plan.enabled:
        return []
    found = []
    for role, tool in (("planner", "create_plan"), ("executor", "finish_subtask")):
        with suppress(Refused):
            found.append(misfit(load_chain(getattr(agent.file.chains, role)), role, tool))
    return [why for why in found if why]


def roles_of(id: str) -> list[str]:
    """What agents use it for."""
    used = {role for agent in list_agents() for role, chain in agent.file.chains if chain == id}
    return sorted(used)


def users_of(id: str) -> list[str]:
    """The agents that name it, each with what for."""
    return [
        f"{agent.id}: {role}"
        for agent in list_agents()
        for role, chain in agent.file.chains.model_dump().items()
        if chain == id
    ]
