"""The gate: a pure function of rows. It lists the tools, and is asked again when one is called."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Row(IntEnum):
    """The rows of the table in the architecture."""

    PLAN_FIRST = 1
    UNCONFIRMED = 2
    ATTEMPT = 3
    CLOSING = 4
    BESIDE_A_RUN = 5
    CONFIRMED = 6
    NO_PLAN = 7
    IN_FORCE = 8


@dataclass(frozen=True)
class Situation:
    """What the rows say. `gated`: this turn has met row 1 or 2 before and stays there. `in_force`:
    a document of the conversation is."""

    kind: str
    asked: bool = False
    open_plan: bool = False
    confirmed: bool = False
    live: bool = False
    in_force: bool = False
    gated: bool = False


def row_of(now: Situation) -> Row:
    """Which tools a turn may have now.

    A gated turn never leaves rows 1 and 2, whatever happens to the plan meanwhile: neither a
    second call in the same reply nor a click on Start widens it. A document in force, which has had
    its yes, opens and closes nothing: beside it a turn may do what it may do without a plan.
    """
    if now.kind == "subtask":
        return Row.ATTEMPT
    if now.kind == "closing":
        return Row.CLOSING
    if now.asked:
        return Row.PLAN_FIRST
    if now.gated:
        return Row.UNCONFIRMED if now.open_plan else Row.PLAN_FIRST
    if not now.open_plan:
        return Row.IN_FORCE if now.in_force else Row.NO_PLAN
    if not now.confirmed:
        return Row.UNCONFIRMED
    return Row.BESIDE_A_RUN if now.live else Row.CONFIRMED


PLAN_TOOLS: dict[Row, tuple[str, ...]] = {
    Row.PLAN_FIRST: ("create_plan",),
    Row.UNCONFIRMED: ("get_plan", "revise_current_plan", "finish_plan"),
    Row.ATTEMPT: (
        "get_plan",
        "get_changes",
        "report_progress",
        "finish_subtask",
        "fail_subtask",
        "ask_user",
        "add_subtask",
        "update_subtask",
        "delete_subtask",
        "revise_current_plan",
    ),
    Row.CLOSING: ("finish_plan",),
    Row.BESIDE_A_RUN: (
        "get_plan",
        "get_changes",
        "revise_current_plan",
        "add_subtask",
        "finish_plan",
    ),
    Row.CONFIRMED: ("get_plan", "get_changes", "revise_current_plan", "add_subtask", "finish_plan"),
    Row.NO_PLAN: ("create_plan", "get_changes"),
    Row.IN_FORCE: ("create_plan", "get_changes", "get_plan", "revise_current_plan"),
}

GATED = (Row.PLAN_FIRST, Row.UNCONFIRMED)
