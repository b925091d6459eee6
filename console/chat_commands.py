"""The one door for what a person types. Commands act at once; anything else is read for what it
means."""

from __future__ import annotations

import re

from django.db import transaction

from agents import actions as talk
from agents import events
from agents.models import Conversation, Message
from agents.statements import by_key
from console.chat_results import ChatResult, typed, with_notice
from console.intents import SeenOnPage, handle_intent
from console.plan_command import plan
from console.throttling import count_message
from plans import actions
from plans.expected_version import Expected
from plans.models import Plan

COMMAND = re.compile(r"\s*/([a-z]+)(?:\s+(.*))?\Z", re.IGNORECASE | re.DOTALL)

HELP = """\
- `/plan` and what you want to end up with: asks for a plan. Nothing runs until you start it.
- `/plan` alone: shows the plan.
- `/clear`: empties this view and what the model remembers, and ends the open plans here; \
nothing is deleted.
- `/new`: begins a new conversation, and ends the open plans of this one.
- `/help`: this list."""


def handle_message(
    conversation: Conversation,
    text: str,
    by: str,
    seen: Expected | None = None,
    *,
    unsaved: bool = False,
    asking: int | None = None,
    question: int | None = None,
) -> ChatResult:
    """Take in a message. `seen` is the plan and version that the person had before them.

    `unsaved` says that an editor with changes was open there, `asking` with which message a plan
    was being asked for, `question` which call asked the person (0 for none, None where the door
    does not say).
    """
    talk.check_text(text)
    talk.demand_no_helper(conversation, by)
    with transaction.atomic():
        count_message(conversation.owner_id)
        locked = by_key(Conversation, conversation.pk, lock=True)
        if locked is None:
            raise Conversation.DoesNotExist
        conversation = locked
        if command := COMMAND.match(text):
            return run_command(conversation, text, command.group(1).lower(), command.group(2), by)
        return handle_intent(conversation, text, by, SeenOnPage(seen, unsaved, asking, question))


def run_command(c: Conversation, text: str, name: str, rest: str | None, by: str) -> ChatResult:
    """Commands act at once, are never queued and never reach the model."""
    if name == "plan":
        return plan(c, text, rest or "", by)
    message = typed(c, text, by, name)
    if name == "clear":  # the view and the model's memory begin after this; nothing is deleted
        ended = actions.clear(c, by)
        seq = events.record(c, "conversation.cleared", "", by)
        Conversation.objects.filter(pk=c.pk).update(cleared_seq=seq, draft="")
        notice_ended(c, ended, "Show what was cleared brings their texts back.")
        return ChatResult(message, None, c)
    if name == "new":  # the old one keeps what was said and a finished plan, and not the command
        ended = actions.end_open_plans(c, by)
        Message.objects.filter(pk=message.pk).delete()
        fresh = talk.create_conversation(c.owner, c.agent_id)
        notice_ended(fresh, ended, "They stay in the conversation before this one.")
        return ChatResult(message, None, fresh)
    if name == "help":
        return with_notice(c, message, HELP, command="help")
    return with_notice(c, message, f"There is no command /{name[:40]}. /help lists what there is.")


def notice_ended(c: Conversation, ended: list[Plan], where: str) -> None:
    """Plans that were not in the drawer have ended too: a notice names them."""
    if len(ended) > 1:
        titles = ", ".join(f"“{plan.title}”" for plan in ended)
        talk.add_message(c, Message.Kind.NOTICE, f"Ended: {titles}. {where}")
