"""The command /plan: asking for a plan, from the chat and from every other door."""

from __future__ import annotations

from django.db import transaction

from agents import actions as talk
from agents.config.store import read_agent
from agents.errors import Conflict, Invalid
from agents.models import Conversation
from console.chat_results import ChatResult, typed, with_notice
from console.throttling import count_message
from plans import actions
from plans.models import Plan
from plans.queries import active_plan, checklist
from plans.standing import standings_of

NO_PLAN = "No plan here yet."


def plan(
    c: Conversation, text: str, goal: str, by: str, planner: str = "", *, beside: bool = False
) -> ChatResult:
    """`planner` is a chain other than the agent's; `beside` leaves an open plan alone."""
    agent = read_agent(c.agent_id).file
    if not agent.plan.enabled:
        notice = (
            f"/plan is off for {agent.name}. Turn on Plan Mode in Settings > Agents, "
            'or set "plan": {"enabled": true} in its agent.json.'
        )
        return with_notice(c, typed(c, text, by, "plan"), notice, link="/settings/agents/")
    if not goal.strip():
        return with_notice(c, typed(c, text, by, "plan"), describe_plan(c), open_plan=True)
    return ask(c, text, goal, by, planner, beside=beside)


@transaction.atomic
def ask_beside(c: Conversation, goal: str, by: str) -> ChatResult:
    """Another plan, with the open one left alone. Raises what stands against it."""
    if not goal.strip():
        raise Invalid("Say what you want to end up with.")
    talk.check_text(goal)
    count_message(c.owner_id)
    said = plan(c, f"/plan {goal}", goal, by, beside=True)
    if said.turn is None:
        raise Conflict(said.notice)
    return said


@transaction.atomic
def ask(
    c: Conversation, text: str, goal: str, by: str, planner: str, *, beside: bool = False
) -> ChatResult:
    meta: dict[str, object] = {"command": "plan"}
    message, turn = talk.start_turn(c, text, by, "plan", wire=goal, meta=meta, chain=planner)
    actions.request_plan(c, goal, by, message, beside=beside)
    return ChatResult(message, turn, c)


def describe_plan(c: Conversation) -> str:
    """What /plan alone answers."""
    plan = active_plan(c)
    if plan is None:
        some = "No open plan here." if Plan.objects.filter(conversation=c).exists() else NO_PLAN
        return f"{some} Say what you want after /plan."
    lines = [f"**{plan.title}** (v{plan.version}): {standings_of([plan.pk])[plan.pk].word}."]
    return "\n".join([*lines, *(f"{each.position}. {each.name}" for each in checklist(plan))])
