"""The plans of one conversation: which there are, another into the drawer, once more, or gone."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from agents.models import Conversation
from console.htmx import owned, replace_text, verb
from console.status_labels import label_of_standing
from console.views.conversations import person
from plans import actions, search
from plans.expected_version import plan_in
from plans.models import ActivePlan, Plan

MOST = 200  # plans listed


@require_GET
def here(request: HttpRequest, pk: int) -> HttpResponse:
    return HttpResponse(listed(owned(request, pk)))


def listed(conversation: Conversation) -> str:
    """The newest first; two queries and the drawer's pointer."""
    newest = Plan.objects.filter(conversation=conversation).order_by("-pk")
    ids = list(newest.values_list("pk", flat=True)[:MOST])
    rows = sorted(search.rows_of(ids), key=lambda row: -row.id)
    shown = ActivePlan.objects.filter(conversation=conversation).first()
    context = {
        "rows": [(row, label_of_standing(row.standing)) for row in rows],
        "in_drawer": shown.plan_id if shown else None,
        "conversation": conversation,
    }
    return replace_text("plans-here-list", render_to_string("plans/_here.html", context))


@verb(alert="plans-here-alert")
def activate(request: HttpRequest, conversation: Conversation, plan: int) -> str:
    actions.activate_plan(plan_in(conversation, plan), person(request).username)
    return listed(conversation)


@verb(alert="plans-here-alert")
def delete(request: HttpRequest, conversation: Conversation, plan: int) -> str:
    """Its card leaves the conversation with it."""
    gone = plan_in(conversation, plan)
    card = gone.card_id
    actions.delete_plan(gone, person(request).username)
    without = f'<hx-partial hx-target="#message-{card}" hx-swap="delete"></hx-partial>'
    return listed(conversation) + (without if card else "")


@verb(alert="plan-alert")
def use_again(request: HttpRequest, conversation: Conversation, plan: int) -> None:
    actions.use_again(plan_in(conversation, plan), person(request).username)
