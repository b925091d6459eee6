"""Asking for a plan: the command /plan from the chat, and the same from every other door."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext

from agents import actions as talk
from agents.attachments import Files
from agents.config.store import read_agent
from agents.errors import Conflict, Invalid
from agents.models import Conversation
from console.chat_results import ChatResult, typed, with_notice
from console.status_labels import describe_plan
from console.throttling import count_message
from plans import actions


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
