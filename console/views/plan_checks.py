"""Checks of a plan's subtasks on the page: their editor, saved and removed."""

from __future__ import annotations

import json

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.errors import Invalid, NotFound
from agents.json_size import why_too_many
from agents.models import Conversation
from console.check_display import check_from, editor
from console.conversation_state import read_state
from console.form_parsing import plan_in_form, plan_on_page
from console.htmx import own_conversation, verb
from plans import actions
from plans.models import Plan


@never_cache
@require_GET
def form(request: HttpRequest, pk: int) -> HttpResponse:
    """The empty form, with what may be checked here now; none where the agent is gone."""
    conversation = own_conversation(request, pk)
    try:
        drawn = editor(conversation, read_state(conversation.pk).model)
    except NotFound as gone:
        raise Http404(str(gone)) from None
    context = {"editor": drawn, "agent_id": conversation.agent_id}
    return render(request, "plans/_check_editor.html", context)


@verb(alert="plan-alert")
def save(request: HttpRequest, conversation: Conversation, by: str, key: str) -> None:
    plan, version = plan_on_page(request, conversation)
    actions.save_check(plan, key, check_from(request.POST), by, version)


@verb(alert="plan-alert")
def remove(request: HttpRequest, conversation: Conversation, by: str, key: str) -> None:
    plan, version = plan_on_page(request, conversation)
    actions.remove_check(plan, key, request.POST.get("check", ""), by, version)


@verb(alert="plan-alert")
def check(request: HttpRequest, conversation: Conversation, by: str, key: str = "") -> None:
    """Run the checks of what is done again: of one subtask, or of all."""
    actions.check_plan(plan_in_form(request, conversation), by, key)


@verb(alert="plan-alert")
def look(request: HttpRequest, conversation: Conversation, by: str, key: str) -> None:
    """A person has looked in the place of its checks, or of the one for which the run rests."""
    plan, version = plan_on_page(request, conversation)
    actions.look_at(plan, key, by, version, request.POST.get("check", ""))


@verb(alert="plan-alert")
def take_back(request: HttpRequest, conversation: Conversation, by: str, key: str) -> None:
    """A person has not looked after all."""
    plan, version = plan_on_page(request, conversation)
    actions.take_back(plan, key, by, version)


@verb(alert="plan-alert")
def take(request: HttpRequest, conversation: Conversation, by: str, key: str, check: str) -> None:
    """The file that a check wants unchanged is to stay as it is now."""
    plan, version = plan_on_page(request, conversation)
    actions.take_as_it_is(plan, key, check, by, version)


def save_open(request: HttpRequest, plan: Plan, by: str, version: int) -> Plan:
    """Those whose editors are open on the page that starts the plan, one version each."""
    for text in request.POST.getlist("open_check"):
        try:
            typed = json.loads("" if why_too_many(text) else text)
            key = str(typed["subtask"])
        except (ValueError, TypeError, KeyError):
            raise Invalid(gettext("The page is not whole: load it again.")) from None
        plan = actions.save_check(plan, key, check_from(typed), by, version)
        version = plan.version
    return plan
