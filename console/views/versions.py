"""The drawer's second face: a plan's versions, and what changed between two of them."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from agents.models import Conversation
from console.expected_version import number, plan_on_page
from console.htmx import owned, replace_text, verb
from console.plan_versions import versions as versions_of
from console.views.conversations import person
from plans import actions
from plans.models import Plan


@require_GET
def versions(request: HttpRequest, pk: int) -> HttpResponse:
    """The list and the comparison, and the button that goes back."""
    conversation = owned(request, pk)
    to, since = number(request.GET.get("to")), number(request.GET.get("from"))
    wanted = number(request.GET.get("plan")) or 0
    plan = Plan.objects.filter(pk=wanted, conversation=conversation).first()
    found = versions_of(plan, person(request).username, to, since) if plan else None
    if found is None:
        raise Http404
    context = {"versions": found, "conversation": conversation}
    return HttpResponse(
        replace_text("versions", render_to_string("plans/_versions.html", context))
        + replace_text("go-back", render_to_string("plans/_go_back.html", context))
    )


@verb(alert="plan-alert")
def go_back(request: HttpRequest, conversation: Conversation) -> None:
    """Without asking: it makes one more version."""
    wanted = number(request.POST.get("to"))
    if wanted is None:
        raise Http404
    plan, version = plan_on_page(request, conversation)
    actions.restore_version(plan, wanted, person(request).username, version)
