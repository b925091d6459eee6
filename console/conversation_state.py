"""The present state of a conversation, read once: what the page, each live event and each poll
are rendered from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from agents.config.store import AgentRecord, read_agent
from agents.conversations import conversation_by_key
from agents.errors import NotFound
from agents.llm.catalog import missing_model, model_problem
from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from agents.sentences import beside, commas, detailed, first_line
from agents.statements import prepared
from console.alternatives import A_WORD
from console.check_display import asking_tools
from console.exceeded_limits import ExceededLimit, used_up
from console.finish_blocks import Checking, checking_of
from console.language import agent_name, shown_name
from console.plan_buttons import PlanButtons, plan_buttons
from console.plan_requests import plan_is_off
from console.plan_texts import drawn_outcomes
from console.status_labels import (
    UNANSWERED,
    URGENT,
    WRITING,
    ModelName,
    StatusLabel,
    label_of_asking,
    label_of_plan,
    label_of_status,
    name_of_model,
    row_mark,
    running_call,
)
from plans.alternatives import fixed_in
from plans.models import LIVE, Attempt, Plan
from plans.needs import last_words
from plans.queries import plans_here, question_call
from plans.queries import requested_by as asking_message
from plans.snapshot import PlanSnapshot
from plans.snapshot_reading import open_turns_of, plan_snapshots, snapshot_of
from plans.status import HIDDEN, Asking, Status, most_urgent, status_of_asking, statuses_of


@prepared
def turns_of_subtasks(plan: int) -> QuerySet[Attempt, tuple[str, int]]:
    """By the subtask's key, of attempts that left something in the conversation, in order."""
    left_messages = Exists(Message.objects.filter(turn=OuterRef("turn_id")))
    attempts = Attempt.objects.filter(left_messages, subtask__plan=plan)
    return attempts.order_by("number").values_list("subtask__key", "turn_id")


@dataclass(frozen=True)
class PlanBeside:
    """An open plan that is not in the drawer; `place` is where to go for it, if anywhere."""

    plan: Plan
    status: Status
    place: str

    @property
    def waits(self) -> bool:
        return self.status.mark in URGENT

    @property
    def words(self) -> str:
        return self.plan.question or self.status.word


