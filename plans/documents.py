"""Plans as versioned documents, for programs. Pages, API and tools go through the same verbs.

    plan = create_plan(conversation, title="Move house", content="## Goal", subtasks=["Pack"])
    update_plan(plan.pk, content="## Goal\\nBy May", by="alice")  # v2
    about = plan_agent(plan.pk, context="reference")
    about.as_context(priority=60), about.as_tools(), create_plan_tool(conversation)

Like all of Django's database access they are synchronous. A refusal is agents.errors.Refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import TypeVar

from django.db import transaction
from pydantic import BaseModel, ValidationError

from agents.actors import Actor
from agents.config.json_text import merged
from agents.engine.handlers import Instruction
from agents.errors import Invalid, NotFound
from agents.models import Conversation
from agents.sentences import commas
from agents.stored_text import gettext, gettext_lazy, sentences
from agents.tools.base import Tool, validation_sentence
from plans import actions
from plans.check_results import CheckSnapshot
from plans.check_text import looks_at
from plans.models import Plan, Subtask
from plans.prompts import TO_CHANGE, Context, plan_context
from plans.queries import SYSTEM, checklist
from plans.schemas import PlanDraft, PlanEdit
from plans.snapshot import SubtaskSnapshot
from plans.snapshot_reading import plan_snapshot
from plans.text import text_of
from plans.tools import TextTools
from plans.tools import create_plan_tool as create_plan_tool
from plans.verification import Word

Fields = Mapping[str, object]
shape = TypeVar("shape", bound=BaseModel)


@transaction.atomic
def create_plan(
    conversation: Conversation,
    *,
    title: str,
    content: str = "",
    expected_outcome: str = "",
    subtasks: Sequence[str | Fields] = (),
    metadata: Fields | None = None,
    goal: str = "",
    by: Actor = SYSTEM,
    beside: bool = False,
) -> Plan:
    """A plan at version 1, in the drawer of its conversation. Content or subtasks may be empty.

    A subtask is its name, or a mapping of SUBTASK_FIELDS. `beside` leaves other plans of the
    conversation alone; a running one keeps the drawer.
    """
    text = {"title": title, "content": content, "expected_outcome": expected_outcome}
    draft = valid(PlanDraft, {**text, "subtasks": list(subtasks)})
    edit = valid(PlanEdit, {"metadata": metadata})
    plan = actions.create_plan(conversation, draft, by, goal=goal, beside=beside)
    if edit.metadata:
        plan.metadata = merged({}, edit.metadata)
        plan.save(update_fields=["metadata"])
    return plan


def get_plan(plan_id: int) -> Plan:
    """The plan as it is now, or NotFound."""
    plan = Plan.objects.select_related("conversation").filter(pk=plan_id).first()
    if plan is None:
        raise NotFound(gettext("There is no plan {plan_id}.").format(plan_id=plan_id))
    return plan


def update_plan(
    plan_id: int,
    *,
    title: str | None = None,
    content: str | None = None,
    expected_outcome: str | None = None,
    subtasks: Sequence[str | Fields] | None = None,
    metadata: Fields | None = None,
    version: int | None = None,
    by: Actor = SYSTEM,
) -> Plan:
    """Change what is named. New text is a new version, which waits for a new yes.

    `metadata` is a merge-patch (RFC 7396) and never makes a version; `subtasks` is the whole list
    of those not started; with `version` another one than the plan has is refused.
    """
    wanted = {"title": title, "content": content, "expected_outcome": expected_outcome}
    edit = valid(PlanEdit, {**wanted, "subtasks": subtasks, "metadata": metadata})
    return actions.edit_plan(get_plan(plan_id), edit, by, version)


def valid(wanted: type[shape], fields: dict[str, object]) -> shape:
    try:
        return wanted.model_validate(fields, extra="forbid")
    except ValidationError as error:
        raise Invalid(validation_sentence("The plan", error)) from None


@dataclass(frozen=True)
class PlanAgent:
    """What an agent needs of one plan: its place in the prompt, and tools to read and change it."""

    plan_id: int
    context: Context = "auto"

    def as_context(self, priority: int = 80) -> Instruction | None:
        """The plan as it is now, or None when there is nothing to say of it."""
        plan = Plan.objects.filter(pk=self.plan_id).first()
        text = plan_context(text_of(plan), self.context, TO_CHANGE) if plan else ""
        return Instruction(priority, text) if text.strip() else None

    def as_tools(self) -> list[Tool]:
        """get_plan and revise_current_plan."""
        return TextTools(get_plan(self.plan_id)).whole_text()


def plan_agent(plan_id: int, context: Context = "auto") -> PlanAgent:
    """`context`: auto, full, reference, a template ("{{.title}} {{.checklist}}"), a function."""
    return PlanAgent(plan_id, context)


# As a markdown document, to keep or to send

BOXES = {"todo": "[ ]", "in_progress": "[ ]", "done": "[x]", "abandoned": "[-]"}
UNTRUE = "[!]"  # done, and no longer true
STATES = {
    "todo": gettext_lazy("to do"),
    "in_progress": gettext_lazy("in progress"),
    "abandoned": gettext_lazy("abandoned"),
}
DONE = {
    Word.CHECKED: gettext_lazy("checked"),
    Word.LOOKED: gettext_lazy("looked at by you"),
    Word.OWN_CHECK: gettext_lazy("checked by its own check"),
    Word.BY_WORD: gettext_lazy("by the agent’s word"),
    Word.UNDONE: gettext_lazy("undone by you"),
    Word.REGRESSED: gettext_lazy("no longer true"),
}
CAME_TO = {
    True: gettext_lazy("passed"),
    False: gettext_lazy("failed"),
    None: gettext_lazy("could not be run"),
}


def as_markdown(plan: Plan, images: Callable[[Subtask], str] | None = None) -> str:
    """`images` names those that a subtask's tools have brought."""
    now = plan_snapshot(plan)
    approval = gettext("Version {version}, not approved.").format(version=now.version)
    if now.is_confirmed and now.approved_at:
        day = now.approved_at.partition("T")[0]
        approval = gettext("Version {version}, approved by {person} on {day}.").format(
            version=now.version, person=now.approved_by, day=day
        )
    elif now.in_force:
        in_force = gettext("Version {version} is in force.").format(version=now.approved_version)
        approval = sentences(approval, in_force)
    times = now.seconds.times
    brought = {each.key: images(each) for each in checklist(plan)} if images else {}
    parts = [
        f"# {now.title}",
        indent(now.goal, "> ", lambda line: True),
        f"{now.standing}. {approval}",
        f"{now.progress.words}." if now.subtasks else "",
        f"{times.words.capitalize()}." if times.worked else "",
        labelled(gettext("Expected outcome"), now.expected_outcome),
        now.content,
        f"## {gettext('Subtasks')}" if now.subtasks else "",
        "\n".join(item(each, brought.get(each.key, "")) for each in now.subtasks),
        f"## {gettext('Outcome')}\n\n{now.outcome}" if now.outcome and now.subtasks else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def item(subtask: SubtaskSnapshot, images: str) -> str:
    """A line with a box, and below it, indented, what there is to say."""
    word = subtask.verification
    state = str(DONE[Word(word)] if word else STATES.get(subtask.state, subtask.state))
    state = f"{state}: {subtask.reason}" if subtask.reason and not word else state
    state = gettext("failed") if subtask.failed else state
    box = UNTRUE if subtask.is_regressed else BOXES["todo" if subtask.is_gone else subtask.state]
    head = f"- {box} **{subtask.name}**"
    notes = [
        subtask.description,
        labelled(gettext("Expected"), subtask.expected_outcome),
        labelled(gettext("Checks"), commas([check_line(check) for check in subtask.checks])),
        labelled(gettext("Outcome"), subtask.outcome),
        labelled(gettext("Error"), subtask.error),
        images and f"*{gettext('Images')}:*\n\n{images}",
    ]
    below = "".join(f"\n\n{indent(note, '  ')}" for note in notes if note)
    return f"{head} ({state}){below}"


def check_line(check: CheckSnapshot) -> str:
    """What it looks at, and what that came to last."""
    words = in_code(looks_at(check.asked))
    return f"{words} ({CAME_TO[check.result.passed]})" if check.result else words


def in_code(words: str) -> str:
    """On one line and as it is: a text, pattern or command may hold links, stars and backquotes."""
    line = " ".join(words.split())
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def labelled(label: str, text: str) -> str:
    return f"*{label}:* {text}" if text else ""
