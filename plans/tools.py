"""The plan tools a model may be offered. Each calls one verb of plans/actions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, ParamSpec, TypeVar

from django.utils import translation
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agents import persistence
from agents.config.store import AgentRecord
from agents.db import in_db
from agents.errors import Refused, TurnWaits
from agents.models import Conversation, Turn
from agents.stored_text import gettext
from agents.tools import permissions
from agents.tools.base import Tool, ToolFailed, ToolResult, typed_tool
from plans import actions
from plans.changes.tool import changes_tool
from plans.finishes import check_finish
from plans.in_force import documents_in_force, is_in_force
from plans.models import Plan, PlanVersion
from plans.queries import AGENT, reload, was_approved
from plans.schemas import CommentAnswer, PlanDraft, Revision, SubtaskDraft, SubtaskRevision, Text
from plans.status import status_of_plan
from plans.text import (
    MOST_TOKENS,
    PlanText,
    approved_text,
    beginning,
    text_in_force,
    text_of,
    text_of_version,
)

P = ParamSpec("P")
R = TypeVar("R")

LONGEST_ANSWER = 40_000  # bytes of parts that are read by key

NOT_IN_DRAWER = (
    "The plan that this message was about is not in the drawer any more. Nothing was changed."
)


class Arguments(BaseModel):
    """A name that the tool does not know is refused: it might be meant for something else."""

    model_config = ConfigDict(extra="forbid")


class CreatePlan(PlanDraft):
    """Make the plan for what the person asked for. It waits for their yes; nothing runs before.

    Without subtasks it is a document, which their yes approves.
    """

    model_config = ConfigDict(extra="forbid")


class GetPlan(Arguments):
    """Read the plan as it stands, or an earlier version of it; `plan` is another plan's number.

    `keys` are of subtasks, or "goal", "content", "expected_outcome": these are read whole, from
    the character `start` on.
    """

    version: int | None = None
    plan: int | None = None
    keys: list[str] = Field(default_factory=list)
    start: int = Field(0, ge=0)


class ReviseCurrentPlan(Revision, Arguments):
    """Change the plan.

    Subtasks are named by key; what is not mentioned stays as it is; one without a key is new;
    "remove": true takes one out. The new version waits for the person's yes.
    """


class ReviseByComments(ReviseCurrentPlan):
    """Change the plan as the comments ask, and say in `answers` what you did about each of them.

    Subtasks are named by key; what is not mentioned stays as it is; one without a key is new;
    "remove": true takes one out. The new version waits for the person's yes.
    """

    answers: list[CommentAnswer] = Field(default_factory=list)

    @property
    def answered(self) -> list[CommentAnswer]:
        return self.answers


class AddSubtask(SubtaskDraft, Arguments):
    """Propose another subtask, behind the one with the key `after`, else at the end."""

    after: str | None = None


class UpdateSubtask(SubtaskRevision, Arguments):
    """Change the text of a subtask; what is left out stays as it is."""

    key: str


class DeleteSubtask(Arguments):
    """Take a subtask out of the plan."""

    key: str
    reason: str = ""


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


class TextTools:
    """Tools that read and change one plan's text, in any turn or none.

    Where there is no plan, each of them says so.
    """

    def __init__(self, plan: Plan | None, turn: Turn | None = None) -> None:
        self.plan = plan
        self.caller = turn

    def whole_text(self) -> list[Tool]:
        has_comments = self.caller is not None and self.caller.checkpoint.get("comments")
        return [
            typed_tool("get_plan", GetPlan, self.get, read_only=True),
            typed_tool(
                "revise_current_plan",
                ReviseByComments if has_comments else ReviseCurrentPlan,
                self.revise,
            ),
        ]

    def current(self) -> Plan:
        if self.plan is None:
            raise ToolFailed("There is no plan yet.")
        return self.plan

    async def get(self, wanted: GetPlan) -> ToolResult:
        plan = self.current() if wanted.plan is None else await in_db(self.another, wanted.plan)
        text = await in_db(self.read, plan, wanted.version)
        if wanted.keys:
            return ToolResult(parts_of(text, wanted))
        return ToolResult(text.within(MOST_TOKENS))

    def another(self, number: int) -> Plan:
        """The plan this is bound to, and no other one."""
        if self.plan is None or self.plan.pk != number:
            raise ToolFailed(f"There is no plan {number} here.")
        return self.plan

    def read(self, plan: Plan, version: int | None) -> PlanText:
        plan.refresh_from_db()
        if version is None:
            return text_of(plan)
        kept = PlanVersion.objects.filter(plan=plan, version=version).first()
        if kept is None:
            raise ToolFailed(f"There is no v{version}; the plan is at v{plan.version}.")
        return text_of_version(plan, kept)

    async def changed(self, plan: Plan) -> ToolResult:
        return ToolResult(await in_db(text_and_standing, plan))

    async def revise(self, revision: Revision) -> ToolResult:
        plan = await act(actions.revise_plan, self.current(), revision, AGENT, self.caller)
        return await self.changed(plan)


class PlanTools(TextTools):
    """The plan tools of one turn, bound to the conversation's plan. The gate picks from them."""

    def __init__(self, turn: Turn, plan: Plan | None, template: str = "") -> None:
        super().__init__(plan, turn)
        self.turn = turn
        self.template = template

    def named(self, names: tuple[str, ...]) -> tuple[Tool, ...]:
        if not names:
            return ()
        tools = [
            create_plan_tool(self.turn.conversation, self.template, self.turn),
            *self.whole_text(),
            changes_tool(self.turn, self.current, self.plan is not None),
            typed_tool("add_subtask", AddSubtask, self.add),
            typed_tool("update_subtask", UpdateSubtask, self.update, idempotent=True),
            typed_tool("delete_subtask", DeleteSubtask, self.delete),
            typed_tool("report_progress", ReportProgress, self.progress, idempotent=True),
            typed_tool("finish_subtask", FinishSubtask, self.report, idempotent=True),
            typed_tool("fail_subtask", FailSubtask, self.report, idempotent=True),
            typed_tool("ask_user", AskUser, self.ask, idempotent=True),
            typed_tool("finish_plan", FinishPlan, self.finish, idempotent=True),
        ]
        by_name = {tool.name: tool for tool in tools}
        return tuple(by_name[name] for name in names)

    def another(self, number: int) -> Plan:
        """A document in force where the person is; where agent.json grants get_plan by name, any
        plan of the same person."""
        mine = Plan.objects.filter(
            conversation__owner=self.turn.conversation.owner_id, conversation__deleted_at=None
        )
        if not reads_other_plans(permissions.of_turn(self.turn).agent):
            here = documents_in_force.models(conversation=self.turn.conversation.top)
            mine = mine.filter(pk__in=[plan.pk for plan in here])
        return mine.filter(pk=number).first() or super().another(number)

    def current(self) -> Plan:
        """The plan that the person's words were about, or the one that this turn has made."""
        plan, checkpoint = super().current(), self.turn.checkpoint
        if plan.pk not in (checkpoint.get("about") or plan.pk, checkpoint.get("made")):
            raise ToolFailed(NOT_IN_DRAWER)
        return plan

    def read(self, plan: Plan, version: int | None) -> PlanText:
        """In an attempt, what was approved: one that never was is not for that work. So it is of a
        document in force, but for the one in the drawer."""
        is_own = self.plan is not None and plan.pk == self.plan.pk
        if version is None and not is_own and is_in_force(plan):
            return text_in_force(plan)
        if self.turn.kind != "subtask" or not is_own:
            return super().read(plan, version)
        plan.refresh_from_db()
        if version is None:
            return approved_text(plan)
        if not was_approved(plan, version):
            raise ToolFailed(f"v{version} is not approved: you work on v{plan.approved_version}.")
        return super().read(plan, version)

    async def changed(self, plan: Plan) -> ToolResult:
        if self.turn.kind != "subtask":
            return await super().changed(plan)
        return ToolResult(await in_db(change_notice, plan))

    async def revise(self, revision: Revision) -> ToolResult:
        from_key = self.turn.checkpoint.get("replan")
        if not from_key:
            return await super().revise(revision)
        plan = self.current()
        if plan.pk != self.turn.checkpoint.get("replans", plan.pk):
            raise ToolFailed("The plan that was to be replanned is not in the drawer any more.")
        plan = await act(actions.replace_rest, plan, from_key, revision, AGENT, self.turn)
        await in_db(persistence.save_checkpoint, self.turn, replan=None)  # once is enough
        return await self.changed(plan)

    async def add(self, draft: AddSubtask) -> ToolResult:
        plan, after = self.current(), draft.after
        changed = await act(actions.add_subtask, plan, draft, AGENT, None, after, self.turn)
        return await self.changed(changed)

    async def update(self, change: UpdateSubtask) -> ToolResult:
        explanation = gettext("Changed {key}").format(key=change.key)
        return await self.revise(Revision(subtasks=[change], explanation=explanation))

    async def delete(self, gone: DeleteSubtask) -> ToolResult:
        removal = SubtaskRevision.model_validate({"key": gone.key, "remove": True})
        return await self.revise(Revision(subtasks=[removal], explanation=gone.reason))

    async def progress(self, progress: ReportProgress) -> ToolResult:
        await act(actions.report_progress, self.turn, progress.text, AGENT)
        return ToolResult("Noted.")

    async def report(self, outcome: FinishSubtask | FailSubtask) -> ToolResult:
        """The call itself is the record; the runner settles the subtask when the turn ends.

        A finish is refused while a check of the subtask says no.
        """
        said = "Recorded."
        if isinstance(outcome, FinishSubtask) and self.turn.checkpoint.get("checks"):
            said = await check_finish(self.turn, outcome.outcome)
        return ToolResult(said, ends_turn=True)

    async def ask(self, asked: AskUser) -> ToolResult:
        await act(actions.ask_question, self.turn, asked.question, AGENT)
        raise TurnWaits(Turn.WaitingFor.QUESTION)

    async def finish(self, end: FinishPlan) -> ToolResult:
        closing = self.turn.kind == "closing"
        if end.state == "abandoned" and not closing:
            await act(actions.throw_away, self.current(), self.turn, end.outcome)
            return ToolResult("The plan is abandoned. A new one can be made with create_plan.")
        await act(actions.finish_plan, self.current(), end.outcome, AGENT)
        return ToolResult("The plan is finished.", ends_turn=closing)


