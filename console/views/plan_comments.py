"""Comments on the subtasks of a plan that waits for its yes: kept, removed, and sent together."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.translation import gettext

from agents.errors import Invalid
from agents.models import Conversation
from console.components import replace_content
from console.form_parsing import plan_in_form, plan_on_page
from console.htmx import verb
from console.throttling import count_message
from plans import actions
from plans.comments import digest_of, kept_comments
from plans.models import Plan
from plans.queries import checklist
from plans.schemas import plain


@verb(alert="plan-alert")
def keep(request: HttpRequest, conversation: Conversation, by: str, key: str) -> None:
    """About the subtask, whatever its words are by now: no version refuses it."""
    plan = plan_in_form(request, conversation)
    actions.keep_comment(plan, key, request.POST.get("comment", ""), by)


@verb(alert="plan-alert")
def remove(request: HttpRequest, conversation: Conversation, by: str, key: str) -> str:
    """Without asking first: the answer is a toast that offers to put it back."""
    plan = plan_in_form(request, conversation)
    subtask = checklist(plan).filter(key=key).first()
    text = kept_comments(plan).get(subtask.pk, "") if subtask else ""
    actions.remove_comment(plan, key, by)
    if not text or subtask is None:
        return ""
    context = {"conversation": conversation, "plan": plan, "subtask": subtask, "text": text}
    return replace_content("toast", render_to_string("plans/_removed_comment.html", context))


@verb(alert="plan-alert")
def send(request: HttpRequest, conversation: Conversation, by: str) -> None:
    """Those that are kept, and those whose editors are open on the page."""
    count_message(conversation.owner_id)
    with transaction.atomic():
        plan, version = plan_on_page(request, conversation)
        actions.send_comments(keep_open(request, plan, by), by, version)


def keep_open(request: HttpRequest, plan: Plan, by: str) -> Plan:
    """Keep the comments that are being typed on the page that sends this form."""
    keys, texts = request.POST.getlist("comment_key"), request.POST.getlist("comment_text")
    if len(keys) != len(texts):
        raise Invalid(gettext("The page is not whole: load it again."))
    for key, text in zip(keys, texts, strict=True):
        plan = actions.keep_comment(plan, key, text, by)
    return plan


def seen_on_page(request: HttpRequest) -> set[str]:
    """The digests of the comments that the page shows, those that are being typed included."""
    keys, texts = request.POST.getlist("comment_key"), request.POST.getlist("comment_text")
    typed = {digest_of(key, plain(text)) for key, text in zip(keys, texts, strict=False)}
    return typed | set(request.POST.getlist("comments"))