@dataclass
class ConversationState:
    """`seq` was read before everything else, so what is shown is never older than it says."""

    conversation: Conversation
    seq: int
    plan: PlanSnapshot | None
    asked: str | None
    open_turns: list[Turn]
    open_plans: list[Plan]  # beside the one in the drawer

    @cached_property
    def agent(self) -> AgentRecord | None:
        """The agent as its file says now; None when it was deleted."""
        try:
            return read_agent(self.conversation.agent_id)
        except NotFound:
            return None

    @property
    def agent_name(self) -> str:
        return shown_name(self.agent.file) if self.agent else self.conversation.agent_id

    @property
    def most_attempts(self) -> int:
        """At one subtask, as its agent's file says now."""
        return self.agent.file.plan.max_attempts if self.agent else 0

    @property
    def agent_note(self) -> str:
        """What its agent.json says and does not mean; nothing while all is well."""
        if self.agent and self.agent.problem:
            words = gettext("agent.json is broken. {problem}")
            return words.format(problem=self.agent.problem)
        return (self.agent and self.agent.warning) or ""

    @cached_property
    def model_problem(self) -> str:
        """Why its model cannot answer, as far as is known; nothing is asked for this."""
        return model_problem(*self.model_in_use) if self.agent else ""

    @cached_property
    def missing_model(self) -> str:
        """That its provider has no such model: then what is said to it is not sent."""
        return missing_model(*self.model_in_use) if self.model_problem else ""

    @property
    def asks_for_model(self) -> bool:
        """Whether nobody has said yet which model answers here, and nothing was said to one."""
        if self.agent is None or self.agent.problem or settings.PLANSIDE_MODEL_IS_SET:
            return False
        return not self.agent.file.names_model and not self.conversation.messages.exists()

    @property
    def own_model(self) -> ModelName:
        """The agent's, as its file says now."""
        return (self.agent.file.provider, self.agent.file.model) if self.agent else ("", "")

    @property
    def model_in_use(self) -> ModelName:
        """Provider and model that answer the next message."""
        chosen = self.conversation.provider, self.conversation.model
        return chosen if self.conversation.model else self.own_model

    @cached_property
    def model(self) -> str:
        """What stands in the header: the model, or that it is the scripted one."""
        return name_of_model(*self.model_in_use) if self.agent else gettext("deleted")

    @property
    def other_model(self) -> str:
        """The agent's own by its name, where another one is chosen."""
        is_other = self.agent is not None and self.model_in_use != self.own_model
        return name_of_model(*self.own_model) if is_other else ""

    @property
    def is_demo(self) -> bool:
        return self.agent is not None and self.model_in_use[0] == "demo"

    @cached_property
    def last_fixed(self) -> int:
        """Up to this turn nothing is asked for again: an approved plan came out of it."""
        return fixed_in(self.conversation.pk).turn

    @property
    def plan_mode(self) -> bool:
        return bool(self.agent and self.agent.file.plan.enabled)

    @property
    def why_no_plan(self) -> str:
        """Why no message that asks for a plan is answered once more; empty where one may be."""
        return "" if self.plan_mode else plan_is_off(self.agent_name)

    @property
    def why_no_word(self) -> str:
        """The same of one that says no more than yes or no."""
        has_plan = self.plan is not None and self.plan.is_open
        return str(A_WORD) if self.asked or has_plan else ""

    @property
    def title(self) -> str:
        return self.conversation.title or gettext("New chat")

    @property
    def chat_turns(self) -> list[Turn]:
        return [turn for turn in self.open_turns if turn.lane == Lane.CHAT]

    @property
    def answering(self) -> bool:
        """Whether a reply is being written, or is about to be."""
        return bool(self.chat_turns)

    @property
    def waiting_turns(self) -> set[int]:
        """Turns behind the one that has the lane: their messages wait to be sent."""
        return {turn.pk for turn in self.chat_turns[1:] if turn.state == TurnState.QUEUED}

    @cached_property
    def mark(self) -> StatusLabel | None:
        if self.asked is not None:
            return WRITING if self.planning else UNANSWERED
        return label_of_plan(self.plan, self.conversation) if self.plan else None

    @property
    def own_status(self) -> Status | None:
        """Of what is in the drawer."""
        if self.asked is not None:
            return status_of_asking(self.planning)
        return self.plan.status if self.plan else None

    @cached_property
    def plans_beside(self) -> list[PlanBeside]:
        """The open plans in view that are not in the drawer."""
        found = statuses_of(plan.pk for plan in self.open_plans)
        rows = ((plan, found.get(plan.pk, HIDDEN)) for plan in self.open_plans)
        return [
            PlanBeside(plan, status, self.place_of(plan) if status.mark in URGENT else "")
            for plan, status in rows
            if status != HIDDEN
        ]

    def asking_title(self, turn: int | None) -> str:
        """Of the plan whose run the turn is of, where there is more than one."""
        titles = {each.plan.pk: each.plan.title for each in self.plans_beside}
        if titles and self.plan:
            titles[self.plan.id] = self.plan.title
        plan = next((each.plan for each in self.open_turns if each.pk == turn), None)
        return titles.get(plan or 0, "")

    def place_of(self, plan: Plan) -> str:
        """Where it asks in the conversation, or its own page while another runs in the drawer."""
        for turn in self.open_turns:
            if turn.plan == plan.pk and (calls := self.asked_here.by_turn.get(turn.pk)):
                return f"#approval-{calls[0].pk}"
            if turn.plan == plan.pk and (call := self.asked_here.questions.get(turn.pk)):
                asked = (pk for pk, each in self.open_questions.items() if each == call)
                return f"#question-{next(asked)}-answer"
        runs = self.plan is not None and self.plan.run in LIVE
        return reverse("plan", args=[plan.pk]) if runs else ""

    @cached_property
    def status_of_all(self) -> Status | None:
        """Of the most urgent of its plans."""
        return most_urgent(self.own_status, (each.status for each in self.plans_beside))

    @property
    def mark_of_all(self) -> StatusLabel | None:
        status = self.status_of_all
        return self.mark if status in (None, self.own_status) else label_of_status(status)

    @property
    def plan_count(self) -> int:
        return len(self.plans_beside) + (self.plan is not None)

    @cached_property
    def plan_buttons(self) -> PlanButtons:
        """What can be done about the plan; nothing while another one is being written."""
        if self.plan is None or (self.asked is not None and self.planning):
            return PlanButtons()
        return plan_buttons(self.plan, self.conversation.pk, replanning=self.is_replanning)

    @property
    def is_replanning(self) -> bool:
        """Whether a turn is at work on other subtasks: then nothing waits for the person."""
        return any(turn.checkpoint.get("replan") for turn in self.open_turns)

    @cached_property
    def asking_tools(self) -> frozenset[str]:
        """Those of the plan's checks that wait for a word before each call."""
        rows = self.plan.subtasks if self.plan else []
        return asking_tools(self.conversation, rows)

    @cached_property
    def checking(self) -> Checking | None:
        """What its checks say of the subtask that is worked on."""
        row = self.plan.current if self.plan else None
        if self.plan is None or not row or row.state != "in_progress" or not row.checks:
            return None
        return checking_of(self.plan.id, row.key)

    @cached_property
    def drawn_outcomes(self) -> frozenset[str]:
        """The keys of the subtasks whose outcome is drawn as markdown."""
        return drawn_outcomes(self.plan) if self.plan else frozenset()

    @property
    def wanted_checks(self) -> int:
        """How many subtasks of a proposal have no check, where the agent wants one for each."""
        if self.agent is None or self.agent.file.plan.checks != "required" or self.plan is None:
            return 0
        return len(self.plan.subtasks) - self.plan.with_checks

    @property
    def drawer_toggle_name(self) -> str:
        """What the Plan button is called for those who do not see its mark."""
        if self.mark_of_all is None:
            return gettext("Plan, none yet")
        if self.plan_count > 1:
            words = ngettext("%(n)d plan", "%(n)d plans", self.plan_count) % {"n": self.plan_count}
            return commas([words, str(self.mark_of_all.brief)])
        if self.mark is None or self.plan is None:
            return gettext("Plan, {brief}").format(brief=self.mark_of_all.brief)
        if self.plan.is_document:
            words = gettext("Plan v{version}, {brief}")
            return words.format(version=self.plan.version, brief=self.mark.brief)
        counts = self.plan.progress
        return gettext("Plan {settled}/{total}, settled, {brief}").format(
            settled=counts.settled, total=counts.total, brief=self.mark.brief
        )

    @property
    def planning(self) -> bool:
        """Whether a turn is at work on the plan that is asked for; else the person's words are."""
        return any(turn.checkpoint.get("asked") == self.asking for turn in self.open_turns)

    @cached_property
    def asking(self) -> int:
        """The message with which a plan is being asked for; 0 while none is."""
        return (asking_message(self.conversation.pk) or 0) if self.asked is not None else 0

    @cached_property
    def question(self) -> int:
        """The call that asks the person; 0 while the plan has no question."""
        return question_call(self.plan.row) if self.plan and self.plan.question else 0

    @cached_property
    def had_plans(self) -> bool:
        """Whether there are plans here, though none is in the drawer."""
        return Plan.objects.filter(conversation=self.conversation).exists()

    @cached_property
    def anchors(self) -> dict[str, str]:
        """The element id of each subtask's last attempt in the conversation."""
        turns = turns_of_subtasks.rows(plan=self.plan.id) if self.plan else []
        return {key: f"turn-{turn}" for key, turn in turns}

    @cached_property
    def nested(self) -> dict[int, PlanSnapshot]:
        """Plans by which other agents work for a subtask, by their number."""
        nested = [row.plan for row in self.plan.subtasks if row.plan] if self.plan else []
        plans = Plan.objects.filter(pk__in=nested) if nested else ()
        return {plan.id: plan for plan in plan_snapshots(plans)}

    @cached_property
    def helper(self) -> str:
        """The agent whose answer the run waits for."""
        waits = [t for t in self.open_turns if t.waiting_for == Turn.WaitingFor.CHILD]
        turn = next((turn for turn in waits if turn.lane == Lane.RUN), None)
        if turn is None:
            return ""
        working = ToolCall.State.RUNNING
        children = Conversation.objects.filter(parent_call__turn=turn, parent_call__state=working)
        child = children.order_by("pk").last()
        return agent_name(child.agent_id) if child else ""

    @cached_property
    def used_up(self) -> list[ExceededLimit]:
        """The limits that halted the run."""
        halted = self.plan is not None and self.plan.attention == "budget"
        return used_up(self.plan.row) if self.plan and halted else []

    @property
    def activity(self) -> str:
        """What happens now, in words."""
        call = running_call(self.plan)
        return gettext("Running {call}").format(call=call) if call else gettext("Thinking")

    @property
    def last_activity(self) -> str:
        """The same on a page that has lost the server."""
        call = running_call(self.plan)
        return gettext("Was running {call}").format(call=call) if call else gettext("Was thinking")

    @property
    def needs_you(self) -> bool:
        """Whether something waits for the person, the start of a plan included."""
        is_urgent = self.status_of_all is not None and self.status_of_all.mark in URGENT
        return bool(self.asked_here) or (is_urgent and not self.is_replanning)

    @cached_property
    def asked_here(self) -> Asking:
        """What the turns at work here, and the agents that work for them, wait for."""
        return Asking.of(turn for turn in self.open_turns if not turn.hidden)

    @cached_property
    def open_questions(self) -> dict[int, int]:
        """The messages that ask what is not answered yet, the last one of each turn that waits,
        with the call."""
        asking = self.asked_here.questions
        if not asking:
            return {}
        asked = Message.objects.filter(kind=Message.Kind.QUESTION, turn__in=asking).order_by("seq")
        last = dict(asked.values_list("turn", "pk"))
        return {pk: asking[turn] for turn, pk in last.items()}

    @cached_property
    def asked_in_chat(self) -> Asking:
        """The same of the reply that is being written."""
        return self.asked_here.of_turns(turn.pk for turn in self.chat_turns)

    @cached_property
    def is_unanswered(self) -> bool:
        """Whether a plan was asked for and answered in words alone."""
        return self.asked is not None and not self.planning and not self.asked_in_chat

    @property
    def last_words(self) -> str:
        return last_words(self.conversation.pk)

    @property
    def row_mark(self) -> tuple[str, str]:
        """How it stands in the list of conversations: a mark and its name."""
        asking = [False] * len(self.asked_here.calls) + [True] * len(self.asked_here.questions)
        return row_mark(self.status_of_all, asking)

    @property
    def waits(self) -> StatusLabel | None:
        """What waits for the person here, most pressing first: a failure, the reply, the plan."""
        if self.asked_in_chat and not (self.mark and self.mark.shape == "failed"):
            return label_of_asking(self.asked_in_chat)
        return self.mark_of_all

    @property
    def status(self) -> str:
        """The one polite sentence for those who do not watch the screen."""
        if self.asked is not None and not self.asked_in_chat:
            return str(self.mark.words) if self.mark else ""
        if self.needs_you and self.waits:
            return gettext("Needs you: {words}").format(words=self.waits.words)
        if self.answering:
            words = gettext("{agent_name} is answering").format(agent_name=self.agent_name)
            return beside(words, self.agent_name)
        if self.plan is None or self.mark is None:
            return ""
        if self.plan.state == "in_progress" or self.plan.run != "idle":
            so_far, words = (
                self.plan.progress,
                gettext("Subtask {settled} of {total} done. {standing}"),
            )
            return words.format(
                settled=so_far.settled, total=so_far.total, standing=self.mark.words
            )
        return gettext("Plan: {words}").format(words=self.mark.words)

    @property
    def alarm(self) -> str:
        """A subtask that has failed, said once; an error of the model has a card that says it."""
        if self.plan is None or self.mark is None or self.plan.attention != "failed":
            return ""
        row = next(row for row in self.plan.subtasks if row.failed)
        tried = Attempt.objects.filter(subtask__plan=self.plan.id, subtask__key=row.key)
        last = tried.select_related("turn").last()
        has_card = last is not None and last.turn.state == TurnState.FAILED
        # Which checks failed has been said with each finish that they refused.
        error = first_line(row.error) if row.failure == "check" else row.error
        return "" if has_card else detailed(self.mark.words, error)

    @property
    def placeholder(self) -> str:
        """What the message box invites to."""
        plan = self.plan
        if plan is None or not plan.is_open:
            words = gettext("Message {agent_name}, or type / for commands")
            return beside(words.format(agent_name=self.agent_name), self.agent_name)
        if plan.question:
            return gettext("Answer the question")
        if self.plan_buttons.comments:
            return gettext("Anything about the plan as a whole")
        if plan.status.name == "document":
            return gettext("Ask for changes to the document")
        if plan.attention == "confirm":
            return gettext("Ask for changes to the plan")
        return gettext("Add a note for the agent, or ask for changes")


def read_state(conversation_id: int) -> ConversationState:
    rows = conversation_by_key.models(conversation=conversation_id)
    if not rows or rows[0].deleted_at is not None:
        raise Conversation.DoesNotExist
    conversation = rows[0]
    plan, goal, open_plans = plans_here(conversation_id)
    open_turns = open_turns_of(conversation_id)
    return ConversationState(
        conversation=conversation,
        seq=conversation.seq,
        plan=snapshot_of(plan, conversation.seq, open_turns) if plan else None,
        asked=goal or None,
        # the turn that has its lane comes before those queued behind it
        open_turns=sorted(open_turns, key=lambda turn: turn.state == TurnState.QUEUED),
        open_plans=open_plans,
    )
