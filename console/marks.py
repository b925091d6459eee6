"""How a state is shown: a shape that survives greyscale, and words. The drawer, the Plan button,
the dock and the sidebar all sum a plan up by the same function.

Waiting outranks running: failed, waiting for you, running, paused, done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from plans.models import Run

# As interface.md lists it under "Plan snapshot".
Snapshot = Mapping[str, Any]

NAMES = {
    "todo": "To do",
    "in_progress": "In progress",
    "done": "Done",
    "abandoned": "Abandoned",
    "waiting": "Waiting for you",
    "paused": "Paused",
    "failed": "Failed",
}
ENDS = {
    "cancelled": "Cancelled",
    "superseded": "Replaced by another plan",
    "cleared": "Cleared from the conversation",
}


@dataclass(frozen=True)
class Mark:
    """`words` stand alone in the drawer; `brief` follows the count on the Plan button."""

    shape: str
    words: str
    brief: str = ""

    @property
    def name(self) -> str:
        return NAMES[self.shape]


WRITING = Mark("in_progress", "Writing a plan", "being written")


STANDINGS = {
    "failed": Mark("failed", "Failed"),
    "waiting": Mark("waiting", "Waiting for you"),
    "running": Mark("in_progress", "Running"),
    "paused": Mark("paused", "Paused"),
    "stopped": Mark("paused", "Stopped"),
    "done": Mark("done", "Finished"),
}


def mark_of_standing(standing: str, reason: str) -> Mark:
    """In a list, where plans stand one below the other, few words are enough."""
    ended = {"cancelled": "Cancelled", "superseded": "Replaced", "cleared": "Cleared"}
    return STANDINGS.get(standing) or Mark("abandoned", ended.get(reason, "Abandoned"))


def mark_of_plan(plan: Snapshot) -> Mark:
    if plan["state"] == "done":
        return Mark("done", "Finished", "finished")
    if plan["state"] == "abandoned":
        return Mark("abandoned", ENDS.get(plan["reason"], "Abandoned"), "abandoned")
    return mark_of_attention(plan) or mark_of_run(plan)


def mark_of_attention(plan: Snapshot) -> Mark | None:
    """What a person has to look at, if there is anything."""
    attention = plan["attention"]
    if attention == "failed" and plan["retry_at"]:
        return Mark("failed", "Held: the model is not answering", "held on an error")
    if attention == "failed":
        return Mark("failed", f"Subtask {failed_number(plan)} failed", "held on an error")
    if attention == "question":
        return Mark("waiting", "Waiting for your answer", "waiting for your answer")
    if attention == "approval":
        return Mark("waiting", f"Waiting for you: {asked_tool(plan)}", "waiting for your approval")
    if attention == "budget":
        return Mark("waiting", "Its budget is used up", "budget used up")
    if attention == "confirm":
        return mark_of_proposal(plan)
    return None


def mark_of_proposal(plan: Snapshot) -> Mark:
    if plan["approved_version"]:
        words = f"v{plan['version']} waits for you to start it"
        return Mark("waiting", words, "waiting for you to start it")
    return Mark("waiting", "Waiting for you to start it", "waiting for you to start it")


def mark_of_run(plan: Snapshot) -> Mark:
    run = plan["run"]
    if plan["retry_at"] and run in (Run.RUNNING, Run.QUEUED):
        return Mark("failed", "Held: the model is not answering", "held on an error")
    if run == Run.PAUSED:
        return Mark("paused", paused_words(plan), "paused")
    if run == Run.PAUSING:
        return Mark("in_progress", "Pausing after this step", "pausing")
    if run == Run.STOPPING:
        return Mark("in_progress", "Stopping…", "stopping")
    if run in (Run.RUNNING, Run.QUEUED):
        return Mark("in_progress", "Running", "running")
    return Mark("paused", "Stopped", "stopped")


def paused_words(plan: Snapshot) -> str:
    number = first_number(plan, lambda row: row["state"] in ("todo", "in_progress"))
    return f"Paused. Subtask {number} goes on when you resume." if number else "Paused"


def failed_number(plan: Snapshot) -> int:
    return first_number(plan, lambda row: bool(row["failed"]))


def first_number(plan: Snapshot, fits: Callable[[Snapshot], bool]) -> int:
    """The place, counted from 1, of the first subtask that fits; 0 for none."""
    return next((i for i, row in enumerate(plan["subtasks"], 1) if fits(row)), 0)


def asked_tool(plan: Snapshot) -> str:
    return str(plan["approvals"][0]["tool"]) if plan["approvals"] else "a tool"


def why_left_out(reason: str) -> str:
    """Who abandoned a subtask and why, as a person says it."""
    if reason.startswith("skipped"):
        return "Skipped by you" + reason.removeprefix("skipped")
    told = {"cancelled": "Cancelled with the plan", "cleared": "Cleared with the plan"}
    return told.get(reason, reason.capitalize())


def shape_of_subtask(row: Snapshot) -> str:
    return "failed" if row["failed"] and row["state"] == "todo" else str(row["state"])
