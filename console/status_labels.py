"""How a state is shown: a shape that survives greyscale, and words. The drawer, the Plan button,
the dock and the sidebar all sum a plan up by the same function.

Waiting outranks running: failed, waiting for you, running, paused, done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from agents.actors import AGENT, Actor, SystemActor
from agents.llm.providers import DEMO_LABEL
from agents.models import Conversation, Message
from agents.sentences import detailed
from plans.models import Plan
from plans.queries import active_plan, checklist
from plans.status import (
    BEING_WRITTEN,
    ENDED,
    FINISHED,
    STATUSES,
    WAITS_FOR_ANSWER,
    Asking,
    Status,
    status_of_document,
    statuses_of,
)

# As interface.md lists it under "Plan snapshot".
Snapshot = Mapping[str, Any]

NAMES = {
    "todo": gettext_lazy("To do"),
    "in_progress": gettext_lazy("In progress"),
    "done": gettext_lazy("Done, checked"),
    "by_word": gettext_lazy("Done, by the agent’s word"),
    "check_failed": gettext_lazy("A check failed"),
    "regressed": gettext_lazy("No longer true"),
    "abandoned": gettext_lazy("Abandoned"),
    "waiting": gettext_lazy("Waiting for you"),
    "paused": gettext_lazy("Paused"),
    "failed": gettext_lazy("Failed"),
    "question": gettext_lazy("Asks you something"),
}
ENDS = {
    "cancelled": gettext_lazy("Cancelled"),
    "superseded": gettext_lazy("Replaced by another plan"),
    "cleared": gettext_lazy("Cleared from the conversation"),
}

LEFT_OUT = {
    "skipped": gettext_lazy("Skipped by you"),
    "cancelled": gettext_lazy("Cancelled with the plan"),
    "cleared": gettext_lazy("Cleared with the plan"),
}


@dataclass(frozen=True)
class StatusLabel:
    """`word` is what every place shows; in the drawer it is followed by more (`words`), on the
    Plan button it follows the count (`brief`)."""

    shape: str
    words: str | Promise
    brief: str | Promise = ""
    word: str | Promise = ""
    at: datetime | None = None  # since when, where that is worth saying

    @property
    def name(self) -> str:
        """What its mark is called."""
        return str(FINISHED.get(self.shape, self.word or self.words))


WRITING, UNANSWERED = (
    StatusLabel(status.mark, status.text, brief, status.text)
    for status, brief in (
        (BEING_WRITTEN, gettext_lazy("being written")),
        (WAITS_FOR_ANSWER, gettext_lazy("waits for your answer")),
    )
)


def label_of_status(status: Status) -> StatusLabel:
    """In a list, where plans stand one below the other, the word is enough."""
    word, name = status.word, status.mark_name
    return StatusLabel(status.mark, word, name[0].lower() + name[1:], word)


def label_of_asking(asking: Asking) -> StatusLabel:
    """What a reply in a chat waits for."""
    if asking.questions:
        return StatusLabel("question", gettext("Waiting for your answer"))
    return StatusLabel("waiting", waiting_for_tool(asking.calls[0].tool))


def waiting_for_tool(tool: str) -> str:
    return gettext("Waiting for you: {tool}").format(tool=tool)


def label_of_plan(plan: Snapshot, conversation: Conversation) -> StatusLabel:
    """The word, and what else there is to say to the owner, who alone sees it."""
    status = status_of_document(plan)
    words = words_of(status, plan, conversation)
    if status.name in ("approval", "question") and is_pausing(plan):
        words = gettext("{words}. It pauses next.").format(words=words)
    label = replace(label_of_status(status), words=words)
    if status.name == "stopped" and (said := last_stop(plan["id"], conversation.pk)):
        words = stopped_by(said.meta.get("by"), conversation.owner.username)
        return replace(label, words=words, at=said.created_at)
    return label


def last_stop(plan: int, conversation: int) -> Message | None:
    """What the conversation says of it."""
    said = Message.objects.filter(conversation=conversation, kind=Message.Kind.NOTICE)
    return said.filter(meta__closing=plan, meta__ended="stopped").order_by("-seq").first()


def stopped_by(name: object, viewer: str) -> str:
    if not name:
        return gettext("Stopped")
    if name == viewer:
        return gettext("Stopped by you")
    return gettext("Stopped by {name}").format(name=name)


def words_of(status: Status, plan: Snapshot, conversation: Conversation) -> str:
    match status.name:
        case "held":
            return gettext("Held: the model is not answering")
        case "pausing":
            return gettext("Pausing after this step")
        case "stopping":
            return gettext("Stopping…")
        case "regressed":
            return gettext("{n} no longer true").format(n=plan["progress"]["regressed"])
        case "running" if number := checked_number(plan):
            return gettext("Running, checking subtask {number}").format(number=number)
        case "failed":
            number = first_number(plan, lambda row: bool(row["failed"]))
            return gettext("Failed: subtask {number}").format(number=number)
        case "approval" if plan["approvals"]:
            return waiting_for_tool(plan["approvals"][0]["tool"])
        case "approval":
            return gettext("Waiting for you: a tool")
        case "paused":
            words = why_paused(plan, conversation) or status.word
            number = first_number(plan, lambda row: row["state"] in ("todo", "in_progress"))
            if number:
                goes_on = gettext("{words}. Subtask {number} goes on when you resume.")
                words = goes_on.format(words=words, number=number)
            return words
    return status.word


def checked_number(plan: Snapshot) -> int:
    """The place of the subtask whose finish is being checked; 0 for none."""
    now = plan["activity"]
    if not now or now["tool"] != "finish_subtask":
        return 0
    return first_number(plan, lambda row: row["state"] == "in_progress" and bool(row["checks"]))


def why_paused(plan: Snapshot, conversation: Conversation) -> str:
    """By whom or for what, unless the reader has pressed Pause."""
    by = plan["paused_by"]
    is_own = bool(by) and by == conversation.owner.username
    if plan["pause_reason"] == Plan.PauseReason.ASIDE:
        if not by:
            return gettext("Paused: another plan was asked for")
        if is_own:
            return gettext("Paused: you asked for another plan")
        return gettext("Paused: {name} asked for another plan").format(name=by)
    return gettext("Paused by {name}").format(name=by) if by and not is_own else ""


def is_pausing(plan: Snapshot) -> bool:
    """A person has asked it to pause, which it does with or after what it waits for."""
    return bool(plan["pause_reason"] == Plan.PauseReason.USER)


def first_number(plan: Snapshot, fits: Callable[[Snapshot], bool]) -> int:
    """The place, counted from 1, of the first subtask that fits; 0 for none."""
    return next((i for i, row in enumerate(plan["subtasks"], 1) if fits(row)), 0)


def why_left_out(reason: str) -> str:
    """Who abandoned a subtask and why, as a person says it."""
    kind, _, detail = reason.partition(":")
    if kind in LEFT_OUT:
        return detailed(LEFT_OUT[kind], detail.strip())
    return reason[:1].upper() + reason[1:]


def name_of_shape(shape: str, reason: str) -> str:
    """What a screen reader says for a subtask's mark."""
    kind = reason.partition(":")[0] if shape == "abandoned" else ""
    if kind in ENDED:  # with its plan, and in the same word
        return STATUSES[kind].word
    return gettext("Skipped") if kind == "skipped" else str(NAMES[shape])


