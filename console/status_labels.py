"""How a state is shown: a shape that survives greyscale, and words. The drawer, the Plan button,
the dock and the sidebar all sum a plan up by the same function.

Waiting outranks running: failed, waiting for you, running, paused, done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils.functional import Promise

from agents.actors import AGENT, Actor, SystemActor
from agents.llm.providers import DEMO_LABEL
from agents.models import Conversation, Message
from agents.sentences import detailed
from agents.stored_text import gettext, gettext_lazy, lines
from agents.timestamps import timestamp
from plans.models import OPEN, Plan, State
from plans.queries import active_plan, checklist
from plans.snapshot import PlanSnapshot
from plans.status import (
    BEING_WRITTEN,
    WAITS_FOR_ANSWER,
    Asking,
    Status,
    status_of_plan,
)

URGENT = ("failed", "check_failed", "regressed", "question", "waiting")  # marks

ENDS = {
    "cancelled": gettext_lazy("Cancelled"),
    "superseded": gettext_lazy("Replaced by another plan"),
    "cleared": gettext_lazy("Cleared from the conversation"),
    "out_of_force": gettext_lazy("Taken out of force"),
}

DECIDED = {
    "allow_once": gettext_lazy("Allowed once"),
    "always": gettext_lazy("Always allowed"),
    "deny": gettext_lazy("Denied"),
}

LEFT_OUT = {
    "skipped": gettext_lazy("Skipped by you"),
    "cancelled": gettext_lazy("Cancelled with the plan"),
    "cleared": gettext_lazy("Cleared with the plan"),
}


STOPPED_BY = (
    gettext_lazy("Stopped"),
    gettext_lazy("Stopped by you"),
    gettext_lazy("Stopped by {name}"),
)
UNDONE_BY = (
    gettext_lazy("Undone"),
    gettext_lazy("Undone by you"),
    gettext_lazy("Undone by {name}"),
)


@dataclass(frozen=True)
class StatusLabel:
    """`word` is what every place shows; in the drawer it is followed by more (`words`), on the
    Plan button it follows the count (`brief`)."""

    shape: str
    words: str | Promise
    brief: str | Promise = ""
    word: str | Promise = ""
    at: str | None = None  # since when, where that is worth saying
    mark_name: str = ""

    @property
    def name(self) -> str:
        """What its mark is called."""
        return str(self.mark_name or self.word or self.words)


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
    return StatusLabel(status.mark, word, name[0].lower() + name[1:], word, mark_name=name)


def row_mark(status: Status | None, asking: Sequence[bool]) -> tuple[str, str]:
    """How a conversation stands in the list: a mark and its name. What waits outranks all but a
    failure; a plan that was given up has none.

    `status` is that of its most urgent plan, and `asking` says of each call that waits for a word
    whether it is a question.
    """
    if status is not None and status.mark in URGENT:
        return status.mark, status.word
    if any(asking):
        return "question", gettext("Waiting for your answer")
    if asking:
        return "waiting", gettext("Waiting for you")
    if status is None or status.mark == "abandoned":
        return "", ""
    return status.mark, status.mark_name


def label_of_asking(asking: Asking) -> StatusLabel:
    """What a reply in a chat waits for."""
    if asking.questions:
        return StatusLabel("question", gettext("Waiting for your answer"))
    return StatusLabel("waiting", waiting_for_tool(asking.calls[0].tool))


def waiting_for_tool(tool: str) -> str:
    return gettext("Waiting for you: {tool}").format(tool=tool)


def label_of_plan(plan: PlanSnapshot, conversation: Conversation) -> StatusLabel:
    """The word, and what else there is to say to the owner, who alone sees it."""
    status = plan.status
    words = words_of(plan, conversation)
    if status.name in ("approval", "question") and plan.is_pausing:
        words = gettext("{words}. It pauses next.").format(words=words)
    label = replace(label_of_status(status), words=words)
    if status.mark == "undone" and plan.changes and plan.changes.undone_at:
        last = max(plan.subtasks, key=lambda each: each.undone_at or "")
        words = done_by(UNDONE_BY, last.undone_by, conversation.owner.username)
        return replace(label, words=words, at=last.undone_at)
    if status.name == "stopped" and (said := last_stop(plan.id, conversation.pk)):
        words = done_by(STOPPED_BY, said.meta.get("by"), conversation.owner.username)
        return replace(label, words=words, at=timestamp(said.created_at))
    return label


def last_stop(plan: int, conversation: int) -> Message | None:
    """What the conversation says of it."""
    said = Message.objects.filter(conversation=conversation, kind=Message.Kind.NOTICE)
    return said.filter(meta__closing=plan, meta__ended="stopped").order_by("-seq").first()


def done_by(words: tuple[Promise, Promise, Promise], name: object, viewer: str) -> str:
    """By nobody who is known, by the reader, or by somebody else."""
    nobody, you, other = words
    return str(you if name == viewer else other if name else nobody).format(name=name)


def words_of(plan: PlanSnapshot, conversation: Conversation) -> str:
    match plan.status.name:
        case "held":
            return gettext("Held: the model is not answering")
        case "pausing":
            return gettext("Pausing after this step")
        case "stopping":
            return gettext("Stopping…")
        case "regressed":
            return gettext("{n} no longer true").format(n=plan.progress.regressed)
        case "running" if number := checked_number(plan):
            return gettext("Running, checking subtask {number}").format(number=number)
        case "failed":
            return gettext("Failed: subtask {number}").format(number=plan.failed_number)
        case "approval":
            return waiting_for_tool(plan.approvals[0].tool)
        case "paused":
            words = why_paused(plan, conversation) or plan.status.word
            if number := plan.number(*OPEN):
                goes_on = gettext("{words}. Subtask {number} goes on when you resume.")
                words = goes_on.format(words=words, number=number)
            return words
    return plan.status.word


def checked_number(plan: PlanSnapshot) -> int:
    """The place of the subtask whose finish is being checked; 0 for none."""
    if plan.activity is None or plan.activity.tool != "finish_subtask":
        return 0
    rows = enumerate(plan.subtasks, 1)
    return next((i for i, row in rows if row.state == State.IN_PROGRESS and row.checks), 0)


def why_paused(plan: PlanSnapshot, conversation: Conversation) -> str:
    """By whom or for what, unless the reader has pressed Pause."""
    by = plan.paused_by
    is_own = bool(by) and by == conversation.owner.username
    if plan.pause_reason == Plan.PauseReason.ASIDE:
        if not by:
            return gettext("Paused: another plan was asked for")
        if is_own:
            return gettext("Paused: you asked for another plan")
        return gettext("Paused: {name} asked for another plan").format(name=by)
    return gettext("Paused by {name}").format(name=by) if by and not is_own else ""


def why_left_out(reason: str) -> str:
    """Who abandoned a subtask and why, as a person says it."""
    kind, _, detail = reason.partition(":")
    if kind in LEFT_OUT:
        return detailed(LEFT_OUT[kind], detail.strip())
    return reason[:1].upper() + reason[1:]


def name_for(by: Actor, viewer: str) -> str:
    """How a page names who did something."""
    if isinstance(by, SystemActor) or not by:
        return gettext("Agent") if by is AGENT else gettext("Planside")
    return gettext("You") if by == viewer else by


ModelName = tuple[str, str]  # provider and model


def name_of_model(provider: str, model: str) -> str:
    return str(DEMO_LABEL) if provider == "demo" else model


def running_call(plan: PlanSnapshot | None) -> str:
    """The tool that the plan is using, and the file it uses it on."""
    now = plan.activity if plan else None
    if now is None or not now.tool:
        return ""
    path = now.arguments.get("path", "") if isinstance(now.arguments, dict) else ""
    return f"{now.tool} {path}".strip()


def describe_plan(c: Conversation) -> str:
    """What /plan alone answers."""
    plan = active_plan(c)
    if plan is None:
        if Plan.objects.filter(conversation=c).exists():
            return gettext("No open plan here. Say what you want after /plan.")
        return gettext("No plan here yet. Say what you want after /plan.")
    heading = gettext("**{title}** (v{version}): {standing}.").format(
        title=plan.title, version=plan.version, standing=status_of_plan(plan).word
    )
    return lines(heading, *(f"{each.position}. {each.name}" for each in checklist(plan)))
