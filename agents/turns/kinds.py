"""The seam for what a turn is about: how it begins, and what its end means.

agents registers `chat`, plans adds its own kinds, both at start-up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agents.chains.library import load_chain
from agents.chains.schema import Chain
from agents.chains.steps import Work
from agents.models import Turn


def nothing(turn: Turn) -> None:
    pass


def no_repair() -> None:
    pass


@dataclass(frozen=True)
class TurnKind:
    """What a turn of this kind is about.

    `prepare` says what to do; it may raise NothingToDo. `settle` runs in the transaction in which
    the turn leaves `running`, and reads `turn.state`. `check` runs before each model call and may
    raise an interruption. `repair` runs at start-up and on each sweep of the queue. With a
    `nudge` the turn has to end by a tool that ends it: a reply without one is answered once with
    the nudge, then the turn has failed.
    """

    prepare: Callable[[Turn], Work]
    settle: Callable[[Turn], None] = nothing
    check: Callable[[Turn], None] = nothing
    repair: Callable[[], None] = no_repair
    nudge: str = ""


_kinds: dict[str, TurnKind] = {}


def register_kind(name: str, kind: TurnKind) -> None:
    _kinds[name] = kind


def kind_of(turn: Turn) -> TurnKind:
    return _kinds[turn.kind]


def all_kinds() -> list[TurnKind]:
    return list(_kinds.values())


def chain_of(turn: Turn, role: str) -> Chain:
    """The chain this turn thinks with: its own, or the one agent.json names for the role."""
    if document := turn.config.get("chain_document"):
        return Chain.model_validate(document)
    chains = turn.config.get("chains") or {}
    return load_chain(turn.chain or str(chains.get(role) or DEFAULT_CHAINS[role]))


DEFAULT_CHAINS = {"chat": "default-chain", "planner": "planner", "executor": "executor"}
