"""The tools by which a model reads and changes one plan's text, in any turn or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from pydantic import BaseModel

from agents.database import in_db
from agents.errors import Refused
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool
from plans import actions
from plans.models import Plan, PlanVersion
from plans.prompts import plan_text
from plans.rows import AGENT
from plans.shapes import Revision, SubtaskDraft, SubtaskRevision

P = ParamSpec("P")
R = TypeVar("R")


class GetPlan(BaseModel):
    """Read the plan as it stands, or an earlier version of it."""

    version: int | None = None


class ReviseCurrentPlan(Revision):
    """Change the plan.

    Subtasks are named by key; what is not mentioned stays as it is; one without a key is new;
    "remove": true takes one out. The new version waits for the person's yes.
    """


class AddSubtask(SubtaskDraft):
    """Propose another subtask, behind the one with the key `after`, else at the end."""

    after: str | None = None


class UpdateSubtask(SubtaskRevision):
    """Change a subtask's name, description or expected outcome."""

    key: str


class DeleteSubtask(BaseModel):
    """Take a subtask out of the plan."""

    key: str
    reason: str = ""


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
        return ToolResult(await in_db(version_text, self.current(), wanted.version))

    async def revise(self, revision: Revision) -> ToolResult:
        return await waiting(await act(actions.revise_plan, self.current(), revision, AGENT))

    async def add(self, draft: AddSubtask) -> ToolResult:
        changed = await act(actions.add_subtask, self.current(), draft, AGENT, None, draft.after)
        return await waiting(changed)

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
    text = await in_db(plan_text, plan)
    return ToolResult(f"{text}\n\nv{plan.version} waits for the person's yes.")


def version_text(plan: Plan, version: int | None) -> str:
    plan.refresh_from_db()
    if version is None:
        return plan_text(plan)
    kept = PlanVersion.objects.filter(plan=plan, version=version).first()
    if kept is None:
        raise ToolFailed(f"There is no v{version}; the plan is at v{plan.version}.")
    return json.dumps(kept.snapshot, ensure_ascii=False, indent=1)
