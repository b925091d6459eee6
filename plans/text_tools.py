"""The tools by which a model reads and changes one plan's text, in any turn or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from pydantic import BaseModel, ConfigDict

from agents.config.store import AgentRecord
from agents.db import in_db
from agents.errors import Refused
from agents.models import Conversation
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool
from plans import actions
from plans.models import Plan, PlanVersion
from plans.prompts import plan_text
from plans.queries import AGENT, reload
from plans.schemas import Revision, SubtaskDraft, SubtaskRevision
from plans.standing import standings_of

P = ParamSpec("P")
R = TypeVar("R")


class Arguments(BaseModel):
    """A name that the tool does not know is refused: it might be meant for something else."""

    model_config = ConfigDict(extra="forbid")


class GetPlan(Arguments):
    """Read the plan as it stands, or an earlier version of it; `plan` is another plan's number."""

    version: int | None = None
    plan: int | None = None


class ReviseCurrentPlan(Revision, Arguments):
    """Change the plan.

    Subtasks are named by key; what is not mentioned stays as it is; one without a key is new;
    "remove": true takes one out. The new version waits for the person's yes.
    """


class AddSubtask(SubtaskDraft, Arguments):
    """Propose another subtask, behind the one with the key `after`, else at the end."""

    after: str | None = None


class UpdateSubtask(SubtaskRevision, Arguments):
    """Change a subtask's name, description or expected outcome."""

    key: str


class DeleteSubtask(Arguments):
    """Take a subtask out of the plan."""

    key: str
    reason: str = ""


def reads_other_plans(agent: AgentRecord) -> bool:
    """Whether agent.json grants get_plan by its name: for every plan of the same person."""
    return agent.file.tools.get("get_plan") == "allow"


class TextTools:
    """Bound to a plan; where there is none, each of them says so."""

    def __init__(self, plan: Plan | None) -> None:
        self.plan = plan

    def whole_text(self) -> list[Tool]:
        return [
            typed_tool("get_plan", GetPlan, self.get, read_only=True),
            typed_tool("revise_current_plan", ReviseCurrentPlan, self.revise),
        ]

    def by_subtask(self) -> list[Tool]:
        return [
            typed_tool("add_subtask", AddSubtask, self.add),
            typed_tool("update_subtask", UpdateSubtask, self.update, idempotent=True),
            typed_tool("delete_subtask", DeleteSubtask, self.delete),
        ]

    def current(self) -> Plan:
        if self.plan is None:
            raise ToolFailed("There is no plan yet.")
        return self.plan

    async def get(self, wanted: GetPlan) -> ToolResult:
        plan = self.current() if wanted.plan is None else await in_db(self.another, wanted.plan)
        return ToolResult(await in_db(self.read, plan, wanted.version))

    def another(self, number: int) -> Plan:
        """The plan this is bound to, and no other one."""
        if self.plan is None or self.plan.pk != number:
            raise ToolFailed(f"There is no plan {number} here.")
        return self.plan

    def read(self, plan: Plan, version: int | None) -> str:
        return version_text(plan, version)

    async def changed(self, plan: Plan) -> ToolResult:
        return await waiting(plan)

    async def revise(self, revision: Revision) -> ToolResult:
        return await self.changed(await act(actions.revise_plan, self.current(), revision, AGENT))

    async def add(self, draft: AddSubtask) -> ToolResult:
        changed = await act(actions.add_subtask, self.current(), draft, AGENT, None, draft.after)
        return await self.changed(changed)

    async def update(self, change: UpdateSubtask) -> ToolResult:
        return await self.revise(Revision(subtasks=[change], explanation=f"Changed {change.key}"))

    async def delete(self, gone: DeleteSubtask) -> ToolResult:
        word = SubtaskRevision.model_validate({"key": gone.key, "remove": True})
        return await self.revise(Revision(subtasks=[word], explanation=gone.reason))


async def act(verb: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """A verb of plans/actions; its refusal is an ordinary tool result, the same sentence."""
    try:
        return await in_db(verb, *args, **kwargs)
    except Refused as refusal:
        raise ToolFailed(str(refusal)) from None


async def waiting(plan: Plan) -> ToolResult:
    return ToolResult(await in_db(text_and_standing, plan))


def text_and_standing(plan: Plan) -> str:
    """The plan as it is now, and what it waits for, if for anything."""
    plan = reload(plan)
    return f"{plan_text(plan)}\n\nv{plan.version} {waits_for(plan)}"


def waits_for(plan: Plan) -> str:
    if not plan.is_open:
        return f"is {standings_of([plan.pk])[plan.pk].word.lower()}."
    if plan.is_confirmed:
        return "holds: it needs no new yes."
    if Conversation.objects.filter(pk=plan.conversation_id, parent_call=None).exists():
        return "waits for the person's yes."
    return "is started for you when this turn ends."


def version_text(plan: Plan, version: int | None) -> str:
    plan.refresh_from_db()
    if version is None:
        return plan_text(plan)
    kept = PlanVersion.objects.filter(plan=plan, version=version).first()
    if kept is None:
        raise ToolFailed(f"There is no v{version}; the plan is at v{plan.version}.")
    return json.dumps(kept.snapshot, ensure_ascii=False, indent=1)