def create_plan_tool(
    conversation: Conversation, template: str = "", turn: Turn | None = None
) -> Tool:
    """A model's way to make the conversation's plan, in the format that the template shows.

    The goal of a plan that was not asked for with /plan is the message that the turn answers.
    """

    def message_answered() -> str:
        users = turn.messages.filter(role="user") if turn else None
        message = users.order_by("seq").last() if users is not None else None
        return str(message.meta.get("wire", message.text)) if message else ""

    async def create(draft: CreatePlan) -> ToolResult:
        if turn is not None:
            await in_db(demand_checks, turn, draft)
        goal = await in_db(message_answered)
        plan = await act(actions.create_plan, conversation, draft, AGENT, turn, goal)
        return ToolResult(await in_db(text_and_standing, plan))

    tool = typed_tool("create_plan", CreatePlan, create)
    if not template.strip():
        return tool
    return replace(tool, description=f"{tool.description}\nFollow this format:\n{template}")


def demand_checks(turn: Turn, draft: PlanDraft) -> None:
    """Where agent.json wants checks, a plan without some is refused once: a person may still say
    yes to it."""
    wanted = (turn.config.get("plan") or {}).get("checks") == "required"
    without = [each.name for each in draft.subtasks if not each.checks]
    if wanted and without and not turn.checkpoint.get("asked_for_checks"):
        persistence.save_checkpoint(turn, asked_for_checks=True)
        raise ToolFailed(
            f"A check is wanted for every subtask, and {len(without)} have none: "
            f"{'; '.join(without[:5])[:500]}. Make the plan again and give each at least one in "
            "`checks`. Where nothing could be checked, make it as it is."
        )


