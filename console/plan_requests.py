"""Asking for a plan: the command /plan from the chat, and the same from every other door.

And what becomes of something that a person typed, with the notices that answer without a model.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from agents import actions as talk
from agents.config.store import read_agent
from agents.errors import Conflict, Invalid, Refused
from agents.models import Conversation, Message, Turn
from agents.stored_text import gettext
from agents.workspace import attachments
from agents.workspace.attachments import Files
from console.status_labels import describe_plan
from console.throttling import count_message
from plans import actions


@dataclass(frozen=True)
class ChatResult:
    """The person's message, the turn that will answer it, and the conversation to go on in.

    That is another one after /new, whose message is not stored. `refused` is why a message that
    was to start or cancel a plan did nothing, `notice` the text of a notice in place of a reply.
    """

    message: Message
    turn: Turn | None
    conversation: Conversation
    refused: Refused | None = None
    notice: str = ""


def typed(
    c: Conversation, text: str, by: str, command: str, *, stays: bool = False, files: Files = ()
) -> Message:
    """A message that no model answers; it `stays` where it decided about a plan."""
    meta: dict[str, object] = {"command": command}
    kind, role = Message.Kind.TEXT, "user"
    message = talk.add_message(c, kind, text, role, meta=meta, by=by, stays=stays)
    attachments.send_with(message, files)
    return message


def with_notice(c: Conversation, message: Message, notice: str, **meta: object) -> ChatResult:
    talk.add_message(c, Message.Kind.NOTICE, notice, meta=dict(meta))
    return ChatResult(message, None, c, notice=notice)


def with_refusal(c: Conversation, message: Message, refusal: Refused) -> ChatResult:
    talk.add_message(c, Message.Kind.NOTICE, str(refusal))
    return ChatResult(message, None, c, refusal, str(refusal))


def plan_command(
    c: Conversation,
    text: str,
    goal: str,
    by: str,
    planner: str = "",
    *,
    beside: bool = False,
    files: Files = (),
) -> ChatResult:
    """`planner` is a chain other than the agent's; `beside` leaves an open plan alone."""
    agent = read_agent(c.agent_id).file
    if not agent.plan.enabled:
        notice = plan_is_off(agent.name)
        return with_notice(c, typed(c, text, by, "plan"), notice, link="/settings/agents/")
    if not goal.strip():
        return with_notice(c, typed(c, text, by, "plan"), describe_plan(c), open_plan=True)
    return ask(c, text, goal, by, planner, beside=beside, files=files)


def plan_is_off(agent: str) -> str:
    sentence = gettext(
        "/plan is off for {agent}. Turn on Plan Mode in Settings > Agents, or set {setting} in its "
        "agent.json."
    )
    return sentence.format(agent=agent, setting='"plan": {"enabled": true}')


@transaction.atomic
def ask_beside(c: Conversation, goal: str, by: str) -> ChatResult:
    """Another plan, with the open one left alone. Raises what stands against it."""
    if not goal.strip():
        raise Invalid(gettext("Say what you want to end up with."))
    talk.check_text(goal)
    count_message(c.owner_id)
    result = plan_command(c, f"/plan {goal}", goal, by, beside=True)
    if result.turn is None:
        raise Conflict(result.notice)
    return result


@transaction.atomic
def ask(
    c: Conversation,
    text: str,
    goal: str,
    by: str,
    planner: str,
    *,
    beside: bool = False,
    files: Files = (),
) -> ChatResult:
    meta: dict[str, object] = {"command": "plan"}
    message, turn = talk.start_turn(
        c, text, by, "plan", wire=goal, meta=meta, chain=planner, files=files
    )
    actions.request_plan(c, goal, by, message, beside=beside)
    return ChatResult(message, turn, c)
