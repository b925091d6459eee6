"""Files that a person attaches to a message, and pictures of the workspace that a reply shows."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET, require_POST

from agents.errors import Refused
from agents.models import Conversation
from agents.workspace import attachments
from console.attachments import note_on, take_in, workspace_picture
from console.htmx import own_conversation, verb
from console.throttling import count_upload

TEXT = "text/plain; charset=utf-8"


@require_POST
def upload(request: HttpRequest, pk: int) -> HttpResponse:
    """One file, as the body of the request; answered by a sentence, or by nothing to say."""
    conversation = own_conversation(request, pk)
    try:
        count_upload(conversation.owner_id)
        name = request.GET.get("name", "")
        file = take_in(request, conversation, name, request.user.get_username())
    except Refused as refusal:
        return HttpResponse(str(refusal), TEXT, refusal.status, headers=refusal.headers)
    conversation.refresh_from_db(fields=["seq"])
    headers = {"Planside-Seq": str(conversation.seq), "Planside-Attachment": file.pk}
    return HttpResponse(note_on(file), TEXT, headers=headers)


@verb(alert="say-alert")
def remove(request: HttpRequest, conversation: Conversation, by: str, attachment: int) -> None:
    attachments.remove(conversation, attachment, by)


@require_GET
def picture(request: HttpRequest, pk: int, path: str) -> HttpResponse:
    """A picture among the files of the conversation's agent."""
    try:
        return workspace_picture(own_conversation(request, pk), path)
    except Refused as refusal:
        raise Http404(str(refusal)) from None
