"""The plan tools a model may be offered. Each calls one verb of plans/actions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, ParamSpec, TypeVar

from pydantic import BaseModel, Field, JsonValue

from agents import journal
from agents.database import in_db
from agents.errors import Refused
from agents.interruptions import TurnWaits
from agents.models import Turn
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool
from plans import actions
from plans.models import Plan, PlanVersion
from plans.prompts import plan_text
from plans.rows import AGENT
from plans.shapes import PlanDraft, Revision, SubtaskDraft, SubtaskRevision, Text

P = ParamSpec("P")
R = TypeVar("R")


class CreatePlan(PlanDraft):
    """Make the plan for what the person asked for. It waits for their yes; nothing runs before."""


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


class ReportProgress(BaseModel):
    """Say in one line how far you are. It changes no state."""

    text: Text


class FinishSubtask(BaseModel):
    """The subtask is done: say what really came of it, with counts and names."""

    outcome: Text = Field(min_length=1)
    result: JsonValue = None


class FailSubtask(BaseModel):
    """The subtask cannot be done: say why."""

    error: Text = Field(min_length=1)


class AskUser(BaseModel):
    """Ask the person something only they can decide. Work goes on with their answer."""

    question: Text = Field(min_length=1)


class FinishPlan(BaseModel):
    """End the plan: done with its outcome, or abandoned."""

    state: Literal["done", "abandoned"] = "done"
    outcome: Text = ""


class PlanTools:
    """The plan tools of one turn, bound to the conversation's plan. The gate picks from them."""

    def __init__(self, turn: Turn, plan: Plan | None, template: str = "") -> None:
        self.turn = turn
        self.plan = plan
        self.template = template

    def named(self, names: tuple[str, ...]) -> tuple[Tool, ...]:
        tools = {tool.name: tool for tool in self.all()}
        return tuple(tools[name] for name in names)

    def all(self) -> list[Tool]:
        return [
            with_template(typed_tool("create_plan", CreatePlan, self.create), self.template),
            typed_tool("get_plan", GetPlan, self.get, read_only=True),
            typed_tool("revise_current_plan", ReviseCurrentPlan, self.revise),
            typed_tool("add_subtask", AddSubtask, self.add),
            typed_tool("update_subtask", UpdateSubtask, self.update, idempotent=True),
            typed_tool("delete_subtask", DeleteSubtask, self.delete),
            typed_tool("report_progress", ReportProgress, self.progress, idempotent=True),
            typed_tool("finish_subtask", FinishSubtask, self.claim, idempotent=True),
            typed_tool("fail_subtask", FailSubtask, self.claim, idempotent=True),
            typed_tool("ask_user", AskUser, self.ask, idempotent=True),
            typed_tool("finish_plan", FinishPlan, self.finish, idempotent=True),
        ]

    def current(self) -> Plan:
        if self.plan is None:
            raise ToolFailed("There is no plan yet.")
        return self.plan

    async def create(self, draft: CreatePlan) -> ToolResult:
        goal = await in_db(what_was_said, self.turn)
        made = await act(actions.create_plan, self.turn.conversation, draft, AGENT, self.turn, goal)
        return await waiting(made)

    async def get(self, wanted: GetPlan) -> ToolResult:
        return ToolResult(await in_db(version_text, self.current(), wanted.version))

    async def revise(self, revision: Revision) -> ToolResult:
        if from_key := self.turn.checkpoint.get("replan"):
            plan = await act(actions.replace_rest, self.current(), from_key, revision, AGENT)
            await in_db(journal.save_checkpoint, self.turn, replan=None)  # once is enough
            return await waiting(plan)
        return await waiting(await act(actions.revise_plan, self.current(), revision, AGENT))

    async def add(self, draft: AddSubtask) -> ToolResult:
        changed = await act(actions.add_subtask, self.current(), draft, AGENT, None, draft.after)
        return await waiting(changed)

    async def update(self, change: UpdateSubtask) -> ToolResult:
        return await self.revise(Revision(subtasks=[change], explanation=f"Changed {change.key}"))

    async def delete(self, gone: DeleteSubtask) -> ToolResult:
        word = SubtaskRevision.model_validate({"key": gone.key, "remove": True})
        return await self.revise(Revision(subtasks=[word], explanation=gone.reason))

    async def progress(self, report: ReportProgress) -> ToolResult:
        await act(actions.report_progress, self.turn, report.text, AGENT)
        return ToolResult("Noted.")

    async def claim(self, claim: FinishSubtask | FailSubtask) -> ToolResult:
        """The call itself is the record; the runner settles the subtask when the turn ends."""
        return ToolResult("Recorded.", ends_turn=True)

    async def ask(self, asked: AskUser) -> ToolResult:
        await act(actions.ask_question, self.turn, asked.question, AGENT)
        raise TurnWaits(Turn.WaitingFor.QUESTION)

    async def finish(self, end: FinishPlan) -> ToolResult:
        closing = self.turn.kind == "closing"
        if end.state == "abandoned" and not closing:
            await act(actions.cancel_plan, self.current(), AGENT)
            return ToolResult("The plan is abandoned. A new one can be made with create_plan.")
        await act(actions.finish_plan, self.current(), end.outcome, AGENT)
        return ToolResult("The plan is finished.", ends_turn=closing)


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


def what_was_said(turn: Turn) -> str:
    """The goal of a plan that was not asked for with /plan: the message it answers."""
    said = turn.messages.filter(role="user").order_by("seq").last()
    return str(said.meta.get("wire", said.text)) if said else ""


def with_template(tool: Tool, template: str) -> Tool:
    if not template.strip():
        return tool
    guided = f"{tool.description}\nFollow this format:\n{template}"
    return replace(tool, description=guided)
