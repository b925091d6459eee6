"""How a state is shown: a shape that survives greyscale, and words. The drawer, the Plan button,
the dock and the sidebar all sum a plan up by the same function.

Waiting outranks running: failed, waiting for you, running, paused, done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agents.actors import AGENT, Actor, SystemActor
from agents.llm.providers import DEMO_LABEL
from agents.models import Conversation
from plans.models import Plan
from plans.standing import Standing, of_document

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
    "question": "Asks you something",
}
ENDS = {
    "cancelled": "Cancelled",
    "superseded": "Replaced by another plan",
    "cleared": "Cleared from the conversation",
}


@dataclass(frozen=True)
class StatusLabel:
    """`word` is what every place shows; in the drawer it is followed by more (`words`), on the
    Plan button it follows the count (`brief`)."""

    shape: str
    words: str
    brief: str = ""
    word: str = ""

    @property
    def name(self) -> str:
        return NAMES[self.shape]


WRITING = StatusLabel("in_progress", "Writing a plan", "being written", "Writing a plan")


def label_of_standing(standing: Standing) -> StatusLabel:
    """In a list, where plans stand one below the other, the word is enough."""
    brief = standing.word[0].lower() + standing.word[1:]
    return StatusLabel(standing.shape, standing.word, brief, standing.word)


UNANSWERED = label_of_standing(Standing("asked", "Waits for your answer", "waiting"))


def label_of_plan(plan: Snapshot, conversation: Conversation) -> StatusLabel:
    """The word, and what else there is to say to the owner, who alone sees it."""
    standing = of_document(plan)
    label = label_of_standing(standing)
    more = {
        "held": ": the model is not answering",
        "pausing": " after this step",
        "stopping": "…",
    }.get(standing.name, "")
    if standing.name == "failed":
        more = f": subtask {first_number(plan, lambda row: bool(row['failed']))}"
    elif standing.name == "approval":
        more = f": {plan['approvals'][0]['tool'] if plan['approvals'] else 'a tool'}"
    elif standing.name == "paused":
        number = first_number(plan, lambda row: row["state"] in ("todo", "in_progress"))
        goes_on = f". Subtask {number} goes on when you resume." if number else ""
        more = why_paused(plan, conversation) + goes_on
    if standing.name in ("approval", "question") and is_pausing(plan):
        more += ". It pauses next."
    return replace(label, words=standing.word + more)


def why_paused(plan: Snapshot, conversation: Conversation) -> str:
    """By whom or for what, unless the reader has pressed Pause."""
    by = plan["paused_by"]
    is_own = bool(by) and by == conversation.owner.username
    if plan["pause_reason"] == Plan.PauseReason.ASIDE:
        who = "you" if is_own else by
        return f": {who} asked for another plan" if by else ": another plan was asked for"
    return f" by {by}" if by and not is_own else ""


def is_pausing(plan: Snapshot) -> bool:
    """A person has asked it to pause, which it does with or after what it waits for."""
    return bool(plan["pause_reason"] == Plan.PauseReason.USER)


def first_number(plan: Snapshot, fits: Callable[[Snapshot], bool]) -> int:
    """The place, counted from 1, of the first subtask that fits; 0 for none."""
    return next((i for i, row in enumerate(plan["subtasks"], 1) if fits(row)), 0)


def why_left_out(reason: str) -> str:
    """Who abandoned a subtask and why, as a person says it."""
    if reason.startswith("skipped"):
        return "Skipped by you" + reason.removeprefix("skipped")
    words = {"cancelled": "Cancelled with the plan", "cleared": "Cleared with the plan"}
    kind, colon, detail = reason.partition(":")
    return words[kind] + colon + detail if kind in words else reason[:1].upper() + reason[1:]


def name_of_shape(shape: str, reason: str) -> str:
    """What a screen reader says for a subtask's mark."""
    skipped = shape == "abandoned" and reason.startswith("skipped")
    return "Skipped" if skipped else NAMES[shape]


def shape_of_subtask(row: Snapshot) -> str:
    return "failed" if row["failed"] and row["state"] == "todo" else str(row["state"])


def name_for(by: Actor, viewer: str) -> str:
    """How a page names who did something."""
    if isinstance(by, SystemActor) or not by:
        return "Agent" if by is AGENT else "Planside"
    return "You" if by == viewer else by


ModelName = tuple[str, str]  # provider and model


def name_of_model(provider: str, model: str) -> str:
    return DEMO_LABEL if provider == "demo" else model
