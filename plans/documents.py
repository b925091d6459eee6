"""Plans as versioned documents, for programs. Pages, API and tools go through the same verbs.

    plan = create_plan(conversation, title="Move house", content="## Goal", subtasks=["Pack"])
    update_plan(plan.pk, content="## Goal\\nBy May", by="alice")  # v2
    about = plan_agent(plan.pk, context="reference")
    about.as_context(priority=60), about.as_tools(), create_plan_tool(conversation)

Like all of Django's database access they are synchronous. A refusal is agents.errors.Refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from django.db import transaction
from pydantic import BaseModel, ConfigDict, ValidationError

from agents.actors import Actor
from agents.db import in_db
from agents.engine.handlers import Instruction
from agents.errors import Invalid, NotFound
from agents.models import Conversation, Turn
from agents.tools.base import Tool, ToolResult, typed_tool, validation_sentence
from plans import actions
from plans.context import Context, plan_context
from plans.models import Plan
from plans.queries import AGENT, SYSTEM
from plans.schemas import PlanDraft, PlanEdit
from plans.text_tools import TextTools, act, waiting

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

    A subtask is its name, or {name, description, expected_outcome}. `beside` leaves other plans
    of the conversation alone; a running one keeps the drawer.
    """
    text = {"title": title, "content": content, "expected_outcome": expected_outcome}
    draft = valid(PlanDraft, {**text, "subtasks": list(subtasks)})
    plan = actions.create_plan(conversation, draft, by, goal=goal, beside=beside)
    return update_plan(plan.pk, metadata=metadata, by=by) if metadata else plan


def get_plan(plan_id: int) -> Plan:
    """The plan as it is now, or NotFound."""
    plan = Plan.objects.select_related("conversation").filter(pk=plan_id).first()
    if plan is None:
        raise NotFound(f"There is no plan {plan_id}.")
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
        return wanted.model_validate(fields)
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
        text = plan_context(plan, self.context) if plan else ""
        return Instruction(priority, text) if text.strip() else None

    def as_tools(self) -> list[Tool]:
        """get_plan and revise_current_plan."""
        return TextTools(get_plan(self.plan_id)).whole_text()


def plan_agent(plan_id: int, context: Context = "auto") -> PlanAgent:
    """`context`: auto, full, reference, a template ("{{.title}} {{.checklist}}"), a function."""
    return PlanAgent(plan_id, context)


class CreatePlan(PlanDraft):
    """Make the plan for what the person asked for. It waits for their yes; nothing runs before.

    Without subtasks it is a document, which their yes approves.
    """

    model_config = ConfigDict(extra="forbid")


def create_plan_tool(
    conversation: Conversation, template: str = "", turn: Turn | None = None
) -> Tool:
    """A model's way to make the conversation's plan, in the format that the template shows."""

    async def create(draft: CreatePlan) -> ToolResult:
        goal = await in_db(what_was_said, turn) if turn else ""
        return await waiting(await act(actions.create_plan, conversation, draft, AGENT, turn, goal))

    tool = typed_tool("create_plan", CreatePlan, create)
    if not template.strip():
        return tool
    guided = f"{tool.description}\nFollow this format:\n{template}"
    return replace(tool, description=guided)


def what_was_said(turn: Turn) -> str:
    """The goal of a plan that was not asked for with /plan: the message it answers."""
    said = turn.messages.filter(role="user").order_by("seq").last()
    return str(said.meta.get("wire", said.text)) if said else ""
