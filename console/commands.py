"""The one door for what a person types: commands, approving words, answers, messages."""

from __future__ import annotations

import re
from dataclasses import dataclass

from django.db import transaction

from agents import actions as talk
from agents import events
from agents.agent_file.record import read_agent
from agents.errors import Refused
from agents.models import Conversation, Message, Turn
from console.rates import count_message
from plans import actions, words
from plans.below import asking_plan
from plans.models import Plan
from plans.rows import active_plan, checklist, pointed_at

COMMAND = re.compile(r"\s*/([a-z]+)(?:\s+(.*))?\Z", re.IGNORECASE | re.DOTALL)

HELP = """\
- `/plan` and what you want to end up with: asks for a plan. Nothing runs until you start it.
- `/plan` alone: shows the plan.
- `/clear`: empties this view and what the model remembers; nothing is deleted.
- `/new`: begins a new conversation.
- `/help`: this list."""


@dataclass(frozen=True)
class Said:
    """What came of it: the person's message, the turn that will answer, and where to look.

    `conversation` is another one after /new.
    """

    message: Message
    turn: Turn | None
    conversation: Conversation


def say(conversation: Conversation, text: str, by: str, plan_version: int | None = None) -> Said:
    """Take in a message. `plan_version` is the version the composer showed."""
    talk.check_text(text)
    with transaction.atomic():
        count_message(conversation.owner_id)
        conversation = Conversation.objects.select_for_update(no_key=True).get(pk=conversation.pk)
        if command := COMMAND.match(text):
            return obey(conversation, text, command.group(1).lower(), command.group(2), by)
        return hear(conversation, text, by, plan_version)


def obey(c: Conversation, text: str, name: str, rest: str | None, by: str) -> Said:
    """Commands act at once, are never queued and never reach the model."""
    if name == "plan":
        return plan(c, text, rest or "", by)
    message = typed(c, text, by, name)
    if name == "clear":
        return clear(c, message, by)
    if name == "new":
        return new(c, message, by)
    if name == "help":
        return tell(c, message, HELP, command="help")
    return tell(c, message, f"There is no command /{name[:40]}. /help lists what there is.")


def typed(c: Conversation, text: str, by: str, command: str) -> Message:
    return talk.add_message(c, Message.Kind.TEXT, text, "user", meta={"command": command}, by=by)


def tell(c: Conversation, message: Message, notice: str, **meta: object) -> Said:
    talk.add_message(c, Message.Kind.NOTICE, notice, meta=dict(meta))
    return Said(message, None, c)


def plan(c: Conversation, text: str, goal: str, by: str, planner: str = "") -> Said:
    """`planner` is a chain other than the agent's."""
    agent = read_agent(c.agent_id).file
    if not agent.plan.enabled:
        notice = (
            f"/plan is off for {agent.name}. Turn on Plan Mode in Settings > Agents, "
            'or set "plan": {"enabled": true} in its agent.json.'
        )
        return tell(c, typed(c, text, by, "plan"), notice, link="/settings/agents/")
    if not goal.strip():
        return tell(c, typed(c, text, by, "plan"), say_plan(c), open_plan=True)
    return ask(c, text, goal, by, planner)


@transaction.atomic
def ask(c: Conversation, text: str, goal: str, by: str, planner: str) -> Said:
    meta: dict[str, object] = {"command": "plan"}
    message, turn = talk.start_turn(c, text, by, "plan", wire=goal, meta=meta, chain=planner)
    actions.ask_for_plan(c, goal, by, message)
    return Said(message, turn, c)


def say_plan(c: Conversation) -> str:
    """What /plan alone answers."""
    plan = active_plan(c)
    if plan is None:
        return "No plan here yet. Say what you want after /plan."
    lines = [f"**{plan.title}** (v{plan.version}): {plan.get_state_display().lower()}."]
    return "\n".join([*lines, *(f"{each.position}. {each.name}" for each in checklist(plan))])


def clear(c: Conversation, message: Message, by: str) -> Said:
    """The view and the model's memory begin after this; nothing is deleted."""
    actions.clear(c, by)
    seq = events.record(c, "conversation.cleared", "", by)
    Conversation.objects.filter(pk=c.pk).update(cleared_seq=seq, draft="")
    return Said(message, None, c)


def new(c: Conversation, message: Message, by: str) -> Said:
    actions.clear(c, by)
    return Said(message, None, talk.create_conversation(c.owner, c.agent_id))


def hear(c: Conversation, text: str, by: str, plan_version: int | None) -> Said:
    """Not a command. The gate's words count only as the whole message and only where they fit."""
    shown, goal = pointed_at(c.pk)
    plan = shown if shown and shown.is_open else None
    asked = bool(goal)
    if words.cancels(text) and (plan or asked):
        return cancel(c, text, by, None if asked else plan)
    if plan and not asked:
        if not plan.is_confirmed and words.approves(text):
            return approve(c, text, by, plan, plan_version)
        if asking := asking_plan(plan):
            return answer(c, text, by, asking)
    if plan is None and not asked and plan_first(c):
        return ask(c, text, text, by, "")
    waits = asked or (plan is not None and not plan.is_confirmed)
    message, turn = talk.start_turn(c, text, by, "plan" if waits else "chat")
    return Said(message, turn, c)


def plan_first(c: Conversation) -> bool:
    """Whether this agent plans every task, not only those asked for with /plan."""
    settings = read_agent(c.agent_id).file.plan
    return settings.enabled and settings.enforce


def cancel(c: Conversation, text: str, by: str, plan: Plan | None) -> Said:
    message = typed(c, text, by, "cancel")
    if plan is None:
        actions.cancel_asking(c, by)
        return tell(c, message, "No plan is being made any more.")
    actions.cancel_plan(plan, by)
    return tell(c, message, "The plan is cancelled. What was done stays done.")


def approve(c: Conversation, text: str, by: str, plan: Plan, version: int | None) -> Said:
    """A listed phrase starts the version the person was looking at, or nothing."""
    message = typed(c, text, by, "approve")
    try:
        actions.approve(plan, plan.version if version is None else version, by)
    except Refused as refusal:
        return tell(c, message, str(refusal))
    return Said(message, None, c)


def answer(c: Conversation, text: str, by: str, plan: Plan) -> Said:
    message = typed(c, text, by, "answer")
    actions.answer_question(plan, text, by)
    return Said(message, None, c)
