"""Chains on disk: shipped ones are copied to the home folder on first use, then they are yours."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from pydantic import ValidationError

from agents.agent_file.atomic import write_atomically
from agents.chains.check import Fault, check_text
from agents.chains.schema import Chain
from agents.errors import Invalid, Missing

SHIPPED = Path(__file__).parent / "shipped"
CHAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\Z")


def folder() -> Path:
    return Path(settings.PLANSIDE_HOME) / "chains"


def load_chain(id: str) -> Chain:
    """Read a chain by its id; a fault in the file is one sentence with the place."""
    if not CHAIN_ID.match(id):
        raise Missing(f"There is no chain {id[:100]!r}.")
    path = folder() / f"{id}.json"
    if not path.exists():
        copy_shipped(id, path)
    try:
        return Chain.model_validate_json(path.read_bytes())
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"]) or "the file"
        raise Invalid(f"The chain {id} cannot be used: {place}: {fault['msg']}.") from None


def copy_shipped(id: str, path: Path) -> None:
    shipped = SHIPPED / f"{id}.json"
    if not shipped.exists():
        raise Missing(f"There is no chain {id!r}.")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copyfile(shipped, path)


def schema_text() -> str:
    """The JSON Schema of a chain file, for editors."""
    return json.dumps(Chain.model_json_schema(), indent=2) + "\n"


def list_chains() -> list[str]:
    """The ids of all chains: those in the home folder and those shipped."""
    return sorted({path.stem for place in (folder(), SHIPPED) for path in place.glob("*.json")})


def save_chain(id: str, text: str, tools: Iterable[str] | None = None) -> list[Fault]:
    """Write a chain that has no error; gives back what the linter warns of."""
    if not CHAIN_ID.match(id):
        raise Invalid("A chain's id is made of letters, digits, dots, hyphens and underscores.")
    faults = check_text(text, tools)
    if errors := [str(fault) for fault in faults if fault.level == "error"]:
        raise Invalid(" ".join(errors[:5]))
    if Chain.model_validate_json(text).id != id:
        raise Invalid(f"The chain's own id has to be {id}.")
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(folder() / f"{id}.json", text.encode())
    return faults


def read_text(id: str) -> str:
    load_chain(id)
    return (folder() / f"{id}.json").read_text()


def chain_in(path: Path) -> Chain:
    """A chain in a file anywhere; every error of it in one sentence."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Missing(f"{path} cannot be read: {error}.") from None
    if errors := [str(fault) for fault in check_text(text) if fault.level == "error"]:
        raise Invalid(" ".join(errors[:5]))
    return Chain.model_validate_json(text)
