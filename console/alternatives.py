"""A reply asked for again, and an own message edited and sent again: the doors' way to both.

What was there stays as an alternative. A message goes out anew as if it were typed now, at the
place of the old one: what it means is read from what is there then.
"""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext, gettext_lazy

from agents import actions as talk
from agents.engine import alternatives
from agents.errors import Conflict, Invalid
from agents.events import locked_conversation
from agents.models import Conversation, Lane, Message, Turn
from agents.workspace.attachments import Files
from console.chat_commands import SeenOnPage, answer
from console.plan_requests import ChatResult, plan_command
from console.throttling import count_message
from console.typed_commands import command_in, demand_meant
from plans import actions
from plans.actions.alternatives import asking_of
from plans.actions.comments import bring_again
from plans.alternatives import NO_REPLY, why_it_stays, why_not_edited
from plans.approval_phrases import meaning_of
from plans.queries import active_plan_and_goal

A_COMMAND = gettext_lazy(
    "A command cannot take the place of a message: type it in the message box."
)
A_WORD = gettext_lazy("A yes or no to the plan is given in the message box, or with its buttons.")


def needs(message: Message) -> str:
    """What there must be for it to be answered once more: "plan" for Plan Mode, "word" for that no
    plan waits for a yes or no, which this is. Empty for a message that is answered in any case."""
    if command_in(message.text):
        return "plan"
    return "word" if meaning_of(message.text) else ""


def reply_turn(message: Message) -> Turn:
    """The chat turn that answers this message, or wrote it."""
    turn = message.turn
    if turn is None or turn.lane != Lane.CHAT:
        raise Conflict(str(NO_REPLY))
    return turn


def question_of(turn: Turn) -> Message:
    """The person's message that a chat turn answers."""
    asked = turn.messages.filter(role=Message.Role.USER).order_by("seq").first()
    if asked is None:
        raise Conflict(str(NO_REPLY))
    return asked


def ask_again(turn: Turn, by: str, model: str = "") -> ChatResult:
    """Another reply in the place of this one; `model`, as provider/model, gives this one alone."""
    return send_anew(turn, question_of(turn), None, by, model)


def retry(conversation: Conversation, by: str, turn_id: int | None = None) -> None:
    """The last reply, taken up where it failed or was stopped. One that was to make a plan whose
    asking was cancelled since would make none: then the plan is asked for again."""
    last = alternatives.last_shown(conversation.pk)
    is_last = last is not None and turn_id in (None, last)
    turn = Turn.objects.filter(pk=last or 0).first() if is_last else None
    asking = asking_of(turn) if turn is not None and not turn.is_open else None
    if turn is not None and asking is not None and asking.meta.get("cancelled"):
        ask_again(turn, by)
    else:
        talk.retry_reply(conversation, by, turn_id)


def send_edited(message: Message, text: str, by: str) -> ChatResult:
    """The message with another text, and a reply to that, in the place of both."""
    turn = reply_turn(message)
    if message.role != Message.Role.USER:
        raise Conflict(gettext("Only a message of your own can be edited."))
    if why := why_not_edited(message):
        raise Conflict(why)
    return send_anew(turn, message, text, by)


@transaction.atomic
def send_anew(
    turn: Turn, message: Message, edited: str | None, by: str, model: str = ""
) -> ChatResult:
    text = message.text if edited is None else edited
    talk.check_text(text, has_files=message.has_files)
    conversation = locked_conversation(turn.conversation_id)
    talk.demand_no_helper(conversation, by)
    count_message(conversation.owner_id)
    if why := why_it_stays(message):
        raise Conflict(why)
    if model:  # for this reply; the conversation's row keeps its own
        conversation.provider, conversation.model = talk.model_named(model)
    seq = actions.leave_alternative(conversation, turn, by)
    is_beside = bool(message.meta.get("beside"))
    result = send(conversation, text, by, turn.chain, message.attachments, beside=is_beside)
    if result.turn is None:
        raise Conflict(result.notice)
    if edited is None:
        bring_again(message, result.message, result.turn)
    alternatives.choose(result.turn, seq)
    if edited is None:  # it was said then, and is only answered once more
        result.message.created_at = message.created_at
        result.message.save(update_fields=["created_at"])
    return result


def send(
    c: Conversation, text: str, by: str, chain: str, files: Files, *, beside: bool
) -> ChatResult:
    """As it would be read in the message box, with the same files; what no reply answers is
    refused."""
    if command := command_in(text):
        demand_meant(command)
        if command.name != "plan":
            raise Conflict(str(A_COMMAND))
        if not command.rest.strip():
            raise Invalid(gettext("Say what you want after /plan."))
        return plan_command(c, text, command.rest, by, chain, beside=beside, files=files)
    plan, goal = active_plan_and_goal(c.pk)
    if meaning_of(text) and (goal or (plan is not None and plan.is_open)):
        raise Conflict(str(A_WORD))
    return answer(c, text, by, SeenOnPage(), chain, files)