def shape_of_subtask(row: Snapshot) -> str:
    if row["state"] == "done":
        return shape_of_done(row["verified"])
    if row["failed"] and row["state"] == "todo":
        return "check_failed" if row["failure"] == "check" else "failed"
    return str(row["state"])


def shape_of_done(verified: bool | None) -> str:
    """Checked, no longer true, or done by the agent's word alone."""
    return {True: "done", False: "regressed", None: "by_word"}[verified]


def name_for(by: Actor, viewer: str) -> str:
    """How a page names who did something."""
    if isinstance(by, SystemActor) or not by:
        return gettext("Agent") if by is AGENT else gettext("Planside")
    return gettext("You") if by == viewer else by


ModelName = tuple[str, str]  # provider and model


def name_of_model(provider: str, model: str) -> str:
    return str(DEMO_LABEL) if provider == "demo" else model


def running_call(plan: Snapshot | None) -> str:
    """The tool that the plan is using, and the file it uses it on."""
    now = plan["activity"] if plan else None
    if not now or not now["tool"]:
        return ""
    path = (now["arguments"] or {}).get("path", "")
    return f"{now['tool']} {path}".strip()


def describe_plan(c: Conversation) -> str:
    """What /plan alone answers."""
    plan = active_plan(c)
    if plan is None:
        if Plan.objects.filter(conversation=c).exists():
            return gettext("No open plan here. Say what you want after /plan.")
        return gettext("No plan here yet. Say what you want after /plan.")
    heading = gettext("**{title}** (v{version}): {standing}.").format(
        title=plan.title, version=plan.version, standing=statuses_of([plan.pk])[plan.pk].word
    )
    lines = [heading]
    return "\n".join([*lines, *(f"{each.position}. {each.name}" for each in checklist(plan))])