def reads_other_plans(agent: AgentRecord) -> bool:
    """Whether agent.json grants get_plan by its name: for every plan of the same person."""
    return agent.file.tools.get("get_plan") == "allow"


async def act(verb: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """A verb of plans/actions; its refusal is an ordinary tool result, the same sentence."""
    try:
        return await in_db(verb, *args, **kwargs)
    except Refused as refusal:
        raise ToolFailed(str(refusal)) from None


def parts_of(text: PlanText, wanted: GetPlan) -> str:
    """What has these keys, whole; what is longer than one answer goes on in the next."""
    found = {key: text.whole(key) for key in wanted.keys}
    if unknown := [key for key, part in found.items() if part is None]:
        raise ToolFailed(f"There is no {unknown[0][:40]} in v{text.plan.version}.")
    whole = "\n\n".join(filter(None, found.values()))[wanted.start :]
    shown = beginning(whole, LONGEST_ANSWER)
    if shown == whole:
        return shown or "There is no more of it."
    more = wanted.model_dump(exclude_defaults=True) | {"start": wanted.start + len(shown)}
    return f"{shown}\n[… {len(whole) - len(shown):,} characters more: get_plan {json.dumps(more)}]"


def text_and_standing(plan: Plan) -> str:
    """The plan by the names of its parts, and what it waits for: of what it says the model has just
    written a part, and can read all."""
    plan = reload(plan)
    text = text_of(plan).within(MOST_TOKENS, ())
    return f"{text}\n\nv{plan.version} {waits_for(plan)}"


def change_notice(plan: Plan) -> str:
    """What an attempt is told of its change; others may have changed more in the same version."""
    plan = reload(plan)
    if plan.is_confirmed:
        return f"v{plan.version} {waits_for(plan)}"
    return f"v{plan.version} {waits_for(plan)} You go on with v{plan.approved_version}."


def waits_for(plan: Plan) -> str:
    if not plan.is_open:
        with translation.override("en"):
            return f"is {status_of_plan(plan).word.lower()}."
    if plan.is_confirmed:
        return "holds: it needs no new yes."
    if Conversation.objects.filter(pk=plan.conversation_id, parent_call=None).exists():
        return "waits for the person's yes."
    return "is started for you when this turn ends."
