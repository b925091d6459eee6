"""/api/messages: one message and its alternatives."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Router
from ninja.responses import Status

from agents.errors import NotFound
from agents.models import Message
from console import alternatives
from console.api.auth import person
from console.api.fields import ModelName
from console.api.shapes import (
    AcceptedMessage,
    Body,
    MessageEdit,
    MessageShape,
    accepted,
    answers,
    with_alternatives,
)
from plans import actions

router = Router(tags=["conversations"])
Document = dict[str, object]


class AskAgain(Body):
    """`model` is provider/model, for this reply alone; without one that of the conversation."""

    model: ModelName | None = None


def message_of(request: HttpRequest, id: int) -> Message:
    rows = Message.objects.filter(
        pk=id, conversation__owner=person(request), conversation__deleted_at=None
    )
    row = rows.select_related("turn", "conversation").first()
    if row is None:
        raise NotFound(f"There is no message {id}.")
    return row


@router.post("/{id}/again", response=answers(AcceptedMessage, 404, 409, status=202))
def ask_again(request: HttpRequest, id: int, body: AskAgain | None = None) -> Status[Document]:
    """Asks for the reply once more. The id is that of the reply, or of the message it answers.

    The old reply stays as an alternative, and what followed it with it.
    """
    turn = alternatives.reply_turn(message_of(request, id))
    model = (body and body.model) or ""
    result = alternatives.ask_again(turn, person(request).username, model)
    return Status(202, accepted(result))


@router.patch("/{id}", response=answers(AcceptedMessage, 404, 409, status=202))
def edit(request: HttpRequest, id: int, body: MessageEdit) -> Status[Document]:
    """Sends a person's message again with another text: the old one stays as an alternative."""
    message = message_of(request, id)
    result = alternatives.send_edited(message, body.text, person(request).username)
    return Status(202, accepted(result))


@router.post("/{id}/show", response=answers(MessageShape, 404, 409))
def show(request: HttpRequest, id: int) -> Message:
    """Shows the alternative this message belongs to, and what was shown behind it last.

    What is shown is what the model reads. One that is shown already is left as it is.
    """
    message = message_of(request, id)
    turn = alternatives.reply_turn(message)
    actions.show_alternative(message.conversation, turn, person(request).username)
    message = message_of(request, id)
    return with_alternatives(message.conversation, [message])[0]
