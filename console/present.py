"""The present state of a conversation, read once: what the page, each live event and each poll
are rendered from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from agents.agent_file.record import AgentRecord, read_agent
from agents.errors import Missing
from agents.models import Conversation, Lane, ToolCall, Turn, TurnState
from agents.statements import by_key, rows
from console.budgets import Over, used_up
from console.marks import WRITING, Mark, Snapshot, mark_of_plan
from plans.models import Plan
from plans.nested import standing
from plans.rows import pointed_at
from plans.snapshot import document, open_turns_of

LEGS = """
SELECT s.key, a.turn_id FROM plans_attempt a JOIN plans_subtask s ON s.id = a.subtask_id
WHERE s.plan_id = %s AND EXISTS (SELECT 1 FROM agents_message m WHERE m.turn_id = a.turn_id)
ORDER BY a.number
"""


@dataclass
class Present:
    """`seq` was read before everything else, so what is shown is never older than it says."""

    conversation: Conversation
    seq: int
    plan: Snapshot | None
    asked: str | None
    open_turns: list[Turn]

    @cached_property
    def agent(self) -> AgentRecord | None:
        """The agent as its file says now; None when it was deleted."""
        try:
            return read_agent(self.conversation.agent_id)
        except Missing:
            return None

    @property
    def agent_name(self) -> str:
        return self.agent.file.name if self.agent else self.conversation.agent_id

    @cached_property
    def model(self) -> str:
        """What stands in the header: the model, or that it is the scripted one."""
        if self.agent is None:
            return "deleted"
        return "Demo model" if self.is_demo else self.agent.file.model

    @property
    def is_demo(self) -> bool:
        return bool(self.agent and self.agent.file.provider == "demo")

    @property
    def plan_mode(self) -> bool:
        return bool(self.agent and self.agent.file.plan.enabled)

    @property
    def title(self) -> str:
        return self.conversation.title or "New chat"

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
    def mark(self) -> Mark | None:
        if self.asked is not None:
            return WRITING
        return mark_of_plan(self.plan) if self.plan else None

    @cached_property
    def legs(self) -> dict[str, str]:
        """Where each subtask's last attempt stands in the conversation."""
        said = rows(LEGS, [self.plan["id"]]) if self.plan else []
        return {key: f"turn-{turn}" for key, turn in said}

    @property
    def current(self) -> Snapshot | None:
        """The subtask that is worked on, or would be next."""
        subtasks = self.plan["subtasks"] if self.plan else []
        return next((row for row in subtasks if row["state"] in ("in_progress", "todo")), None)

    @cached_property
    def nested(self) -> dict[int, Snapshot]:
        """Plans by which other agents work for a subtask, by their number."""
        subtasks = self.plan["subtasks"] if self.plan else []
        below = [row["plan"] for row in subtasks if row["plan"]]
        if not below:
            return {}
        return {plan.pk: standing(plan) for plan in Plan.objects.filter(pk__in=below)}

    @cached_property
    def helper(self) -> str:
        """The agent whose answer the run waits for."""
        waits = [t for t in self.open_turns if t.waiting_for == Turn.WaitingFor.CHILD]
        turn = next((turn for turn in waits if turn.lane == Lane.RUN), None)
        child = child_of(turn) if turn else None
        return agent_name(child.agent_id) if child else ""

    @cached_property
    def used_up(self) -> list[Over]:
        """The limits that halted the run."""
        halted = self.plan is not None and self.plan["attention"] == "budget"
        return used_up(Plan.objects.get(pk=self.plan["id"])) if self.plan and halted else []

    @property
    def replanning(self) -> bool:
        """Whether the rest of the plan is being planned anew."""
        return any(turn.checkpoint.get("replan") for turn in self.open_turns)

    @property
    def activity(self) -> str:
        """What happens now, in words."""
        now = (self.plan or {}).get("activity")
        if not now or not now["tool"]:
            return "Thinking"
        path = (now["arguments"] or {}).get("path", "")
        return f"Running {now['tool']} {path}".strip()

    @property
    def needs_you(self) -> bool:
        """Whether something waits for the person, the start of a plan included."""
        plan = self.plan
        return bool(plan and plan["attention"] not in (None, "none", "") and not self.asked)

    @property
    def status(self) -> str:
        """The one polite sentence for those who do not watch the screen."""
        if self.asked is not None:
            return "Writing a plan"
        if self.needs_you and self.mark:
            return f"Needs you: {self.mark.words}"
        if self.answering:
            return f"{self.agent_name} is answering"
        return self.run_status()

    def run_status(self) -> str:
        if self.plan is None or self.mark is None:
            return ""
        if self.plan["state"] == "in_progress" or self.plan["run"] != "idle":
            progress = self.plan["progress"]
            settled = progress["done"] + progress["abandoned"]
            return f"Subtask {settled} of {progress['total']} done. {self.mark.words}"
        return f"Plan: {self.mark.words}"

    @property
    def placeholder(self) -> str:
        """What the message box invites to."""
        plan = self.plan
        if plan is None or plan["state"] in ("done", "abandoned"):
            return f"Message {self.agent_name}, or type / for commands"
        if plan["question"]:
            return "Answer the question"
        if plan["attention"] == "confirm":
            return "Ask for changes to the plan"
        return "Add a note for the agent, or ask for changes"


def look(conversation_id: int) -> Present:
    conversation = by_key(Conversation, conversation_id)
    if conversation is None:
        raise Conversation.DoesNotExist
    plan, goal = pointed_at(conversation_id)
    open_turns = open_turns_of(conversation_id)
    return Present(
        conversation=conversation,
        seq=conversation.seq,
        plan=document(plan, conversation.seq, open_turns) if plan else None,
        asked=goal or None,
        open_turns=sorted(open_turns, key=has_the_lane, reverse=True),
    )


def child_of(turn: Turn) -> Conversation | None:
    """The conversation with the agent that is working for this turn."""
    working = Conversation.objects.filter(parent_call__turn=turn)
    return working.filter(parent_call__state=ToolCall.State.RUNNING).order_by("pk").last()


def has_the_lane(turn: Turn) -> bool:
    return turn.state != TurnState.QUEUED


def agent_name(agent_id: str) -> str:
    """As its file has it now; the id stays when the agent was deleted."""
    try:
        return read_agent(agent_id).file.name
    except Missing:
        return agent_id
