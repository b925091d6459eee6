"""A person's plans."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from console.marks import mark_of_plan
from console.views.conversations import sidebar_context
from plans.models import Plan
from plans.snapshot import snapshot

NEWEST = 100


@require_GET
def plans(request: HttpRequest) -> HttpResponse:
    mine = Plan.objects.filter(conversation__owner_id=request.user.pk)
    newest = mine.select_related("conversation").order_by("-pk")[:NEWEST]
    rows = [row_of(plan) for plan in newest]
    return render(request, "plans/list.html", {"rows": rows, **sidebar_context(request, None)})


def row_of(plan: Plan) -> dict[str, object]:
    now = snapshot(plan)
    return {"plan": now, "mark": mark_of_plan(now), "conversation": plan.conversation}
