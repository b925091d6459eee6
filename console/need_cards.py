"""Cards of what waits for a person: who asks, where, in which words, with what is decided by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from agents.models import Message, ToolCall
from agents.sentences import beside, listed
from console import plan_buttons
from console.changes.calls import question_of
from console.conversation_state import ConversationState, read_state
from console.endings import failed_at
from console.exceeded_limits import ExceededLimit, used_up
from console.language import agent_name
from console.plan_buttons import PlanButton, start_label, why_blocked
from plans.actions.create import ANOTHER_RUNS
from plans.models import LIVE, Plan, State
from plans.needs import Need, NeedKind, last_words
from plans.snapshot import PlanSnapshot, SubtaskSnapshot
from plans.snapshot_reading import plan_snapshots
from plans.status import STATUSES, WAITS_FOR_ANSWER

MOST_CARDS = 30  # drawn at once; the others come as these are answered


@dataclass
class NeedCard:
    """One thing that waits, with all that a person decides by."""

    need: Need
    now: ConversationState

    @property
    def id(self) -> str:
        return f"need-{self.need.key}"

    @cached_property
    def call(self) -> ToolCall | None:
        rows = ToolCall.objects.select_related("turn__conversation")
        return rows.filter(pk=self.need.call).first()

    @cached_property
    def plan(self) -> PlanSnapshot | None:
        """The plan that rests, or whose run asks."""
        shown = self.now.plan
        key = self.need.plan or (self.call.turn.serves if self.call else 0)
        if shown and shown.id == key:
            return shown
        rows = Plan.objects.filter(pk=key) if key else ()
        return next(iter(plan_snapshots(rows)), None)

    @property
    def title(self) -> str:
        """The plan's, that of a run which asks too; else the conversation's."""
        return self.plan.title if self.plan else self.now.title

    @property
    def agent(self) -> str:
        """Who asks: it may be one that works for the conversation's own."""
        asker = self.call.turn.conversation.agent_id if self.call else ""
        own = self.now.conversation.agent_id
        return agent_name(asker) if asker and asker != own else self.now.agent_name

    @property
    def is_helper(self) -> bool:
        return self.agent != self.now.agent_name

    @property
    def template(self) -> str:
        kind = NeedKind.CHECK if self.need.kind == NeedKind.REGRESSED else self.need.kind
        return f"needs/_{kind}.html"

    @property
    def shape(self) -> str:
        return STATUSES.get(self.need.kind, WAITS_FOR_ANSWER).mark

    @property
    def words(self) -> str:
        """What it is, in the words that stand out."""
        kind, plan = self.need.kind, self.plan
        if kind == NeedKind.QUESTION:
            return beside(gettext("{agent} asks").format(agent=self.agent), self.agent)
        if kind == NeedKind.APPROVAL:
            return question_of(self.call) if self.call else ""
        if kind == NeedKind.UNANSWERED:
            return WAITS_FOR_ANSWER.word
        total = len(plan.subtasks) if plan else 0
        if kind == NeedKind.FAILED:
            return failed_at(self.number, total)
        if kind == NeedKind.START:
            return STATUSES["confirm" if total else "document"].word
        return STATUSES[kind].word

    @property
    def more(self) -> str:
        """What follows these words."""
        plan = self.plan
        if plan is None:
            return ""
        total, kind = len(plan.subtasks), self.need.kind
        if kind == NeedKind.FAILED and self.row:
            tries = self.row.attempts
            return ngettext(", after {n} attempt", ", after {n} attempts", tries).format(n=tries)
        if kind == NeedKind.HALTED and self.number:
            return gettext(", next is subtask {number} of {total}").format(
                number=self.number, total=total
            )
        if kind in (NeedKind.QUESTION, NeedKind.CHECK, NeedKind.REGRESSED) and self.number:
            return gettext(", at subtask {number} of {total}").format(
                number=self.number, total=total
            )
        if kind == NeedKind.START and total:
            words = ngettext(
                ", {n} subtask, version {version}", ", {n} subtasks, version {version}", total
            )
            return words.format(n=total, version=plan.version)
        if kind == NeedKind.START:
            return gettext(", version {version}").format(version=plan.version)
        return ""

    @cached_property
    def row(self) -> SubtaskSnapshot | None:
        """The subtask that it is about."""
        rows = self.plan.subtasks if self.plan else []
        if self.need.kind == NeedKind.FAILED:
            return next((row for row in rows if row.failed), None)
        if self.need.kind == NeedKind.HALTED:
            return next((row for row in rows if row.state == State.TODO), None)
        if self.need.kind == NeedKind.REGRESSED:
            return next((row for row in rows if row.is_regressed), None)
        return next((row for row in rows if row.state == State.IN_PROGRESS), None)

    @property
    def is_there(self) -> bool:
        """Whether what it is about is: it may be deleted while the card is read."""
        is_of_subtask = self.need.kind in (NeedKind.FAILED, NeedKind.REGRESSED)
        return bool(self.row if is_of_subtask else self.plan or not self.need.plan)

    @property
    def number(self) -> int:
        return self.plan.subtasks.index(self.row) + 1 if self.plan and self.row else 0

    @property
    def kept(self) -> str:
        """What stays as it is, whatever is decided about the one that failed."""
        rows = self.plan.subtasks if self.plan else []
        done = [str(i) for i, row in enumerate(rows, 1) if row.state == State.DONE]
        if not done:
            return ""
        words = ngettext(
            "Subtask {numbers} is done and stays so.",
            "Subtasks {numbers} are done and stay so.",
            len(done),
        )
        return words.format(numbers=listed(done))

    @property
    def said(self) -> str:
        """What the check said that stands in the way: the one that could not be run, or one that
        said no."""
        row = self.row
        if row is None:
            return ""
        results = [each.result for each in row.checks if each.result]
        if self.need.kind == NeedKind.CHECK:
            results = [row.not_run.result] if row.not_run and row.not_run.result else []
        else:
            results = [each for each in results if each.passed is False]
        return results[0].said if results else ""

    @property
    def question(self) -> str:
        if self.need.kind == NeedKind.UNANSWERED:
            return last_words(self.need.conversation)
        return str((self.call.arguments if self.call else {}).get("question") or "")

    @property
    def buttons(self) -> list[PlanButton]:
        """What can be pressed on it without a word."""
        plan, row, kind = self.plan, self.row, self.need.kind
        if plan is None:
            return []
        waits = kind == NeedKind.CHECK and plan.is_confirmed
        drawn: list[PlanButton] = []
        if kind == NeedKind.HALTED:
            drawn.append(replace(plan_buttons.GO_ON, icon="play"))
        elif waits:
            drawn.append(plan_buttons.CHECK_AGAIN)
        if row and row.key in plan.takes_retry:
            drawn.append(replace(plan_buttons.RETRY, label=plan_buttons.RETRY.name))
            drawn += [plan_buttons.RETRY_CLEAN] if row.changes and row.changes.is_left else []
        if row and kind == NeedKind.REGRESSED and row.checks and not plan.checking:
            drawn.append(plan_buttons.CHECK_NOW)
        if row and waits:
            check = row.not_run.key if row.not_run else ""
            drawn.append(replace(plan_buttons.LOOKED, sends=("check", check)))
        elif row and kind == NeedKind.REGRESSED:
            drawn.append(plan_buttons.LOOKED)
        talk = self.need.conversation
        return [
            each.at(
                *((talk, row.key) if row and each.address.startswith("subtask") else (talk,)),
                id=f"{self.id}-{each.id}",
                label=str(each.label).format(number=self.number),
                name="",
                blocked="" if each is plan_buttons.CHECK_NOW else self.blocked,
            )
            for each in drawn
        ]

    @property
    def start(self) -> str:
        """The label of the button that says yes to it."""
        return start_label(self.plan) if self.plan else ""

    @cached_property
    def blocked(self) -> str:
        """Why what would go on, or come into the drawer, cannot now."""
        shown, plan = self.now.plan, self.plan if self.need.plan else None
        if plan and shown and shown is not plan and shown.run in LIVE:
            return str(ANOTHER_RUNS)
        starts = (
            plan_buttons.START if self.need.kind == NeedKind.START else plan_buttons.START_AGAIN
        )
        return why_blocked(starts, plan) if plan else ""

    @property
    def used_up(self) -> list[ExceededLimit]:
        return used_up(self.plan.row) if self.plan else []

    @cached_property
    def address(self) -> str:
        """The place in the conversation where it is asked; of a plan that is not in the drawer, its
        own page."""
        if self.need.plan and self.plan is not self.now.plan:
            return reverse("plan", args=[self.need.plan])
        page = reverse("conversation", args=[self.need.conversation])
        if self.need.kind == NeedKind.APPROVAL:
            return f"{page}#approval-{self.need.call}"
        asked = Message.objects.filter(conversation=self.need.conversation, hidden=False)
        if self.need.kind == NeedKind.UNANSWERED:
            found = asked.filter(role=Message.Role.ASSISTANT).order_by("-seq").first()
        elif self.need.kind == NeedKind.QUESTION:
            found = asked.filter(kind=Message.Kind.QUESTION).order_by("-seq").first()
        else:
            found = asked.filter(kind=Message.Kind.PLAN, meta__plan=self.need.plan).first()
        return f"{page}#message-{found.pk}" if found else page


def cards_of(waiting: list[Need]) -> list[NeedCard]:
    """The state of each conversation is read once; what was deleted meanwhile has no card."""
    states: dict[int, ConversationState] = {}
    cards = []
    for need in waiting[:MOST_CARDS]:
        if need.conversation not in states:
            states[need.conversation] = read_state(need.conversation)
        cards.append(NeedCard(need, states[need.conversation]))
    return [card for card in cards if card.is_there]
