"""The plan tools a model may be offered. Each calls one verb of plans/actions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from agents.db import in_db
from agents.engine import persistence
from agents.models import Turn
from agents.tools import permissions
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool
from agents.turn_exceptions import TurnWaits
from plans import actions
from plans.approved_version import approved_text
from plans.documents import create_plan_tool
from plans.models import Plan
from plans.prompts import plan_text
from plans.queries import AGENT, reload
from plans.schemas import Revision, Text
from plans.text_tools import (
    Arguments,
    TextTools,
    act,
    reads_other_plans,
    waits_for,
)


class ReportProgress(Arguments):
    """Say in one line how far you are. It changes no state."""

    text: Text


class FinishSubtask(Arguments):
    """The subtask is done: say what really came of it, with counts and names."""

    outcome: Text = Field(min_length=1)
    result: JsonValue = None


class FailSubtask(Arguments):
    """The subtask cannot be done: say why."""

    error: Text = Field(min_length=1)


class AskUser(Arguments):
    """Ask the person something only they can decide. Work goes on with their answer."""

    question: Text = Field(min_length=1)


class FinishPlan(Arguments):
    """End the plan: done with its outcome, or abandoned."""

    state: Literal["done", "abandoned"] = "done"
    outcome: Text = ""


def change_notice(plan: Plan) -> str:
    """What an attempt is told of its change; others may have changed more in the same version."""
    plan = reload(plan)
    if plan.is_confirmed:
        return f"v{plan.version} {waits_for(plan)}"
    return f"v{plan.version} {waits_for(plan)} You go on with v{plan.approved_version}."


NOT_IN_DRAWER = (
    "The plan that this message was about is not in the drawer any more. Nothing was changed."
)


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

    def another(self, number: int) -> Plan:
        """Any plan of the same person, where agent.json grants get_plan by name."""
        mine = Plan.objects.filter(conversation__owner=self.turn.conversation.owner_id)
        granted = reads_other_plans(permissions.of_turn(self.turn).agent)
        plan = mine.filter(pk=number).first() if granted else None
        return plan or super().another(number)

    def current(self) -> Plan:
        """The plan that the person's words were about, or the one that this turn has made."""
        plan, told = super().current(), self.turn.checkpoint
        if plan.pk not in (told.get("about") or plan.pk, told.get("made")):
            raise ToolFailed(NOT_IN_DRAWER)
        return plan

    async def revise(self, revision: Revision) -> ToolResult:
        from_key = self.turn.checkpoint.get("replan")
        if not from_key:
            return await super().revise(revision)
        plan = self.current()
        if plan.pk != self.turn.checkpoint.get("replans", plan.pk):
            raise ToolFailed("The plan that was to be replanned is not in the drawer any more.")
        plan = await act(actions.replace_rest, plan, from_key, revision, AGENT)
        await in_db(persistence.save_checkpoint, self.turn, replan=None)  # once is enough
        return await self.changed(plan)

    def read(self, plan: Plan, version: int | None) -> str:
        """In an attempt, what was approved: a version that waits for a yes is not for that work."""
        if self.turn.kind != "subtask" or self.plan is None or plan.pk != self.plan.pk:
            return super().read(plan, version)
        plan.refresh_from_db()
        if version is None:
            return plan_text(*approved_text(plan))
        if version > (plan.approved_version or 0):
            raise ToolFailed(f"v{version} is not approved: you work on v{plan.approved_version}.")
        return super().read(plan, version)

    async def changed(self, plan: Plan) -> ToolResult:
        if self.turn.kind != "subtask":
            return await super().changed(plan)
        return ToolResult(await in_db(change_notice, plan))

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
            thrown = await act(actions.cancel_plan, self.current(), AGENT)
            if self.turn.checkpoint.get(
                "gated"
            ):  # it was never approved: made anew, it is replaced
                await in_db(persistence.save_checkpoint, self.turn, threw_away=thrown.pk)
            return ToolResult("The plan is abandoned. A new one can be made with create_plan.")
        await act(actions.finish_plan, self.current(), end.outcome, AGENT)
        return ToolResult("The plan is finished.", ends_turn=closing)
