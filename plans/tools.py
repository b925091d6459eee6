"""The plan tools a model may be offered. Each calls one verb of plans/actions."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, JsonValue

from agents.database import in_db
from agents.models import Turn
from agents.tools.base import Tool, ToolResult, typed_tool
from agents.turns import journal
from agents.turns.interruptions import TurnWaits
from plans import actions
from plans.documents import create_plan_tool
from plans.models import Plan
from plans.rows import AGENT
from plans.shapes import Revision, Text
from plans.text_tools import TextTools, act, waiting


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


class PlanTools(TextTools):
    """The plan tools of one turn, bound to the conversation's plan. The gate picks from them."""

    def __init__(self, turn: Turn, plan: Plan | None, template: str = "") -> None:
        super().__init__(plan)
        self.turn = turn
        self.template = template

    def named(self, names: tuple[str, ...]) -> tuple[Tool, ...]:
        tools = {tool.name: tool for tool in self.all()} if names else {}
        return tuple(tools[name] for name in names)

    def all(self) -> list[Tool]:
        return [
            create_plan_tool(self.turn.conversation, self.template, self.turn),
            *self.whole_text(),
            *self.by_subtask(),
            typed_tool("report_progress", ReportProgress, self.progress, idempotent=True),
            typed_tool("finish_subtask", FinishSubtask, self.claim, idempotent=True),
            typed_tool("fail_subtask", FailSubtask, self.claim, idempotent=True),
            typed_tool("ask_user", AskUser, self.ask, idempotent=True),
            typed_tool("finish_plan", FinishPlan, self.finish, idempotent=True),
        ]

    async def revise(self, revision: Revision) -> ToolResult:
        from_key = self.turn.checkpoint.get("replan")
        if not from_key:
            return await super().revise(revision)
        plan = await act(actions.replace_rest, self.current(), from_key, revision, AGENT)
        await in_db(journal.save_checkpoint, self.turn, replan=None)  # once is enough
        return await waiting(plan)

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
