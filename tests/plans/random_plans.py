"""Random plans as rows: several a conversation, helpers at any depth, re-checks, set aside, hidden.

What they cannot be by the constraints of the database, and by the few rules that every verb keeps
(only a confirmed plan works, a question comes with its message), they are not here either.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import count

from django.contrib.auth.models import User

from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from plans.models import (
    ActivePlan,
    Attempt,
    CheckResult,
    Plan,
    PlanVersion,
    Run,
    State,
    Subtask,
)
from tests.inner import ancestors, snapshot_text

CHECK = {"key": "c1", "kind": "file", "path": "a.txt", "exists": True}
NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
WAITS = ("question", "approval", "child", "pause")
REASONS = ("", "cancelled: no", "superseded", "cleared", "out_of_force", "other")
PAUSES = ("user", "aside", "confirm", "budget", "check")


class RandomPlans:
    """Fills the database for one person; `conversations` are theirs. Where each `is_alone` a
    conversation has one plan, and no agent works for another."""

    def __init__(self, seed: int, owner: User, *, is_alone: bool = False) -> None:
        self.random, self.owner, self.numbers = random.Random(seed), owner, count(1)
        self.is_alone = is_alone
        self.conversations: list[Conversation] = []

    @property
    def most(self) -> tuple[int, ...]:
        return (1,) if self.is_alone else (1, 1, 1, 2, 3)

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def fill(self, plans: int) -> list[Plan]:
        made: list[Plan] = []
        while len(made) < plans:
            conversation = self.conversation()
            self.conversations.append(conversation)
            here = [self.plan(conversation) for _ in range(self.random.choice(self.most))]
            self.begin_work(conversation, here)
            pointer = ActivePlan(conversation=conversation)
            pointer.plan = self.random.choice([*here, None]) if self.chance(0.9) else None
            if self.chance(0.1):
                pointer.asked_goal, pointer.asked_message = "another", self.message(conversation)
            pointer.save()
            if self.chance(0.15):
                self.reply_that_waits(conversation)
            made += here
        last = next(self.numbers)
        Conversation.objects.filter(owner=self.owner, seq__lt=last).update(seq=last)
        return made

    # Rows

    def conversation(
        self, call: ToolCall | None = None, above: Conversation | None = None
    ) -> Conversation:
        row = Conversation(owner=self.owner, agent_id="planner", title=f"c{next(self.numbers)}")
        if call and above:
            row.parent_call, row.root_id, row.depth = call, above.top, above.depth + 1
        elif self.chance(0.1):
            row.archived_at = NOW
        row.seq = 1
        row.save()
        return row

    def message(
        self, conversation: Conversation, kind: str = "text", turn: Turn | None = None
    ) -> Message:
        seq = next(self.numbers)
        row = Message(conversation=conversation, kind=kind, turn=turn, seq=seq, changed_seq=seq)
        row.role, row.text = "assistant", f"said {seq}"
        row.save()
        return row

    def plan(self, conversation: Conversation, *, works: bool = False) -> Plan:
        row = Plan(conversation=conversation, title=f"p{next(self.numbers)}")
        row.version = self.random.choice((1, 1, 2, 3))
        row.state = self.random.choice((*State.values, State.TODO, State.IN_PROGRESS))
        if works:
            row.state = State.IN_PROGRESS
        approved = self.random.choice((None, row.version, row.version, max(1, row.version - 1)))
        row.approved_version = row.version if works or row.state == State.DONE else approved
        row.reason = self.random.choice(REASONS)
        card = self.message(conversation, Message.Kind.PLAN)
        if self.chance(0.2) and row.approved_version is None:
            Message.objects.filter(pk=card.pk).update(hidden=True)
        row.card = card if self.chance(0.95) else None
        row.run_options = {"halted": True} if self.chance(0.2) else {}
        row.save()
        for position in range(1, self.random.choice((1, 2, 3, 4))):
            self.subtask(row, position)
        if not row.subtasks.filter(position__isnull=False).exists():
            row.content = "All there is to know."
            row.save()
        text = snapshot_text(row)
        for version in range(1, row.version + 1):
            PlanVersion.objects.create(plan=row, version=version, snapshot=text)
        return row

    def subtask(self, plan: Plan, position: int) -> None:
        state = State.DONE
        if plan.state != State.DONE:
            state = self.random.choice((State.TODO, State.TODO, State.DONE, State.ABANDONED))
        row = Subtask(plan=plan, key=f"s{position}", name=f"Step {position}", state=state)
        row.position = position if self.chance(0.9) else None
        if state == State.DONE:
            passed = self.random.choice((True, True, None, False))
            row.checks = [] if passed is None else [CHECK]
        row.save()
        for one in () if not row.checks else (True, passed):
            CheckResult.objects.create(subtask=row, key="c1", asked=CHECK, passed=one)
        tries = self.random.choice((0, 1, 2)) if state == State.TODO else 1
        for number in range(1, tries + 1):
            turn = self.turn(plan.conversation, Lane.RUN, TurnState.DONE, plan)
            error = "It broke." if state == State.TODO and self.chance(0.7) else ""
            Attempt.objects.create(
                subtask=row, number=number, version=plan.version, turn=turn, error=error
            )

    def turn(
        self, conversation: Conversation, lane: str, state: str, plan: Plan | None, waits: str = ""
    ) -> Turn:
        caller = conversation.parent_call.turn if conversation.parent_call else None
        row = Turn(conversation=conversation, lane=lane, state=state, waiting_for=waits)
        row.kind = "subtask" if lane == Lane.RUN else "chat" if lane == Lane.CHAT else "checks"
        row.plan = plan.pk if plan else None
        row.serves = caller.serves if caller else row.plan
        row.save()
        return row

    def call(self, turn: Turn, tool: str, state: str) -> ToolCall:
        message = self.message(turn.conversation, turn=turn)
        return ToolCall.objects.create(
            message=message,
            turn=turn,
            call_id=f"call{message.pk}",
            tool=tool,
            state=state,
            asked_at=NOW,
        )

    # What is at work

    def begin_work(self, conversation: Conversation, plans: list[Plan]) -> None:
        """One of them at most has the lane; others that are confirmed may rest without a turn."""
        able = [each for each in plans if each.is_open and each.is_confirmed]
        self.random.shuffle(able)
        if able and self.chance(0.7):
            self.run(able.pop())
        for each in able:
            if self.chance(0.5):
                each.run, each.pause_reason = Run.PAUSED, self.random.choice(PAUSES)
                each.save()
        looked = [each for each in plans if each.state != State.ABANDONED and each.is_confirmed]
        if looked and self.chance(0.25):
            self.recheck(self.random.choice(looked))

    def run(self, plan: Plan) -> None:
        state = self.random.choice((TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING))
        known = [each for each in WAITS if not (self.is_alone and each == "child")]
        waits = self.random.choice(known) if state == TurnState.WAITING else ""
        turn = self.turn(plan.conversation, Lane.RUN, state, plan, waits)
        if state == TurnState.QUEUED and self.chance(0.4):
            turn.not_before = NOW + timedelta(hours=1)
            turn.save()
        self.attempt_of(plan, turn)
        plan.run = {
            TurnState.QUEUED: Run.QUEUED,
            TurnState.RUNNING: self.random.choice((Run.RUNNING, Run.PAUSING, Run.STOPPING)),
            TurnState.WAITING: Run.RUNNING if waits == "child" else Run.PAUSED,
        }[state]
        if plan.run == Run.PAUSED:
            rests = self.random.choice(PAUSES)
            plan.pause_reason = waits if waits in ("question", "approval") else rests
        plan.save()
        self.wait(turn, waits)

    def attempt_of(self, plan: Plan, turn: Turn) -> None:
        row = plan.subtasks.filter(position__isnull=False, state=State.TODO).first()
        if row is None:
            row = Subtask(plan=plan, key=f"s{plan.subtasks.count() + 1}", name="Work", position=9)
        row.state = State.IN_PROGRESS
        row.save()
        number = row.attempts.count() + 1
        Attempt.objects.create(subtask=row, number=number, version=plan.version, turn=turn)

    def wait(self, turn: Turn, waits: str) -> None:
        if waits == "question":
            self.call(turn, "ask_user", ToolCall.State.ASKED)
            for here in (turn, *ancestors(turn.conversation)[-1:]):  # and where the person is
                self.message(here.conversation, Message.Kind.QUESTION, here)
        elif waits == "approval":
            self.call(turn, "shell", ToolCall.State.ASKED)
        elif waits == "child":
            self.helper(turn)

    def helper(self, caller: Turn) -> None:
        """An agent that was called works, or waits in its turn: with a plan of its own or without."""
        call = self.call(caller, "run_agent", ToolCall.State.RUNNING)
        conversation = self.conversation(call, caller.conversation)
        states = (TurnState.RUNNING, TurnState.WAITING, TurnState.WAITING)
        state = self.random.choice(states)
        waits = self.random.choice(("question", "approval", "child")) if state == "waiting" else ""
        if conversation.depth > 2 and waits == "child":
            waits = "approval"
        plan = None
        if waits == "question" or self.chance(0.5):
            plan = self.plan(conversation, works=True)
        lane = Lane.RUN if plan else Lane.CHAT
        turn = self.turn(conversation, lane, state, plan, waits)
        if plan:
            self.attempt_of(plan, turn)
            plan.run = Run.PAUSED if waits in ("question", "approval") else Run.RUNNING
            plan.pause_reason = waits if plan.run == Run.PAUSED else ""
            plan.save()
        self.wait(turn, waits)

    def recheck(self, plan: Plan) -> None:
        state = self.random.choice((TurnState.RUNNING, TurnState.WAITING))
        waits = "approval" if state == TurnState.WAITING else ""
        turn = self.turn(plan.conversation, Lane.CHECK, state, plan, waits)
        self.wait(turn, waits)

    def reply_that_waits(self, conversation: Conversation) -> None:
        waits = "approval" if self.is_alone else self.random.choice(("approval", "child"))
        self.wait(self.turn(conversation, Lane.CHAT, TurnState.WAITING, None, waits), waits)
